#include "rewrite.h"

#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "alloc.h"
#include "anonymous.h"
#include "index.h"
#include "upgrade.h"
#include "section_copy.h"
#include "sites.h"
#include "missing.h"

enum { NAME_MAX = 8192, TYPE_KEPT = 16, PSEUDONYM_TYPE = TYPE_KEPT + 1 + PSEUDONYM_TEXT };

struct rewriting {
	struct rewrite *options;
	struct log *log;
	struct log_writer *writer;
	const struct log_job *job;
	struct log_error *err;
	struct trailer_section missing;
	struct log_bytes copy; /* of a record that is changed */
	const char *section;   /* that is being copied */
	struct index files;    /* of records that got another id: what the table of sites has of the old one, */
	uint64_t *new_files;   /* and the new one, by its number */
};

static bool wanted_id(const struct rewrite *r, uint64_t id)
{
	for (size_t i = 0; i < r->nids; i++)
		if (r->ids[i] == id)
			return true;
	return !r->ids;
}

/* By its name, where the log has one. */
static bool wanted(const struct rewriting *w, uint64_t id)
{
	const struct rewrite *r = w->options;
	return wanted_id(r, id) && (!r->wants_name || r->wants_name(r->context, log_name(w->log, id)));
}

static bool wanted_rank(const struct rewrite *r, int64_t rank)
{
	for (size_t i = 0; i < r->nranks; i++)
		if (rank >= r->ranks[i].from && rank <= r->ranks[i].to)
			return true;
	return !r->ranks;
}

/* ---- names and ids ---- */

static size_t mount_length(const struct rewriting *w, const char *name)
{
	const struct log_pair *m = *name == '/' ? log_mount_of(w->job, name) : NULL;
	return m ? anonymous_mount_kept(m->key) : 0;
}

static bool anonymous_name(const struct rewriting *w, const char *name, char *out)
{
	return pseudonym_name(w->options->key, name, mount_length(w, name), out, NAME_MAX);
}

/* The id that belongs to the new name, so that joining by name and by id stay the same thing. */
static uint64_t new_id(const struct rewriting *w, uint64_t id)
{
	char name[NAME_MAX];
	const char *old = id ? log_name(w->log, id) : NULL;
	if (!w->options->key || !id)
		return id;
	if (old && *old && anonymous_name(w, old, name))
		return log_id(name);
	return pseudonym_number(w->options->key, &id, sizeof id);
}

struct named {
	const char *text;
	uint64_t id;
};

static int by_text(const void *x, const void *y)
{
	return strcmp(((const struct named *)x)->text, ((const struct named *)y)->text);
}

