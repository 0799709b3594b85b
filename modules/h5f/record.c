#include "record.h"

#include <errno.h>
#include <fcntl.h>

#include "fds.h"
#include "file.h"
#include "life.h"
#include "site.h"

struct h5f_file {
	FILE_HEAD(struct h5f_record);
};

static const struct file_kind kind = {WRITTEN_H5F, sizeof(struct h5f_file), NULL};

/* ---- files ---- */

/* NULL: excluded by a setting, or no room. Inside self_enter. */
static struct h5f_file *file_at(const struct path *p)
{
	return names_class(LOG_MOD_H5F, p) ? NULL : file_of(&kind, p);
}

static struct h5f_file *file_known_as(const struct h5_library *l, int64_t id)
{
	const struct h5_open *open = handles_find(&l->files, (uintptr_t)id);
	return open ? open->file : NULL;
}

/* By the id under which it was opened, if that is open still. */
static struct h5f_file *file_opened(struct h5_library *l, int64_t object)
{
	int64_t id = h5_id(l, l->H5Iget_file_id(object));
	struct h5f_file *f = id > 0 ? file_known_as(l, id) : NULL;
	if (id > 0)
		l->H5Fclose(id);
	return f;
}

static bool path_of_file(const struct h5f_file *f, struct path *out)
{
	return f && !names_is_overflow(f->name) && names_path(out, AT_FDCWD, f->name->text);
}

/* The name that the file was opened by, from the directory that is the current one now. */
static bool path_by_name(struct h5_library *l, int64_t object, struct path *out)
{
	char name[NAMES_PATH_MAX];
	ssize_t n = l->H5Fget_name(object, name, sizeof name);
	return n > 0 && n < (ssize_t)sizeof name && names_path(out, AT_FDCWD, name);
}

bool h5f_path_of(struct h5_library *l, int64_t object, struct path *out)
{
	return path_of_file(file_opened(l, object), out) || path_by_name(l, object, out);
}

/* ---- calls ---- */

enum { DEFAULT = 0 };

/* Does a property list for file access ask for MPI-IO? */
static bool asks_mpiio(struct h5_library *l, int64_t access)
{
	if (access == DEFAULT || !l->H5FD_mpio_init)
		return false;
	struct h5_quiet before = h5_quiet(l);
	int64_t driver = h5_id(l, l->H5Pget_driver(access));
	bool same = driver > 0 && driver == h5_id(l, l->H5FD_mpio_init());
	h5_loud(l, before);
	return same;
}

static void keep(struct h5_library *l, int64_t id, struct h5f_file *f)
{
	struct h5_open open = {.file = f};
	handles_add(&l->files, (uintptr_t)id, &open);
}

static void opened(struct h5f_file *f, bool mpiio, double start, double end)
{
	if (!lock_take(&f->lock))
		return;
	f->record->opens++;
	site_opened(&f->file, kind.slot);
	f->record->use_mpiio = mpiio;
	file_stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, start, end);
	file_time(&f->file, &f->record->meta_time, IO_META, start, end);
	lock_drop(&f->lock);
}

void h5f_on_open(struct h5_span s, int64_t id, const char *name, int64_t access)
{
	if (!s.library || (id = h5_id(s.library, id)) < 0)
		return;
	double end = clock_now();
	int saved = errno;
	bool mpiio = asks_mpiio(s.library, h5_id(s.library, access));
	self_enter();
	struct path p;
	struct h5f_file *f = names_path(&p, AT_FDCWD, name) ? file_at(&p) : NULL;
	if (f) {
		keep(s.library, id, f);
		opened(f, mpiio, s.start, end);
	}
	self_leave();
	errno = saved;
}

void h5f_on_reopen(struct h5_span s, int64_t id, int64_t of)
{
	if (!s.library || (id = h5_id(s.library, id)) < 0)
		return;
	self_enter();
	struct h5f_file *f = file_known_as(s.library, h5_id(s.library, of));
	if (f)
		keep(s.library, id, f);
	self_leave();
}

void h5f_on_close(struct h5_span s, int64_t id, int result)
{
	if (!s.library || result < 0 || !file_known_as(s.library, h5_id(s.library, id)))
		return;
	double end = clock_now();
	self_enter();
	struct h5_open *open = handles_remove(&s.library->files, (uintptr_t)h5_id(s.library, id));
	struct h5f_file *f = open ? open->file : NULL;
	if (f && lock_take(&f->lock)) {
		file_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
		file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	if (open)
		handles_release(&s.library->files, open);
	self_leave();
}

static bool flushed_path(struct h5_library *l, int64_t object, struct path *out)
{
	struct h5_quiet before = h5_quiet(l);
	bool found = h5f_path_of(l, object, out);
	h5_loud(l, before);
	return found;
}

void h5f_on_flush(struct h5_span s, int64_t object, int result)
{
	if (!s.library || result < 0)
		return;
	double end = clock_now();
	int saved = errno;
	struct path p;
	struct h5f_file *f = file_known_as(s.library, h5_id(s.library, object));
	bool found = !f && flushed_path(s.library, object, &p);
	self_enter();
	f = found ? file_at(&p) : f;
	if (f && lock_take(&f->lock)) {
		f->record->flushes++;
		file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	self_leave();
	errno = saved;
}

/* ---- a forked child goes on with what its parent had open: files are found by their names again ---- */

LIFE_MODULE(h5f, .module = LOG_MOD_H5F, .fork_restore = h5_libraries_forget);
