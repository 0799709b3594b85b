#include "old.h"

#include <stdlib.h>

enum { NAMED = 128 << 20 /* bytes of names, at most */, JOB_MIN = 1024, EPOCH = 100000000 };

/* The fixed part of the job record, by version. */
struct form {
	int version; /* 2.06 = 206 */
	uint16_t fixed, total;
	bool has_metadata;
};

static const struct form forms[] = {
	{121, 28, 1024, false},  {122, 28, 1024, false},  {123, 28, 1024, false},  {124, 28, 1024, false},
	{200, 56, 1024, false},  {201, 120, 1024, true},  {202, 120, 1024, true},  {203, 120, 1024, true},
	{204, 1080, 4096, true}, {205, 1080, 4096, true}, {206, 1080, 4096, true},
};

static const struct form *form_of(const char *text)
{
	int version = (text[0] - '0') * 100 + atoi(text + 2);
	for (size_t i = 0; i < sizeof forms / sizeof *forms && text[1] == '.' && strlen(text) == 4; i++)
		if (forms[i].version == version)
			return &forms[i];
	return NULL;
}

static bool is_first(const struct log_old *old)
{
	return old->version < 200;
}

/* ---- the stream ---- */

static int open_stream(const struct log *log, struct region *r, struct log_error *err)
{
	uint8_t head[3] = {0};
	const struct source *s = &log->source;
	int code = source_read(s, 0, head, s->size < sizeof head ? s->size : sizeof head, err);
	if (code < 0)
		return code;
	const struct codec *codec = NULL;
	if (head[0] == 0x1f && head[1] == 0x8b)
		codec = &codec_gzip;
	else if (!memcmp(head, "BZh", 3) && !codec_bzip2)
		return log_fail(err, LOG_E_UNSUPPORTED, 0, "this build of iolens reads no bzip2");
	else if (!memcmp(head, "BZh", 3))
		codec = codec_bzip2;
	return region_open_coded(r, s, codec, err);
}

static enum log_compression compression_of(const struct region *r)
{
	return !r->codec ? LOG_PLAIN : r->codec == &codec_gzip ? LOG_ZLIB : LOG_BZIP2;
}

/* ---- the job record ---- */

static int64_t number(const struct log *log, int at)
{
	return (int64_t)container_u64(&log->container, log->job_text + at);
}

static int32_t half(const struct log *log, int at)
{
	uint32_t v;
	memcpy(&v, log->job_text + at, sizeof v);
	return (int32_t)(log->container.swapped ? __builtin_bswap32(v) : v);
}

static void read_numbers(struct log *log)
{
	struct log_job *j = &log->job;
	if (is_first(log->old))
		*j = (struct log_job){.uid = (uint32_t)half(log, 12),
				      .start = half(log, 16),
				      .end = half(log, 20),
				      .nprocs = half(log, 24)};
	else
		*j = (struct log_job){.uid = number(log, 16),
				      .start = number(log, 24),
				      .end = number(log, 32),
				      .nprocs = number(log, 40),
				      .id = number(log, 48)};
}

/* Lines are `device<TAB>type<TAB>mount point`, and count in reverse order. */
static size_t read_mounts(char *text, struct log_old_mount *out)
{
	size_t n = 0;
	for (char *line; (line = job_next_line(&text));) {
		char *type, *point, *end;
		int64_t device = strtoll(line, &type, 10);
		type += strspn(type, " \t");
		point = type + strcspn(type, " \t");
		end = point + strspn(point, " \t");
		if (type == line || !*type || !*end)
			continue;
		*point = 0;
		end[strcspn(end, " \t")] = 0;
		out[n++] = (struct log_old_mount){device, {end, type}};
	}
	for (size_t i = 0; i < n / 2; i++) {
		struct log_old_mount swap = out[i];
		out[i] = out[n - 1 - i];
		out[n - 1 - i] = swap;
	}
	return n;
}

