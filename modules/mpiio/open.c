/* Files: how handles and their records come and go, and what is done to whole files. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "config.h"
#include "life.h"
#include "mpi/mpi.h"
#include "readable.h"
#include "self.h"
#include "site.h"
#include "state.h"
#include "store.h"
#include "sys.h"

/* ---- spans ---- */

/* Values of MPI_File. Has its own rules (handles.h): changed under its lock, atomic for those that look. */
static struct handles handles = {.size = sizeof(struct mpiio_open)};

struct mpiio_span mpiio_span(void)
{
	struct mpiio_span s = {NULL, self_ready(), 0};
	if (s.on)
		s.start = clock_now();
	return s;
}

struct mpiio_span mpiio_span_file(uintptr_t handle)
{
	struct mpiio_span s = mpiio_span();
	if (s.on)
		s.open = handles_find(&handles, handle);
	return s;
}

struct mpiio_span mpiio_span_close(uintptr_t handle)
{
	struct mpiio_span s = mpiio_span();
	if (!s.on || !handles_find(&handles, handle))
		return s;
	self_enter();
	s.open = handles_remove(&handles, handle);
	self_leave();
	return s;
}

/* ---- records ---- */

static void made(struct file *f)
{
	((struct mpiio_file *)f)->last_op = -1;
}

static const struct file_kind kind = {WRITTEN_MPIIO, sizeof(struct mpiio_file), made};

/* MPICH and its derivatives have nothing but ROMIO; Open MPI has it where a setting selects it. */
static bool romio_opens(void)
{
	if (strcmp(mpi_backend()->name, "openmpi") != 0)
		return true;
	char asked[16];
	return readable_variable(environ, "OMPI_MCA_io", asked, sizeof asked) && strncmp(asked, "romio", 5) == 0;
}

static bool is_there(const char *name)
{
	return sys_call(SYS_faccessat, AT_FDCWD, (long)name, F_OK, 0, 0, 0) == 0;
}

/*
 * ROMIO takes a file system's name in front ("ufs:/scratch/x") and opens what follows; OMPIO opens a file of
 * the whole name. The record has the name that POSIX sees. There may be a file of either name.
 */
static const char *without_prefix(const char *name)
{
	size_t n = strcspn(name, ":/");
	if (n < 2 || name[n] != ':')
		return name;
	const char *rest = name + n + 1;
	const char *likely = romio_opens() ? rest : name, *other = likely == name ? rest : name;
	return is_there(likely) || !is_there(other) ? likely : other;
}

bool mpiio_path(struct path *out, const char *name)
{
	return name && names_path(out, AT_FDCWD, mpi_backend() ? without_prefix(name) : name);
}

static struct mpiio_file *file_at(const char *name)
{
	struct path p;
	return mpiio_path(&p, name) && !names_class(LOG_MOD_MPIIO, &p) ? file_of(&kind, &p) : NULL;
}

/* ---- operations on files ---- */

static bool has_hints(uintptr_t info)
{
	return mpi_backend() && !mpi_backend()->info_is_null(info);
}

static void opened(struct mpiio_file *f, uintptr_t communicator, int mode, uintptr_t info, double start, double end)
{
	struct mpiio_record *r = f->record;
	int size = 1, rank;
	mpi_backend()->comm(communicator, &size, &rank);
	bool hints = has_hints(info);
	if (!lock_take(&f->lock))
		return;
	++*(size > 1 ? &r->coll_opens : &r->indep_opens);
	site_opened(&f->file, kind.slot);
	r->hints += hints;
	r->mode = mpi_backend()->mode(mode);
	file_stamp(&r->open_start_timestamp, &r->open_end_timestamp, start, end);
	FILE_TIME(f, IO_META, start, end);
	lock_drop(&f->lock);
}

void mpiio_on_open(struct mpiio_span s, uintptr_t handle, uintptr_t communicator, const char *name, int mode,
		   uintptr_t info, int code)
{
	double end = mpiio_on_operation(s, STATE_OP_MPIIO_OPEN, 0, code);
	if (!s.on || code || !mpi_backend())
		return;
	self_enter();
	struct mpiio_file *f = file_at(name);
	struct mpiio_open open = {.file = f};
	if (f && handles_add(&handles, handle, &open))
		opened(f, communicator, mode, info, s.start, end);
	self_leave();
}

void mpiio_on_close(struct mpiio_span s, int code)
{
	double end = mpiio_on_operation(s, STATE_OP_MPIIO_CLOSE, 0, code);
	if (!s.open)
		return;
	struct mpiio_file *f = s.open->file;
	self_enter();
	if (lock_take(&f->lock)) {
		file_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	handles_release(&handles, s.open);
	self_leave();
}

/* Only views that come with hints are in the meta time, as Darshan has it; the trailer times all of them. */
void mpiio_on_set_view(struct mpiio_span s, uintptr_t info, int code)
{
	double end = mpiio_on_operation(s, STATE_OP_MPIIO_SET_VIEW, 0, code);
	if (!s.open || code)
		return;
	struct mpiio_file *f = s.open->file;
	bool hints = has_hints(info);
	self_enter();
	if (lock_take(&f->lock)) {
		f->record->views++;
		f->record->hints += hints;
		if (hints)
			FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

void mpiio_on_sync(struct mpiio_span s, int code)
{
	double end = mpiio_on_operation(s, STATE_OP_MPIIO_SYNC, 0, code);
	if (!s.open || code)
		return;
	struct mpiio_file *f = s.open->file;
	self_enter();
	if (lock_take(&f->lock)) {
		f->record->syncs++;
		FILE_TIME(f, IO_WRITE, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
}

/* ---- a forked child has no MPI ---- */

static void fork_restore(void)
{
	handles_forget(&handles);
	mpiio_requests_forget();
}

LIFE_MODULE(mpiio, .module = LOG_MOD_MPIIO, .fork_restore = fork_restore);
