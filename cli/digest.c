#include "digest.h"

#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "reduce.h"

enum { SMALL_CLASSES = 3 }; /* of the ten size classes: up to 10 KiB */

/* ---- files ---- */

static const struct {
	int module;
	const char *name;
} interfaces[DIGEST_INTERFACES] = {{LOG_MOD_POSIX, "posix"}, {LOG_MOD_STDIO, "stdio"}, {LOG_MOD_MPIIO, "mpiio"}};

static int by_id(const void *x, const void *y)
{
	const struct digest_file *a = x, *b = y;
	return a->id < b->id ? -1 : a->id > b->id;
}

double digest_file_time(const struct digest_file *f)
{
	return f->read_time + f->write_time + f->meta_time;
}

double digest_file_factor(const struct digest_file *f)
{
	return f->read_size > 0 ? (double)f->bytes_read / (double)f->read_size : 0;
}

static int by_time(const void *x, const void *y)
{
	double a = digest_file_time(x), b = digest_file_time(y);
	return a != b ? (a < b ? 1 : -1) : by_id(x, y);
}

static struct digest_file *new_file(struct digest *d, size_t *room)
{
	if (d->nfiles == *room) {
		size_t more = *room ? 2 * *room : 256;
		struct digest_file *files = realloc(d->files, more * sizeof *files);
		if (!files)
			return NULL;
		d->files = files;
		*room = more;
	}
	struct digest_file *f = &d->files[d->nfiles++];
	*f = (struct digest_file){0};
	return f;
}

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t seeks_of(const struct log_record *r)
{
	const struct schema_field *f = schema_by_name(r->schema, "seeks");
	int64_t v = 0;
	if (f)
		memcpy(&v, (const char *)r->data + f->offset, sizeof v);
	return v;
}

static void fill_file(struct digest_file *f, const struct log_record *r)
{
	f->id = r->id;
	f->records = 1;
	f->bytes_read = reduce_i64(r->schema, r->data, ROLE_BYTES_READ);
	f->bytes_written = reduce_i64(r->schema, r->data, ROLE_BYTES_WRITTEN);
	f->reads = reduce_i64(r->schema, r->data, ROLE_READS);
	f->writes = reduce_i64(r->schema, r->data, ROLE_WRITES);
	f->opens = reduce_i64(r->schema, r->data, ROLE_OPENS);
	f->seeks = seeks_of(r);
	f->read_time = reduce_f64(r->schema, r->data, ROLE_READ_TIME);
	f->write_time = reduce_f64(r->schema, r->data, ROLE_WRITE_TIME);
	f->meta_time = reduce_f64(r->schema, r->data, ROLE_META_TIME);
	f->read_size = f->bytes_read > 0 ? reduce_i64(r->schema, r->data, ROLE_MAX_OFFSET_READ) + 1 : 0;
	int64_t written = f->bytes_written > 0 ? reduce_i64(r->schema, r->data, ROLE_MAX_OFFSET_WRITTEN) + 1 : 0;
	f->size = largest(f->read_size, written);
}

void digest_add_file(struct digest_file *f, const struct digest_file *g)
{
	f->records += g->records;
	f->bytes_read += g->bytes_read;
	f->bytes_written += g->bytes_written;
	f->reads += g->reads;
	f->writes += g->writes;
	f->opens += g->opens;
	f->seeks += g->seeks;
	f->read_time += g->read_time;
	f->write_time += g->write_time;
	f->meta_time += g->meta_time;
	f->size = largest(f->size, g->size);
	f->read_size = largest(f->read_size, g->read_size);
	f->posix |= g->posix;
	f->stdio |= g->stdio;
	f->mpiio |= g->mpiio;
}

static void add_to_interface(struct digest_interface *i, const struct digest_file *f)
{
	i->records++;
	i->reads += f->reads;
	i->writes += f->writes;
	i->bytes_read += f->bytes_read;
	i->bytes_written += f->bytes_written;
	i->read_time += f->read_time;
	i->write_time += f->write_time;
	i->meta_time += f->meta_time;
}