static size_t count_lines(const char *text)
{
	size_t n = 1;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int read_texts(struct log *log, const struct form *f, struct log_error *err)
{
	struct log_job *j = &log->job;
	struct log_old *old = log->old;
	char *metadata = f->has_metadata ? log->job_text + 56 : (char[]){0};
	char *exe = log->job_text + f->fixed;
	/* The texts need not end: the last byte of each field is given up. */
	if (f->has_metadata)
		exe[-1] = 0;
	log->job_text[f->total] = 0;
	size_t room = count_lines(metadata), lines = count_lines(exe);
	log->job_pairs = log_alloc((room + lines) * sizeof *log->job_pairs);
	old->mounts = log_alloc(lines * sizeof *old->mounts);
	if (!log->job_pairs || !old->mounts)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	j->metadata = log->job_pairs;
	j->nmetadata = job_split_lines(metadata, '=', log->job_pairs);
	j->exe = job_next_line(&exe);
	old->nmounts = exe ? read_mounts(exe, old->mounts) : 0;
	for (size_t i = 0; i < old->nmounts; i++)
		log->job_pairs[room + i] = old->mounts[i].mount;
	j->mounts = log->job_pairs + room;
	j->nmounts = old->nmounts;
	job_sort_mounts(log->job_pairs + room, j->nmounts);
	return LOG_OK;
}

static int read_version(struct log *log, const struct form **form, struct log_error *err)
{
	struct log_container *c = &log->container;
	memcpy(c->version, log->job_text, 8);
	*form = form_of(c->version);
	if (!strcmp(c->version, "1.4"))
		return log_fail(err, LOG_E_VERSION, 0,
				"log of a prototype (version 1.4), whose counters are not known");
	if (!*form)
		return log_fail(err, LOG_E_NOT_LOG, 0, "compressed file that holds no log of Darshan 1.x or 2.x");
	int64_t magic;
	memcpy(&magic, log->job_text + 8, sizeof magic);
	c->swapped = (*form)->version < 200 || magic == (int64_t)__builtin_bswap64(CONTAINER_MAGIC);
	if ((*form)->version >= 200 && !c->swapped && magic != CONTAINER_MAGIC)
		return log_fail(err, LOG_E_DAMAGED, 8, "log without Darshan's magic number");
	log->old->version = (*form)->version;
	log->old->job_size = (*form)->total;
	c->minor = (*form)->version % 100;
	return LOG_OK;
}

static int read_job(struct log *log, struct log_error *err)
{
	const struct form *form;
	struct region r;
	int code = open_stream(log, &r, err);
	if (code < 0)
		return code;
	int64_t used = 0, got;
	while ((got = region_read(&r, log->job_text + used, (size_t)(CONTAINER_JOB_MAX - used), err)) > 0)
		used += got;
	log->container.compression = compression_of(&r);
	region_close(&r);
	if (got < 0 && used < JOB_MIN)
		return (int)got;
	code = read_version(log, &form, err);
	if (code >= 0 && used < form->total)
		code = log_fail(err, LOG_E_TRUNCATED, log->source.size, "log ends in the job record");
	if (code < 0)
		return code;
	read_numbers(log);
	log->job_read = true;
	return read_texts(log, form, err);
}

/* ---- records ---- */

static const struct schema_map *map_of(int module)
{
	for (const struct schema_map *m = schema_maps; m->ncopies; m++)
		if (m->module == module)
			return m;
	return NULL;
}

static const struct schema_history *history_of(int version)
{
	for (const struct schema_history *h = schema_cp.history; h->version; h++)
		if (h->version == (uint32_t)version)
			return h;
	return NULL;
}

static int skip(struct log_records *r, size_t n, struct log_error *err)
{
	int code = decode_need(r, n, err);
	if (code > 0)
		r->at += n;
	return code < 0 ? code : LOG_OK;
}

static int old_records(struct log_records *r, struct log_error *err)
{
	r->schema = &schema_cp;
	r->history = history_of(r->log->old->version);
	r->stored_size = convert_stored_size(r->schema, r->history);
	r->nprocs = r->log->job.nprocs;
	r->cp = log_alloc(2 * sizeof(struct cp_record));
	if (!r->cp)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = decode_room(r, r->map ? schema_modules[r->map->module].size : r->schema->size, err);
	if (code >= 0)
		code = open_stream(r->log, &r->region, err);
	return code < 0 ? code : skip(r, r->log->old->job_size, err);
}

/* A record of 1.x in the order of 2.x: a rank of eight bytes, and the name before the counters. */
static const uint8_t *in_order(const struct log_records *r, const uint8_t *stored)
{
	if (!is_first(r->log->old))
		return stored;
	uint8_t *to = r->cp + sizeof(struct cp_record);
	size_t counters = r->stored_size - 32;
	int32_t rank;
	memcpy(&rank, stored + 8, sizeof rank);
	if (r->log->container.swapped)
		rank = (int32_t)__builtin_bswap32((uint32_t)rank);
	int64_t whole = rank;
	container_swap(&r->log->container, &whole, 1);
	memset(to, 0, sizeof(struct cp_record));
	memcpy(to, stored, 8);
	memcpy(to + 8, &whole, sizeof whole);
	memcpy(to + 16, stored + 16 + counters, 12);
	memcpy(to + 32, stored + 16, counters);
	return to;
}

static bool applies(const struct schema_map *m, const uint8_t *cp)
{
	for (int i = 0; i < m->nwhen; i++)
		if (decode_i64(cp, &schema_cp.fields[m->when[i]]))
			return true;
	return false;
}

/* What was not measured, for readers that do not ask (log_record_has). */
static void fill_missing(const struct schema_module *m, uint8_t *record)
{
	static const int64_t missing = -1;
	memset(record, 0, m->size);
	for (uint32_t i = 0; i < m->nfields; i++)
		for (int k = 0; k < m->fields[i].count && m->fields[i].reduce == REDUCE_SUM_OR_MISSING; k++)
			memcpy(record + m->fields[i].offset + 8 * k, &missing, sizeof missing);
}

static bool is_second(const struct schema_map *m, int i)
{
	for (int k = 0; k < i; k++)
		if (m->copies[k].to == m->copies[i].to)
			return true;
	return false;
}

/* Time of day in logs before 2.03. */
static void make_relative(const struct log *log, const struct schema_field *f, uint8_t *at)
{
	double t;
	memcpy(&t, at, sizeof t);
	if (log->job.start < EPOCH || t < (double)log->job.start || !strstr(f->name, "_timestamp"))
		return;
	t -= (double)log->job.start;
	memcpy(at, &t, sizeof t);
}

static void make_record(const struct log_records *r, uint8_t *record)
{
	const struct schema_map *m = r->map;
	const struct schema_module *module = &schema_modules[m->module];
	fill_missing(module, record);
	memcpy(record, r->cp, 16);
	for (int i = 0; i < m->ncopies; i++) {
		const struct schema_field *to = &module->fields[m->copies[i].to];
		const struct schema_field *from = &schema_cp.fields[m->copies[i].from];
		uint64_t sum;
		if (is_second(m, i)) {
			memcpy(&sum, record + to->offset, sizeof sum);
			sum += (uint64_t)decode_i64(r->cp, from);
			memcpy(record + to->offset, &sum, sizeof sum);
			continue;
		}
		memcpy(record + to->offset, r->cp + from->offset, 8u * to->count);
		if (to->type == FIELD_F64)
			make_relative(r->log, to, record + to->offset);
	}
}

static int old_next(struct log_records *r, struct log_record *out, struct log_error *err)
{
	for (;;) {
		int code = decode_need(r, r->stored_size, err);
		if (code <= 0)
			return code;
		convert_record(r, in_order(r, r->buffer + r->at), r->cp);
		decode_take(r, r->stored_size);
		out->data = r->cp;
		out->size = sizeof(struct cp_record);
		if (!r->map)
			return 1;
		if (!applies(r->map, r->cp))
			continue;
		make_record(r, r->record);
		out->data = r->record;
		out->size = schema_modules[r->map->module].size;
		return 1;
	}
}

/* ---- what is in the log ---- */

const struct log_old_mount *log_old_mount_of(const struct log *log, const struct cp_record *cp)
{
	for (size_t i = 0; i < log->old->nmounts; i++)
		if (log->old->mounts[i].device == cp->device)
			return &log->old->mounts[i];
	return NULL;
}

/* In the form of names of 3.x: id in the log's byte order, text, NUL. */
static int add_name(struct log *log, const struct cp_record *cp)
{
	const struct log_old_mount *m = log_old_mount_of(log, cp);
	const char *point = m ? m->mount.key : "";
	size_t n = strlen(point);
	uint64_t id = container_u64(&log->container, &cp->id);
	int code = log_bytes_add(&log->names_text, &id, sizeof id);
	if (code >= 0 && !cp->id)
		return log_bytes_add(&log->names_text, "<all other files>", 18);
	if (code >= 0)
		code = log_bytes_add(&log->names_text, point, n);
	if (code >= 0 && n && point[n - 1] != '/')
		code = log_bytes_add(&log->names_text, "/", 1);
	if (code >= 0)
		code = log_bytes_add(&log->names_text, "...", 3);
	if (code >= 0)
		code = log_bytes_add(&log->names_text, cp->name_suffix, strnlen(cp->name_suffix, 16));
	return code < 0 ? code : log_bytes_add(&log->names_text, "", 1);
}

static int count_record(struct log *log, const struct cp_record *cp, struct log_error *err)
{
	for (const struct schema_map *m = schema_maps; m->ncopies; m++)
		if (applies(m, (const uint8_t *)cp))
			log->container.module[m->module].length += schema_modules[m->module].size;
	if (add_name(log, cp) < 0 || log->names_text.used > NAMED)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return LOG_OK;
}

/*
 * Names, and which modules have records. Damage is reported with the names, which are those of the records before it: a log
 * that has none left would be an empty one.
 */
static int survey(struct log *log, struct log_error *err)
{
	struct log_records *records;
	struct log_record one;
	int code = log_old_records_open(&records, log, err), more = 0;
	if (code == LOG_E_TRUNCATED || code == LOG_E_DAMAGED) {
		log->names_error = *err;
		code = LOG_OK;
	}
	while (code >= 0 && records && (more = log_records_next(records, &one, &log->names_error)) > 0) {
		struct cp_record cp;
		memcpy(&cp, one.data, sizeof cp);
		code = count_record(log, &cp, err);
	}
	log_records_close(records);
	for (const struct schema_map *m = schema_maps; m->ncopies; m++)
		log->container.module_version[m->module] = schema_modules[m->module].version;
	return code < 0 ? code : LOG_OK;
}

static int old_open(struct log *log, struct log_error *err)
{
	log->container = (struct log_container){.file_size = log->source.size};
	log->old = log_alloc(sizeof *log->old);
	if (!log->old)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = read_job(log, err);
	if (code < 0)
		return code;
	log->container.header_size = log->old->job_size;
	return survey(log, err);
}

int log_old_version(const struct log *log)
{
	return log->old ? log->old->version : 0;
}

const struct log_old_mount *log_old_mounts(const struct log *log, size_t *n)
{
	*n = log->old->nmounts;
	return log->old->mounts;
}

void log_enable_old(void)
{
	static const struct old_reader reader = {old_records, old_next, map_of};
	old_reader = &reader;
	log_open_older = old_open;
}
