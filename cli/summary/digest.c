#include "digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_system.h"
#include "records.h"
#include "reduce.h"
#include "reduce_plan.h"

enum { MANY_RECORDS = 1 << 14 };
enum { SMALL_CLASSES = 3 }; /* of the ten size classes: up to 10 KiB */

/* ---- files ---- */

static int by_id(const void *x, const void *y)
{
	const struct digest_file *a = x, *b = y;
	return a->id < b->id ? -1 : a->id > b->id;
}

void digest_set_moved(struct digest *d, int module, int64_t read, int64_t written)
{
	int slot = written_slot(module);
	if (slot < 0)
		return;
	d->interface[slot].name = written_modules[slot].key;
	d->interface[slot].bytes_read = read;
	d->interface[slot].bytes_written = written;
}

double digest_file_time(const struct digest_file *f)
{
	return f->read_time + f->write_time + f->meta_time;
}

double digest_interface_time(const struct digest_interface *i)
{
	return i->read_time + i->write_time + i->meta_time;
}

int64_t digest_read_once(const struct digest_file *f)
{
	int64_t files = f->renamed_to + (f->bytes_written > 0);
	return f->read_size * (files > 1 ? files : 1);
}

double digest_file_factor(const struct digest_file *f)
{
	int64_t once = digest_read_once(f);
	return once > 0 ? (double)f->bytes_read / (double)once : 0;
}

static int by_time(const void *x, const void *y)
{
	double a = digest_file_time(x), b = digest_file_time(y);
	return a != b ? (a < b ? 1 : -1) : by_id(x, y);
}

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A count below 0 was not counted. */
static int64_t count_of(const struct log_record *r, enum field_role role)
{
	return largest(0, reduce_i64(r->schema, r->data, role));
}

/* Bytes up to the highest offset; 0 = no byte was moved, or the interface has no offsets. */
static int64_t size_of(const struct log_record *r, int64_t moved, enum field_role role)
{
	return moved > 0 && schema_by_role(r->schema, role) ? reduce_i64(r->schema, r->data, role) + 1 : 0;
}

static int64_t seeks_of(const struct log_record *r)
{
	const struct schema_field *f = schema_by_name(r->schema, "seeks");
	int64_t v = 0;
	if (f)
		memcpy(&v, (const char *)r->data + f->offset, sizeof v);
	return largest(0, v);
}

static double opened_at(const struct log_record *r)
{
	const struct schema_field *f = schema_by_name(r->schema, "open_start_timestamp");
	double v = 0;
	if (f)
		memcpy(&v, (const char *)r->data + f->offset, sizeof v);
	return v > 0 ? v : 0;
}

static double first_of(double a, double b)
{
	return a > 0 && (b <= 0 || a < b) ? a : b;
}

static void fill_file(struct digest_file *f, const struct log_record *r)
{
	f->id = r->id;
	f->records = 1;
	f->bytes_read = count_of(r, ROLE_BYTES_READ);
	f->bytes_written = count_of(r, ROLE_BYTES_WRITTEN);
	f->reads = count_of(r, ROLE_READS);
	f->writes = count_of(r, ROLE_WRITES);
	f->opens = largest(0, reduce_opens(r->schema, r->data));
	f->seeks = seeks_of(r);
	f->opened = opened_at(r);
	f->read_time = reduce_f64(r->schema, r->data, ROLE_READ_TIME);
	f->write_time = reduce_f64(r->schema, r->data, ROLE_WRITE_TIME);
	f->meta_time = reduce_f64(r->schema, r->data, ROLE_META_TIME);
	f->read_size = size_of(r, f->bytes_read, ROLE_MAX_OFFSET_READ);
	f->size = largest(f->read_size, size_of(r, f->bytes_written, ROLE_MAX_OFFSET_WRITTEN));
}

static void add_interface(struct digest_interface *to, const struct digest_interface *i)
{
	to->records += i->records;
	to->reads += i->reads;
	to->writes += i->writes;
	to->opens += i->opens;
	to->bytes_read += i->bytes_read;
	to->bytes_written += i->bytes_written;
	to->read_time += i->read_time;
	to->write_time += i->write_time;
	to->meta_time += i->meta_time;
}

