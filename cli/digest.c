#include "digest.h"

#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "reduce.h"
#include "trailer.h"

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

static void join_files(struct digest_file *f, const struct digest_file *g)
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
			join_files(&d->files[kept - 1], &d->files[n]);
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

/* ---- the trailer ---- */

#define I64(name) trailer_i64(t, row, trailer_field(t, name), 0)
#define F64(name) trailer_f64(t, row, trailer_field(t, name), 0)

static void copy_text(char *to, size_t room, const struct trailer_table *t, uint64_t row, const char *field)
{
	size_t n;
	const char *text = trailer_text(t, row, trailer_field(t, field), 0, &n);
	n = n < room - 1 ? n : room - 1;
	memcpy(to, text, n);
	to[n] = '\0';
}

static void read_processes(struct digest *d, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char ended[24];
		int64_t read = I64("unseen_read"), written = I64("unseen_written");
		copy_text(ended, sizeof ended, t, row, "ended");
		d->processes++;
		d->killed += strcmp(ended, "unknown") == 0;
		d->folded_opens += I64("folded_opens");
		d->unseen_unknown += read < 0;
		d->unseen_read += read > 0 ? read : 0;
		d->unseen_written += written > 0 ? written : 0;
	}
}

static void read_classes(struct digest *d, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char name[24];
		size_t c = 0;
		copy_text(name, sizeof name, t, row, "class");
		while (c < d->nclasses && strcmp(d->class[c].name, name) != 0)
			c++;
		if (c == DIGEST_CLASSES)
			continue;
		struct digest_class *k = &d->class[c];
		if (c == d->nclasses) {
			d->nclasses++;
			strcpy(k->name, name);
			copy_text(k->description, sizeof k->description, t, row, "description");
		}
		k->opens += I64("opens");
		k->calls += I64("reads") + I64("writes");
		k->bytes_read += I64("bytes_read");
		k->bytes_written += I64("bytes_written");
	}
}

static int by_operation_time(const void *x, const void *y)
{
	const struct digest_operation *a = x, *b = y;
	return a->time < b->time ? 1 : a->time > b->time ? -1 : strcmp(a->name, b->name);
}

static void read_operations(struct digest *d, const struct trailer_table *t)
{
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		char name[24];
		size_t o = 0;
		copy_text(name, sizeof name, t, row, "name");
		while (o < d->noperations && strcmp(d->operation[o].name, name) != 0)
			o++;
		if (o == DIGEST_OPERATIONS)
			continue;
		if (o == d->noperations)
			strcpy(d->operation[d->noperations++].name, name);
		d->operation[o].count += I64("count");
		d->operation[o].time += F64("time");
	}
	qsort(d->operation, d->noperations, sizeof *d->operation, by_operation_time);
}

static void read_timeline(struct digest *d, const struct trailer_table *t)
{
	size_t n = trailer_rows(t);
	struct live_segment *s = malloc((n + 1) * sizeof *s);
	struct occupancy_edge *scratch = malloc((2 * n + 1) * sizeof *scratch);
	for (uint64_t row = 0; s && row < n; row++)
		s[row] = (struct live_segment){F64("start"), F64("end"), {F64("read"), F64("write"), F64("meta")}};
	if (s && scratch)
		d->io = occupancy_union(s, n, scratch);
	free(s);
	free(scratch);
}

static int read_trailer(struct digest *d, struct log_error *err)
{
	static const struct {
		const char *name;
		void (*read)(struct digest *, const struct trailer_table *);
	} tables[] = {{"process", read_processes},
		      {"excluded", read_classes},
		      {"operation", read_operations},
		      {"timeline", read_timeline}};
	struct trailer *trailer;
	int code = trailer_open(&trailer, d->log, err);
	if (code < 0 || !trailer)
		return code;
	d->has_trailer = true;
	for (size_t i = 0; code >= 0 && i < sizeof tables / sizeof *tables; i++) {
		struct trailer_table *t;
		code = trailer_find(trailer, tables[i].name, &t, err);
		if (code >= 0 && t) {
			tables[i].read(d, t);
			trailer_free(t);
		}
	}
	trailer_close(trailer);
	return code;
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
	return read_trailer(d, err);
}

void digest_close(struct digest *d)
{
	free(d->files);
	if (d->log)
		log_close(d->log);
}