static void count_sizes(struct digest *d, const struct posix_record *r)
{
	for (int c = 0; c < 10; c++) {
		int64_t n = r->size_read[c] + r->size_write[c];
		d->accesses += n;
		d->small += c < SMALL_CLASSES ? n : 0;
	}
}

static int read_interface(struct digest *d, int which, size_t *room, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	int module = interfaces[which].module;
	d->interface[which].name = interfaces[which].name;
	if (!log_container(d->log)->module[module].length)
		return 0;
	int code = log_records_open(&records, d->log, module, err);
	if (code < 0)
		return code == LOG_E_UNSUPPORTED ? 0 : code;
	while ((code = log_records_next(records, &r, err)) > 0) {
		struct digest_file *f = new_file(d, room);
		if (!f)
			break;
		fill_file(f, &r);
		f->posix = module == LOG_MOD_POSIX;
		f->stdio = module == LOG_MOD_STDIO;
		f->mpiio = module == LOG_MOD_MPIIO;
		add_to_interface(&d->interface[which], f);
		if (f->posix)
			count_sizes(d, r.data);
	}
	log_records_close(records);
	return code;
}

static void group_files(struct digest *d)
{
	size_t kept = 0;
	if (d->nfiles)
		qsort(d->files, d->nfiles, sizeof *d->files, by_id);
	for (size_t n = 0; n < d->nfiles; n++) {
		if (kept && d->files[kept - 1].id == d->files[n].id)
			digest_add_file(&d->files[kept - 1], &d->files[n]);
		else
			d->files[kept++] = d->files[n];
	}
	d->nfiles = kept;
	for (size_t n = 0; n < kept; n++) {
		const char *name = log_name(d->log, d->files[n].id);
		d->files[n].name = name ? name : "(no name)";
		const struct log_pair *mount = log_mount_of(d->job, d->files[n].name);
		d->files[n].file_system = mount ? mount->value : "unknown";
	}
	if (kept)
		qsort(d->files, kept, sizeof *d->files, by_time);
}

/* ---- findings ---- */

static void find_rereading(struct digest *d)
{
	int64_t most = 0;
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		int64_t again = f->bytes_read - f->read_size;
		/* Of a file of MPI-IO both layers have read each byte. */
		if (f->mpiio || again <= 0)
			continue;
		d->reread += again;
		if (again > most) {
			most = again;
			d->most_reread = f;
		}
	}
}

static bool ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

static bool of_startup(const char *name)
{
	static const char *const suffixes[] = {".py", ".pyc", ".pyi", ".pth", ".so"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (ends(name, suffixes[i]))
			return true;
	return strstr(name, ".so.") != NULL;
}

static void find_startup(struct digest *d)
{
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		if (!of_startup(f->name) || f->bytes_written)
			continue;
		d->startup_opens += f->opens;
		d->startup_bytes += f->bytes_read;
	}
	for (size_t c = 0; c < d->nclasses; c++) {
		const struct digest_class *k = &d->class[c];
		if (strcmp(k->name, "python") != 0 && strcmp(k->name, "library") != 0)
			continue;
		d->startup_opens += k->opens;
		d->startup_bytes += k->bytes_read;
	}
}

int digest_open(struct digest *d, const char *path, struct log_error *err)
{
	size_t room = 0;
	*d = (struct digest){0};
	int code = log_open_file(&d->log, path, err);
	if (code >= 0)
		code = log_job(d->log, &d->job, err);
	for (int i = 0; code >= 0 && i < DIGEST_INTERFACES; i++)
		code = read_interface(d, i, &room, err);
	if (code < 0)
		return code;
	d->run_time = log_run_time(d->log);
	group_files(d);
	code = digest_read_trailer(d, err);
	find_rereading(d);
	find_startup(d);
	return code;
}

void digest_close(struct digest *d)
{
	free(d->files);
	if (d->log)
		log_close(d->log);
}