void digest_add_file(struct digest_file *f, const struct digest_file *g)
{
	f->records += g->records;
	f->written |= g->written;
	f->bytes_read += g->bytes_read;
	f->bytes_written += g->bytes_written;
	f->reads += g->reads;
	f->writes += g->writes;
	f->opens += g->opens;
	f->seeks += g->seeks;
	f->opened = first_of(f->opened, g->opened);
	f->read_time += g->read_time;
	f->write_time += g->write_time;
	f->meta_time += g->meta_time;
	f->size = largest(f->size, g->size);
	f->read_size = largest(f->read_size, g->read_size);
	f->renamed_from = f->renamed_from ? f->renamed_from : g->renamed_from;
	f->renamed_away += g->renamed_away;
	f->renamed_to += g->renamed_to;
	add_interface(&f->mpiio, &g->mpiio);
}

static size_t unite_files(struct digest *d)
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
	return kept;
}

/* Memory is for files, however many records there are: what is of one file is united before more is taken. */
static struct digest_file *new_file(struct digest *d, size_t *room)
{
	bool full = d->nfiles == *room;
	if (full && *room >= MANY_RECORDS)
		d->nfiles = unite_files(d);
	if (full && d->nfiles >= *room / 2) {
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

static struct digest_interface sums_of(const struct digest_file *f)
{
	return (struct digest_interface){
		.records = f->records,
		.reads = f->reads,
		.writes = f->writes,
		.opens = f->opens,
		.bytes_read = f->bytes_read,
		.bytes_written = f->bytes_written,
		.read_time = f->read_time,
		.write_time = f->write_time,
		.meta_time = f->meta_time,
	};
}

/* The lowest layer that tells what was moved: MPI-IO, where POSIX saw nothing of it or has lost records. */
static void settle_layer(struct digest_file *f, bool posix_lost)
{
	const struct digest_interface upper = f->mpiio;
	int64_t above = upper.bytes_read + upper.bytes_written, below = f->bytes_read + f->bytes_written;
	bool lacks = above > below && (posix_lost || !below);
	if (!upper.records || (f->records && !lacks))
		return;
	*f = (struct digest_file){
		.id = f->id,
		.opened = f->opened,
		.size = f->size,
		.seeks = f->seeks,
		.records = upper.records,
		.written = f->written,
		.reads = upper.reads,
		.writes = upper.writes,
		.opens = upper.opens,
		.bytes_read = upper.bytes_read,
		.bytes_written = upper.bytes_written,
		.read_time = upper.read_time,
		.write_time = upper.write_time,
		.meta_time = upper.meta_time,
	};
}

static void count_sizes(struct digest *d, const struct posix_record *r)
{
	for (int c = 0; c < 10; c++) {
		int64_t n = r->size_read[c] + r->size_write[c];
		d->accesses += n;
		d->small += c < SMALL_CLASSES ? n : 0;
	}
}

static void count_renames(struct digest_file *f, const struct posix_record *r)
{
	f->renamed_from = r->renamed_from;
	f->renamed_away = largest(0, r->rename_sources);
	f->renamed_to = largest(0, r->rename_targets);
}

/* A file's own numbers are those of the lowest layer; of those above, MPI-IO's stand beside them. */
static void add_file(struct digest *d, const struct written_module *w, struct digest_file *f,
		     const struct digest_interface *sums)
{
	uint64_t id = f->id;
	if (w->module == LOG_MOD_MPIIO)
		*f = (struct digest_file){.id = id, .opened = f->opened, .mpiio = *sums};
	else if (!w->descriptors)
		d->nfiles--;
}

/* The process has datasets. */
static int note_dataset(struct digest_hdf5 *h, int64_t rank)
{
	h->shared |= rank < 0;
	return rank < 0 ? 0 : id_set_add(&h->ranks, (uint64_t)rank + 1);
}

static int read_interface(struct digest *d, int which, struct digest_estimate *e, size_t *room, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	const struct written_module *w = &written_modules[which];
	int module = w->module;
	d->interface[which].name = w->key;
	if (!log_container(d->log)->module[module].length)
		return 0;
	int code = log_records_open(&records, d->log, module, err);
	if (code < 0)
		return code == LOG_E_UNSUPPORTED ? 0 : code;
	while ((code = log_records_next(records, &r, err)) > 0) {
		struct digest_file *f = new_file(d, room);
		if (!f) {
			code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory for the files");
			break;
		}
		if (digest_estimate_add(e, records, &r) < 0 ||
		    (module == LOG_MOD_H5D && note_dataset(&d->hdf5, r.rank) < 0)) {
			code = log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory for the files");
			break;
		}
		fill_file(f, &r);
		struct digest_interface sums = sums_of(f);
		add_interface(&d->interface[which], &sums);
		if (module == LOG_MOD_POSIX) {
			count_sizes(d, r.data);
			count_renames(f, r.data);
		}
		add_file(d, w, f, &sums);
		f->written = 1U << which;
	}
	log_records_close(records);
	return code;
}

/* Most programs flush their standard output at the end, also when it took nothing: that is no file to speak of. */
static bool only_flushed(const struct digest_file *f)
{
	return f->name[0] == '<' && !(f->reads | f->writes | f->seeks);
}

static void name_file(struct digest *d, struct digest_file *f)
{
	const char *name = log_name(d->log, f->id);
	f->name = name ? name : "(no name)";
	const struct log_pair *mount = log_mount_of(d->job, f->name);
	f->file_system = mount ? mount->value : "unknown";
	f->class = mount && *f->name == '/' ? file_system_class(mount->value, NULL) : "";
}

/* Each open made a file that got another name. A log of which older files are renamed is opened once more than that. */
static bool is_temporary(const struct digest_file *f)
{
	return f->bytes_written > 0 && f->opens <= f->renamed_away;
}

static void show_renamed(struct digest_file *from, const char *final)
{
	const char *slash = strrchr(final, '/');
	size_t directory = slash ? (size_t)(slash - final) + 1 : 0;
	bool same = directory && !strncmp(from->name, final, directory) && !strchr(from->name + directory, '/');
	size_t n = strlen(final) + strlen(from->name) + sizeof ", written as ";
	from->final = final;
	from->shown = malloc(n);
	if (from->shown)
		snprintf(from->shown, n, "%s, written as %s", final, from->name + (same ? directory : 0));
}

/* Files by id. Of several names that one file got in turn, the one of the file with the lowest id is shown. */
static void show_final_names(struct digest *d)
{
	for (size_t n = 0; n < d->nfiles; n++) {
		struct digest_file key = {.id = d->files[n].renamed_from};
		struct digest_file *from = key.id ? bsearch(&key, d->files, d->nfiles, sizeof key, by_id) : NULL;
		if (from && from != &d->files[n] && !from->shown && is_temporary(from))
			show_renamed(from, d->files[n].name);
	}
}

static void group_files(struct digest *d)
{
	size_t kept = unite_files(d);
	bool posix_lost = log_container(d->log)->partial >> LOG_MOD_POSIX & 1;
	d->nfiles = 0;
	for (size_t n = 0; n < kept; n++) {
		struct digest_file *f = &d->files[d->nfiles];
		*f = d->files[n];
		settle_layer(f, posix_lost);
		name_file(d, f);
		d->nfiles += !only_flushed(f);
	}
	show_final_names(d);
	if (d->nfiles)
		qsort(d->files, d->nfiles, sizeof *d->files, by_time);
}

/* ---- directories ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is one of n sorted names below this one? */
static bool has_below(const char *const *names, size_t n, const char *name)
{
	size_t from = 0, length = strlen(name);
	for (size_t to = n; from < to;) {
		size_t middle = from + (to - from) / 2;
		int order = strncmp(names[middle], name, length);
		if (order < 0 || (!order && (unsigned char)names[middle][length] < '/'))
			from = middle + 1;
		else
			to = middle;
	}
	return from < n && !strncmp(names[from], name, length) && names[from][length] == '/';
}

static bool only_synchronized(const struct digest_file *f)
{
	return f->write_time > 0 && !(f->reads | f->writes | f->size);
}

/* A log has records of directories that were forced to storage, and does not say what they are of. */
static void find_directories(struct digest *d)
{
	size_t candidates = 0;
	for (size_t n = 0; n < d->nfiles; n++)
		candidates += only_synchronized(&d->files[n]);
	const char **names = candidates ? malloc(d->nfiles * sizeof *names) : NULL;
	if (!names)
		return;
	for (size_t n = 0; n < d->nfiles; n++)
		names[n] = d->files[n].name;
	qsort(names, d->nfiles, sizeof *names, by_name);
	for (size_t n = 0; n < d->nfiles; n++)
		d->files[n].directory =
			only_synchronized(&d->files[n]) && has_below(names, d->nfiles, d->files[n].name);
	free(names);
}

/* ---- findings ---- */

static bool ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

bool digest_file_shares(const struct digest_file *f)
{
	return f->name && (ends(f->name, "<other files>") || ends(f->name, "<other program files>"));
}

static void find_rereading(struct digest *d)
{
	int64_t most = 0;
	for (size_t n = 0; n < d->nfiles; n++) {
		struct digest_file *f = &d->files[n];
		if (digest_file_shares(f))
			f->size = f->read_size = 0; /* of which of them is not known */
		int64_t again = f->read_size ? largest(0, f->bytes_read - digest_read_once(f)) : 0;
		if (again <= 0)
			continue;
		d->reread += again;
		if (again > most) {
			most = again;
			d->most_reread = f;
		}
	}
}

static bool of_python(const char *name)
{
	static const char *const suffixes[] = {".py", ".pyc", ".pyi", ".pth", "/<other program files>"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (ends(name, suffixes[i]))
			return true;
	return false;
}

static bool of_library(const char *name)
{
	return ends(name, ".so") || strstr(name, ".so.");
}

/* Neither code nor what packages and environments keep with their code. Streams that were open before are no files here. */
static bool has_data(const struct digest_file *f)
{
	static const char *const places[] = {"/site-packages/", "/dist-packages/", "/node_modules/", "/pyvenv.cfg"};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strstr(f->name, places[i]))
			return false;
	return *f->name == '/' && f->opened > 0 && f->bytes_read + f->bytes_written > 0 && !digest_file_shares(f);
}

static void find_in_files(struct digest *d)
{
	struct digest_startup *s = &d->startup;
	for (size_t n = 0; n < d->nfiles; n++) {
		const struct digest_file *f = &d->files[n];
		bool python = !d->no_python && of_python(f->name);
		if ((python || of_library(f->name)) && !f->bytes_written) {
			s->opens += f->opens;
			s->bytes += f->bytes_read;
			if (python && f->bytes_read) {
				s->files += digest_file_shares(f) ? f->opens : 1;
				s->file_bytes += f->bytes_read;
			}
		} else if (has_data(f) && (s->first_data <= 0 || f->opened < s->first_data)) {
			s->first_data = f->opened;
		}
	}
}

static void find_startup(struct digest *d)
{
	struct digest_startup *s = &d->startup;
	find_in_files(d);
	for (size_t c = 0; c < d->nclasses; c++) {
		const struct digest_class *k = &d->class[c];
		bool python = strcmp(k->name, "python") == 0;
		if (python ? d->no_python : strcmp(k->name, "library") != 0)
			continue;
		s->opens += k->opens;
		s->bytes += k->bytes_read;
		s->files += python ? k->opens : 0;
		s->file_bytes += python ? k->bytes_read : 0;
	}
}

/* DFS and DAOS are not looked at here, so with them it is not known. */
static void estimate(struct digest *d, const struct digest_estimate *e)
{
	const struct log_container *c = log_container(d->log);
	bool others = c->module[LOG_MOD_DFS].length || c->module[LOG_MOD_DAOS].length;
	if (!(d->has_trailer && d->processes) && !others && d->run_time > 0)
		d->estimated = digest_estimate_get(e, d->run_time, &d->io);
}

/* From the top down: what is below others is known by them. */
static int read_interfaces(struct digest *d, struct digest_estimate *e, struct log_error *err)
{
	size_t room = 0;
	int code = e ? 0 : log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	for (int i = 0; code >= 0 && i < WRITTEN_COUNT; i++)
		if (i != WRITTEN_POSIX)
			code = read_interface(d, i, e, &room, err);
	return code >= 0 ? read_interface(d, WRITTEN_POSIX, e, &room, err) : code;
}

int digest_open(struct digest *d, const char *path, struct log_error *err)
{
	struct digest_estimate *e = digest_estimate_make();
	*d = (struct digest){0};
	int code = log_open_file(&d->log, path, err);
	if (code >= 0)
		code = log_job(d->log, &d->job, err);
	if (code >= 0)
		log_names(d->log, &d->damage);
	if (code >= 0)
		code = read_interfaces(d, e, err);
	if (code < 0) {
		digest_estimate_free(e);
		return code;
	}
	d->run_time = log_run_time(d->log);
	for (int n = 0; n < TRACE_COUNT; n++)
		d->incomplete_trace |= log_container(d->log)->partial >> written_traces[n].module & 1;
	group_files(d);
	find_directories(d);
	code = digest_read_trailer(d, err);
	estimate(d, e);
	digest_take_late(d, e);
	digest_take_pipes(d, e);
	digest_take_hdf5(d, e);
	digest_estimate_free(e);
	find_rereading(d);
	find_startup(d);
	return code;
}

void digest_close(struct digest *d)
{
	for (size_t n = 0; n < d->nfiles; n++)
		free(d->files[n].shown);
	free(d->files);
	id_set_free(&d->hdf5.ranks);
	if (d->log)
		log_close(d->log);
}