/* Beside each other stands what is alike, which takes fewer bytes: the log's index has the order of ids, which are hashes. */
static int sort_names(struct rewriting *w, struct named **out)
{
	size_t n = log_names_count(w->log);
	struct named *names = *out = log_alloc(n * sizeof *names);
	if (!names)
		return log_fail(w->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	for (size_t i = 0; i < n; i++)
		names[i].text = log_name_at(w->log, i, &names[i].id);
	log_sort(names, n, sizeof *names, by_text);
	return LOG_OK;
}

static int write_names(struct rewriting *w)
{
	char name[NAME_MAX];
	struct named *names = NULL;
	int code = log_names(w->log, w->err);
	code = code < 0 ? code : sort_names(w, &names);
	for (size_t i = 0; code >= 0 && i < log_names_count(w->log); i++) {
		const struct named *n = &names[i];
		if (!wanted(w, n->id))
			continue;
		bool renamed = w->options->key && anonymous_name(w, n->text, name);
		code = log_write_name(w->writer, new_id(w, n->id), renamed ? name : n->text);
	}
	log_free(names);
	return code;
}

/* ---- job ---- */

static int64_t anonymous_number(const struct rewriting *w, int64_t n)
{
	return w->options->key && n > 0 ? (int64_t)(pseudonym_number(w->options->key, &n, sizeof n) >> 33) : n;
}

/* The program by its pseudonym; its arguments say too much. */
static void anonymous_command(const struct rewriting *w, char *out, size_t room)
{
	size_t n = strcspn(w->job->exe, " ");
	char program[PSEUDONYM_TEXT];
	pseudonym_text(w->options->key, w->job->exe, n, program);
	snprintf(out, room, "%s", program);
}

/* Readers warn of what logs of some versions hold, whatever they are converted to. */
static bool is_older(const struct rewriting *w)
{
	for (size_t i = 0; i < w->job->nmetadata; i++)
		if (!strcmp(w->job->metadata[i].key, LOG_PREVIOUS_VERSION))
			return false;
	return strcmp(log_container(w->log)->version, LOG_VERSION) != 0;
}

static bool keeps_pair(const struct rewrite *r, const struct log_pair *p)
{
	if (!strcmp(p->key, "lib_ver") || (r->reset_metadata && strcmp(p->key, LOG_PREVIOUS_VERSION) != 0))
		return false;
	return !r->key || anonymous_keeps_pair(p);
}

/* "fuse.NAME": the name may be any. */
static const char *hidden_type(const struct rewriting *w, const char *type, char *out)
{
	size_t kept = strcspn(type, ".");
	char hidden[PSEUDONYM_TEXT];
	if (anonymous_keeps_type(type))
		return NULL;
	pseudonym_text(w->options->key, type, strlen(type), hidden);
	snprintf(out, PSEUDONYM_TYPE, "%.*s.%s", (int)(kept < TYPE_KEPT ? kept : TYPE_KEPT), type, hidden);
	return out;
}

/* The mounts under their new names, in one block; NULL: not enough memory. */
static struct log_pair *hidden_mounts(const struct rewriting *w)
{
	const struct log_job *job = w->job;
	size_t room = job->nmounts * (sizeof(struct log_pair) + PSEUDONYM_TYPE);
	for (size_t i = 0; i < job->nmounts; i++)
		room += PSEUDONYM_TEXT * (strlen(job->mounts[i].key) + 2);
	struct log_pair *mounts = log_alloc(room + 1);
	char *at = mounts ? (char *)(mounts + job->nmounts) : NULL, *end = (char *)mounts + room;
	for (size_t i = 0; mounts && i < job->nmounts; i++) {
		mounts[i] = (struct log_pair){at, job->mounts[i].value};
		at += anonymous_mount(w->options->key, job->mounts[i].key, at, (size_t)(end - at)) + 1;
		if (hidden_type(w, job->mounts[i].value, at)) {
			mounts[i].value = at;
			at += strlen(at) + 1;
		}
	}
	return mounts;
}

static int write_job(struct rewriting *w)
{
	enum { PAIRS = 128 };
	char command[64];
	struct log_pair pairs[PAIRS], *mounts = NULL;
	size_t n = 0;
	const char *version = "unknown";
	if (is_older(w))
		pairs[n++] = (struct log_pair){LOG_PREVIOUS_VERSION, log_container(w->log)->version};
	for (size_t i = 0; i < w->job->nmetadata; i++) {
		const struct log_pair *p = &w->job->metadata[i];
		version = !strcmp(p->key, "lib_ver") ? p->value : version;
		if (keeps_pair(w->options, p) && n < PAIRS)
			pairs[n++] = *p;
	}
	for (size_t i = 0; i < w->options->nannotations && n < PAIRS; i++)
		pairs[n++] = w->options->annotations[i];
	if (w->options->key)
		anonymous_command(w, command, sizeof command);
	if (w->options->key && !(mounts = hidden_mounts(w)))
		return log_fail(w->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	struct newest_end end = newest_end(w->log, w->job);
	struct log_job_text text = {
		.uid = anonymous_number(w, w->job->uid),
		.start = w->job->start,
		.start_ns = w->job->start_ns,
		.end = end.seconds,
		.end_ns = end.ns,
		.nprocs = w->job->nprocs,
		.id = anonymous_number(w, w->job->id),
		.lib_ver = version,
		.exe = w->options->key ? command : w->job->exe,
		.metadata = pairs,
		.nmetadata = n,
		.mounts = mounts ? mounts : w->job->mounts,
		.nmounts = w->job->nmounts,
	};
	int code = log_write_job(w->writer, &text);
	log_free(mounts);
	return code;
}

/* ---- records ---- */

static void rename_references(const struct rewriting *w, const struct schema_module *m, uint8_t *record)
{
	for (uint32_t i = 0; i < m->nfields; i++) {
		uint64_t id;
		if (strcmp(m->fields[i].unit, "record id") != 0)
			continue;
		memcpy(&id, record + m->fields[i].offset, sizeof id);
		id = new_id(w, id);
		memcpy(record + m->fields[i].offset, &id, sizeof id);
	}
}

static int keep_new_id(struct rewriting *w, uint64_t old, uint64_t new)
{
	bool is_new = false;
	size_t n = index_number(&w->files, SITES_FILE(old), &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&w->new_files, n, sizeof *w->new_files)))
		return log_fail(w->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	w->new_files[n] = new;
	return 0;
}

/* The record as it is to be, in w->copy. */
static int change_record(struct rewriting *w, const struct log_record *r)
{
	w->copy.used = 0;
	int code = log_bytes_add(&w->copy, r->data, r->size);
	if (code < 0)
		return log_fail(w->err, code, LOG_NOWHERE, "not enough memory");
	if (!w->options->key)
		return 0;
	uint64_t id = new_id(w, r->id);
	code = keep_new_id(w, r->id, id);
	memcpy(w->copy.at, &id, sizeof id);
	rename_references(w, r->schema, w->copy.at);
	anonymous_texts(w->options->key, r, w->copy.at);
	return code;
}

static int write_record(struct rewriting *w, const struct log_record *r)
{
	if (!w->options->key)
		return newest_record(w->writer, r->schema, r->data, r->size);
	int code = change_record(w, r);
	return code < 0 ? code : newest_record(w->writer, r->schema, w->copy.at, r->size);
}

/* ---- regions ---- */

/* Some regions begin with a record of another kind. */
static int write_header(struct rewriting *w, struct log_records *records)
{
	struct log_record r;
	int code = log_records_header(records, &r, w->err);
	return code > 0 ? write_record(w, &r) : code;
}

static int copy_records(struct rewriting *w, struct log_records *records)
{
	struct log_record r;
	int code = write_header(w, records);
	code = code < 0 ? code : 1;
	while (code > 0 && (code = log_records_next(records, &r, w->err)) > 0) {
		if (!wanted(w, r.id) || !wanted_rank(w->options, r.rank))
			continue;
		bool trace = newest_is_trace(r.schema);
		r.size = trace ? r.schema->size : r.size;
		int written = write_record(w, &r);
		if (written >= 0 && trace)
			written = newest_segments(w->writer, records, 0, w->err);
		code = written < 0 ? written : 1;
	}
	return code;
}

static int add_missing(struct rewriting *w, struct log_records *records, const struct schema_module *m)
{
	const struct schema_field *f;
	int code = 0;
	for (size_t i = 0; code >= 0 && (f = missing_field(m, i)); i++)
		if (missing_matters(m, f) && !log_records_have(records, f))
			code = missing_add(&w->missing, m, i);
	return code;
}

static int write_module(struct rewriting *w, int module)
{
	const struct log_container *c = log_container(w->log);
	struct log_records *records;
	if (c->partial >> module & 1)
		log_write_partial(w->writer, module);
	if (!c->module[module].length || module >= LOG_OWN_MODULES)
		return 0;
	int code = log_records_open(&records, w->log, module, w->err);
	if (code == LOG_E_UNSUPPORTED) {
		w->options->left_out++;
		return 0;
	}
	if (code < 0)
		return code;
	code = log_write_module(w->writer, module, newest_version(module));
	if (code >= 0)
		code = add_missing(w, records, &schema_modules[module]);
	if (code >= 0)
		code = copy_records(w, records);
	log_records_close(records);
	return code;
}

static bool wants_module(const struct rewrite *r, int module)
{
	return !r->modules || r->modules >> module & 1;
}

static int write_modules(struct rewriting *w)
{
	int code = 0;
	for (int m = 0; code >= 0 && m < LOG_MAX_MODULES; m++)
		if (wants_module(w->options, m))
			code = write_module(w, m);
	return code;
}

/* ---- accesses behind the regions ---- */

static int copy_accesses(struct rewriting *w, struct log_records *records, struct access_writer *a)
{
	struct log_record r;
	int code;
	while ((code = log_records_next(records, &r, w->err)) > 0) {
		if (!wanted(w, r.id) || !wanted_rank(w->options, r.rank))
			continue;
		code = change_record(w, &r);
		if (code >= 0)
			code = newest_accesses(w->writer, a, records, w->copy.at, 0, w->err);
		if (code < 0)
			break;
	}
	return code;
}

static int write_module_accesses(struct rewriting *w, int module)
{
	struct log_records *records = NULL;
	struct access_writer *a = access_writer_make();
	int code = a ? 0 : log_fail(w->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	if (code >= 0)
		code = log_records_open(&records, w->log, module, w->err);
	if (code >= 0)
		code = log_write_accesses(w->writer, module);
	if (code >= 0)
		code = copy_accesses(w, records, a);
	log_records_close(records);
	access_writer_free(a);
	return code;
}

static int write_accesses(struct rewriting *w)
{
	const struct log_container *c = log_container(w->log);
	int code = 0;
	for (int m = 0; code >= 0 && m < LOG_MOD_COUNT && !w->options->drop_trailer; m++)
		if (c->accesses[m].length && wants_module(w->options, m))
			code = write_module_accesses(w, m);
	return code;
}

/* ---- the trailer ---- */

static const char *hide_text(void *context, const struct trailer_field *f, const char *text, char *room)
{
	const struct rewriting *w = context;
	if (!w->options->key || !*text)
		return NULL;
	if (!strcmp(w->section, "mounted") && !strcmp(f->name, "type"))
		return hidden_type(w, text, room);
	if (anonymous_keeps_text(w->section, f->name))
		return NULL;
	if (!strcmp(w->section, "mounted") && !strcmp(f->name, "point"))
		return anonymous_mount(w->options->key, text, room, SECTION_TEXT) ? room : "";
	if (!strcmp(w->section, "sites") && !strcmp(f->name, "build_id"))
		return anonymous_build_id(w->options->key, text, room);
	if (!strcmp(f->name, "stack")) {
		const char *stack = anonymous_stack(w->options->key, text, room, SECTION_TEXT);
		return stack ? stack : "";
	}
	return pseudonym_name(w->options->key, text, 0, room, SECTION_TEXT) ? room : "";
}

/* What the file of a row of `sites` or `lines` is called in the new log; false: it is not there. */
static bool new_file(const struct rewriting *w, const struct trailer_table *t, uint64_t row, uint64_t *file)
{
	uint64_t old = (uint64_t)trailer_i64(t, row, trailer_field(t, "file"), 0);
	size_t n = old ? index_find(&w->files, old) : SIZE_MAX;
	*file = n == SIZE_MAX ? 0 : SITES_FILE(w->new_files[n]);
	return !old || n != SIZE_MAX;
}

static int copy_section(struct rewriting *w, const char *name, const struct trailer_table *t)
{
	struct trailer_section s;
	int code = section_like(&s, name, t);
	bool renames = w->options->key && (!strcmp(name, "sites") || !strcmp(name, "lines"));
	w->section = name;
	for (uint64_t row = 0, file; code >= 0 && row < trailer_rows(t); row++) {
		if (renames && !new_file(w, t, row, &file))
			continue;
		code = section_copy_row(&s, t, row, hide_text, w);
		if (code >= 0 && renames)
			code = section_set_i64(&s, "file", 0, (int64_t)file);
	}
	if (code >= 0)
		code = log_write_section(w->writer, &s);
	section_free(&s);
	return code;
}

static int copy_sections(struct rewriting *w, struct trailer *trailer)
{
	int code = 0;
	for (size_t i = 0; code >= 0 && i < trailer_count(trailer); i++) {
		const char *name = trailer_at(trailer, i)->name;
		struct trailer_table *t;
		bool telling = anonymous_drops(name);
		/* Made anew. */
		if (!strcmp(name, "uncounted") || !strcmp(name, ACCESS_SECTION))
			continue;
		/* A section in place belongs to a store. */
		if ((w->options->key && telling) || trailer_at(trailer, i)->flags & TRAILER_IN_PLACE)
			continue;
		code = trailer_find(trailer, name, &t, w->err);
		if (code >= 0 && t) {
			code = copy_section(w, name, t);
			trailer_free(t);
		}
	}
	return code;
}

uint64_t rewrite_source(struct log *log)
{
	const struct log_container *c = log_container(log);
	const struct log_job *job;
	uint64_t source = log_hash(c->module, sizeof c->module, c->file_size);
	if (log_job(log, &job, NULL) < 0)
		return source;
	const int64_t numbers[] = {job->uid, job->id, job->start, job->start_ns, job->end, job->end_ns, job->nprocs};
	source = log_hash(job->exe, strlen(job->exe), source);
	return log_hash(numbers, sizeof numbers, source);
}

static int mark_part(struct rewriting *w, struct trailer *trailer)
{
	const struct rewrite *r = w->options;
	struct trailer_section s;
	if (r->key || !(r->modules || r->ids || r->ranks || r->wants_name) || trailer_entry_named(trailer, "selection"))
		return 0;
	int code = section_begin(&s, "selection", "source u64\n");
	section_row(&s);
	section_set_i64(&s, "source", 0, (int64_t)rewrite_source(w->log));
	code = code < 0 ? code : log_write_section(w->writer, &s);
	section_free(&s);
	return code;
}

static int write_trailer(struct rewriting *w)
{
	struct trailer *trailer;
	if (w->options->drop_trailer)
		return 0;
	int code = trailer_open(&trailer, w->log, w->err);
	if (code >= 0)
		code = copy_sections(w, trailer);
	if (code >= 0)
		code = mark_part(w, trailer);
	if (code >= 0 && w->missing.nrows)
		code = log_write_section(w->writer, &w->missing);
	trailer_close(trailer);
	return code;
}

/* Did our runtime write it? */
static bool is_own(const struct log_job *job)
{
	for (size_t i = 0; i < job->nmetadata; i++)
		if (!strcmp(job->metadata[i].key, "lib_ver"))
			return !strncmp(job->metadata[i].value, "iolens", 6);
	return false;
}

int rewrite_log(struct rewrite *r, struct log *log, struct log_writer *writer, struct log_error *err)
{
	struct rewriting w = {.options = r, .log = log, .writer = writer, .err = err};
	int code = log_job(log, &w.job, err);
	if (code >= 0)
		code = r->smallest ? log_writer_smallest(writer) : log_writer_compression(writer, r->compression);
	if (code >= 0 && !is_own(w.job))
		log_writer_by_zlib(writer);
	if (code >= 0)
		code = missing_begin(&w.missing);
	if (code >= 0)
		code = write_job(&w);
	if (code >= 0)
		code = write_names(&w);
	if (code >= 0)
		code = write_modules(&w);
	if (code >= 0)
		code = write_accesses(&w);
	if (code >= 0)
		code = write_trailer(&w);
	if (code < 0)
		log_writer_blame(writer, err);
	section_free(&w.missing);
	log_bytes_free(&w.copy);
	index_free(&w.files);
	log_free(w.new_files);
	return code;
}
