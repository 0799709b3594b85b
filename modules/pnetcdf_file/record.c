#include "record.h"

#include <errno.h>
#include <fcntl.h>

#include "../mpiio/record.h"
#include "fds.h"
#include "file.h"
#include "site.h"

struct pnetcdf_file {
	FILE_HEAD(struct pnetcdf_file_record);
};

static const struct file_kind kind = {WRITTEN_PNETCDF_FILE, sizeof(struct pnetcdf_file), NULL};

/* Waiting is timed by itself, and this record has neither reads nor writes that it could meet. */
static const enum io_op IO_WAIT = IO_READ;

/* NULL: excluded by a setting, or no room. Inside self_enter. */
static struct pnetcdf_file *file_at(const char *name)
{
	struct path p;
	return mpiio_path(&p, name) && !names_class(LOG_MOD_PNETCDF_FILE, &p) ? file_of(&kind, &p) : NULL;
}

/* ---- names ---- */

static bool path_by_name(const struct pnetcdf_library *l, int file, struct path *out)
{
	char name[NAMES_PATH_MAX];
	int length = 0;
	if (l->ncmpi_inq_path(file, &length, NULL) || length <= 0 || length >= NAMES_PATH_MAX ||
	    l->ncmpi_inq_path(file, NULL, name))
		return false;
	self_enter();
	bool found = mpiio_path(out, name);
	self_leave();
	return found;
}

/* By the name that it was opened under, from the directory that was the current one then, where that is known. */
bool pnetcdf_file_path(const struct pnetcdf_library *l, int file, struct path *out)
{
	const struct pnetcdf_open *open = pnetcdf_find(l, file);
	const struct pnetcdf_file *f = open ? open->file : NULL;
	if (!f || names_is_overflow(f->name))
		return path_by_name(l, file, out);
	return names_path(out, AT_FDCWD, f->name->text);
}

/* ---- what the library has moved ---- */

static int64_t ask(int (*what)(int, int64_t *), int file)
{
	int64_t bytes = 0;
	return what && !what(file, &bytes) ? bytes : -1;
}

struct pnetcdf_moved pnetcdf_file_moved(struct pnetcdf_span s, int file)
{
	const struct pnetcdf_open *open = s.library ? pnetcdf_find(s.library, file) : NULL;
	struct pnetcdf_moved moved = {-1, -1};
	if (!open || !open->file)
		return moved;
	int saved = errno;
	moved.read = ask(s.library->ncmpi_inq_get_size, file);
	moved.written = ask(s.library->ncmpi_inq_put_size, file);
	errno = saved;
	return moved;
}

static void add_moved(int64_t *counter, int64_t *counted, int64_t moved)
{
	if (moved < 0) {
		*counter = -1;
	} else if (*counter >= 0) {
		*counter += moved - *counted;
		*counted = moved;
	}
}

/* Holds the file's lock. */
static void count_moved(struct pnetcdf_file *f, struct pnetcdf_open *open, struct pnetcdf_moved moved)
{
	add_moved(&f->record->bytes_read, &open->read, moved.read);
	add_moved(&f->record->bytes_written, &open->written, moved.written);
}

/* ---- calls ---- */

static void opened(struct pnetcdf_file *f, bool created, double start, double end)
{
	if (!lock_take(&f->lock))
		return;
	++*(created ? &f->record->creates : &f->record->opens);
	site_opened(&f->file, kind.slot);
	file_stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, start, end);
	file_time(&f->file, &f->record->meta_time, IO_META, start, end);
	lock_drop(&f->lock);
}

void pnetcdf_file_on_open(struct pnetcdf_span s, bool created, const int *file, const char *name, int code)
{
	if (!s.library || code || !file)
		return;
	double end = clock_now();
	self_enter();
	struct pnetcdf_file *f = file_at(name);
	pnetcdf_keep(s.library, *file, f);
	if (f)
		opened(f, created, s.start, end);
	self_leave();
}

/* It is closed, whatever is returned. */
void pnetcdf_file_on_close(struct pnetcdf_span s, int file, struct pnetcdf_moved moved, int code)
{
	struct pnetcdf_open *open = s.library ? pnetcdf_find(s.library, file) : NULL;
	if (!open)
		return;
	double end = clock_now();
	struct pnetcdf_file *f = open->file;
	self_enter();
	if (f && lock_take(&f->lock)) {
		count_moved(f, open, moved);
		if (!code) {
			file_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
			file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
		}
		lock_drop(&f->lock);
	}
	pnetcdf_forget(s.library, file);
	self_leave();
}

/* The file, locked and inside self_enter; NULL: there is nothing to record. */
static struct pnetcdf_file *begin(struct pnetcdf_span s, int file, struct pnetcdf_open **open)
{
	*open = s.library ? pnetcdf_find(s.library, file) : NULL;
	struct pnetcdf_file *f = *open ? (*open)->file : NULL;
	if (!f)
		return NULL;
	self_enter();
	if (lock_take(&f->lock))
		return f;
	self_leave();
	return NULL;
}

static void finish(struct pnetcdf_file *f)
{
	lock_drop(&f->lock);
	self_leave();
}

void pnetcdf_file_on_redef(struct pnetcdf_span s, int file, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_open *open;
	struct pnetcdf_file *f = code ? NULL : begin(s, file, &open);
	if (!f)
		return;
	f->record->redefs++;
	file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
	finish(f);
}

void pnetcdf_file_on_enddef(struct pnetcdf_span s, int file, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_open *open;
	struct pnetcdf_file *f = code ? NULL : begin(s, file, &open);
	if (!f)
		return;
	file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
	finish(f);
}

void pnetcdf_file_on_sync(struct pnetcdf_span s, int file, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_moved moved = pnetcdf_file_moved(s, file);
	struct pnetcdf_open *open;
	struct pnetcdf_file *f = code ? NULL : begin(s, file, &open);
	if (!f)
		return;
	f->record->syncs++;
	count_moved(f, open, moved);
	file_time(&f->file, &f->record->meta_time, IO_META, s.start, end);
	finish(f);
}

void pnetcdf_file_on_wait(struct pnetcdf_span s, int file, bool together, int code)
{
	double end = s.library ? clock_now() : 0;
	struct pnetcdf_moved moved = pnetcdf_file_moved(s, file);
	struct pnetcdf_open *open;
	struct pnetcdf_file *f = begin(s, file, &open);
	if (!f)
		return;
	struct pnetcdf_file_record *r = f->record;
	++*(code ? &r->wait_failures : together ? &r->coll_waits : &r->indep_waits);
	count_moved(f, open, moved);
	file_stamp(&r->wait_start_timestamp, &r->wait_end_timestamp, s.start, end);
	file_time(&f->file, &r->wait_time, IO_WAIT, s.start, end);
	finish(f);
}
