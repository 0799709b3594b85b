/* Files: how handles and their records come and go, and what is done to whole files. */
#include <fcntl.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "config.h"
#include "life.h"
#include "mpi/mpi.h"
#include "self.h"
#include "state.h"
#include "store.h"
#include "sys.h"

/* ---- spans ---- */

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
		s.open = mpiio_handle_find(handle);
	return s;
}

struct mpiio_span mpiio_span_close(uintptr_t handle)
{
	struct mpiio_span s = mpiio_span_file(handle);
	if (!s.open)
		return s;
	self_enter();
	mpiio_handle_remove(handle);
	self_leave();
	return s;
}

/* ---- records ---- */

static struct mpiio_file *file_of_name(struct name *n)
{
	if (!n || n->file[NAMES_MPIIO])
		return n ? n->file[NAMES_MPIIO] : NULL;
	struct mpiio_file *f = arena_take(sizeof *f);
	struct mpiio_record *r = f ? store_record(LOG_MOD_MPIIO, sizeof *r, n->id, names_is_fold(n)) : NULL;
	if (!r)
		return NULL;
	*f = (struct mpiio_file){.name = n, .record = r, .last_kind = -1};
	return n->file[NAMES_MPIIO] = f;
}

static struct mpiio_file *file_of(const struct path *p)
{
	names_lock();
	struct mpiio_file *f = file_of_name(names_entry(p));
	f = f ? f : file_of_name(names_fold(LOG_MOD_MPIIO, p));
	names_unlock();
	return f;
}

/*
 * ROMIO takes a file system's name in front ("ufs:/scratch/x") and opens what follows; OMPIO opens a file of
 * the whole name. The record has the name that POSIX sees.
 */
static const char *without_prefix(const char *name)
{
	size_t n = strcspn(name, ":/");
	if (n < 2 || name[n] != ':' || sys_call(SYS_faccessat, AT_FDCWD, (long)name, F_OK, 0, 0, 0) == 0)
		return name;
	return name + n + 1;
}

static struct mpiio_file *file_at(const char *name)
{
	struct path p;
	if (!config_module_on(LOG_MOD_MPIIO) || !name || !names_path(&p, AT_FDCWD, without_prefix(name)) ||
	    names_class(LOG_MOD_MPIIO, &p))
		return NULL;
	return file_of(&p);
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
	lock_take(&f->lock);
	++*(size > 1 ? &r->coll_opens : &r->indep_opens);
	r->hints += hints;
	r->mode = mpi_backend()->mode(mode);
	mpiio_stamp(&r->open_start_timestamp, &r->open_end_timestamp, start, end);
	mpiio_time(f, LIVE_META, start, end);
	lock_drop(&f->lock);
}

void mpiio_on_open(struct mpiio_span s, uintptr_t handle, uintptr_t communicator, const char *name, int mode,
		   uintptr_t info, int code)
{
	mpiio_on_operation(s, LIVE_OP_MPIIO_OPEN, 0, code);
	if (!s.on || code || !mpi_backend())
		return;
	double end = clock_now();
	self_enter();
	struct mpiio_file *f = file_at(name);
	if (f && mpiio_handle_add(handle, f))
		opened(f, communicator, mode, info, s.start, end);
	self_leave();
}

void mpiio_on_close(struct mpiio_span s, int code)
{
	mpiio_on_operation(s, LIVE_OP_MPIIO_CLOSE, 0, code);
	if (!s.open)
		return;
	double end = clock_now();
	struct mpiio_file *f = s.open->file;
	self_enter();
	lock_take(&f->lock);
	mpiio_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
	mpiio_time(f, LIVE_META, s.start, end);
	lock_drop(&f->lock);
	self_leave();
}

/* Only views that come with hints are in the meta time, as Darshan has it; the trailer times all of them. */
void mpiio_on_set_view(struct mpiio_span s, uintptr_t info, int code)
{
	mpiio_on_operation(s, LIVE_OP_MPIIO_SET_VIEW, 0, code);
	if (!s.open || code)
		return;
	double end = clock_now();
	struct mpiio_file *f = s.open->file;
	bool hints = has_hints(info);
	self_enter();
	lock_take(&f->lock);
	f->record->views++;
	f->record->hints += hints;
	if (hints)
		mpiio_time(f, LIVE_META, s.start, end);
	lock_drop(&f->lock);
	self_leave();
}

void mpiio_on_sync(struct mpiio_span s, int code)
{
	mpiio_on_operation(s, LIVE_OP_MPIIO_SYNC, 0, code);
	if (!s.open || code)
		return;
	double end = clock_now();
	struct mpiio_file *f = s.open->file;
	self_enter();
	lock_take(&f->lock);
	f->record->syncs++;
	mpiio_time(f, LIVE_WRITE, s.start, end);
	lock_drop(&f->lock);
	self_leave();
}

/* ---- a forked child has no MPI ---- */

static void fork_restore(void)
{
	mpiio_handles_forget();
	mpiio_requests_forget();
}

LIFE_MODULE(mpiio, .module = LOG_MOD_MPIIO, .fork_restore = fork_restore);
