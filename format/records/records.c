#include "accesses.h"
#include "old.h"
#include "missing.h"

const struct old_reader *old_reader;

enum { BUFFER_SIZE = 262144, PLAIN_SIZE = 65536 };

static const struct schema_history *find_history(const struct schema_module *m, uint32_t version)
{
	for (const struct schema_history *h = m->history; h && h->version; h++)
		if (h->version == version)
			return h;
	return NULL;
}

static int choose_layout(struct log_records *r, int module, struct log_error *err)
{
	const struct log_container *c = &r->log->container;
	uint32_t version = c->module_version[module];
	r->schema = module < LOG_MOD_COUNT ? &schema_modules[module] : NULL;
	if (!r->schema || !r->schema->version)
		return log_fail(err, LOG_E_UNSUPPORTED, c->module[module].offset,
				"records of this module are not decoded by this version");
	if (!version && c->module[module].length)
		return log_fail(err, LOG_E_DAMAGED, c->module[module].offset, "records of version 0");
	r->history = find_history(r->schema, version);
	if (version > r->schema->version || (version && version < r->schema->version && !r->history))
		return log_fail(err, LOG_E_UNSUPPORTED, c->module[module].offset, "records of an unknown version");
	r->stored_size = convert_stored_size(r->schema, r->history);
	r->verbatim = convert_is_verbatim(r);
	return LOG_OK;
}

static int make_buffer(struct log_records *r, struct log_error *err)
{
	r->room = r->log->container.compression == LOG_PLAIN ? PLAIN_SIZE : BUFFER_SIZE;
	r->buffer = log_memory.alloc(r->room);
	return r->buffer ? LOG_OK : log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
}

static int make_buffers(struct log_records *r, struct log_error *err)
{
	int code = make_buffer(r, err);
	if (code < 0)
		return code;
	return r->history || r->schema->layout != LAYOUT_PLAIN ? decode_room(r, r->schema->size, err) : LOG_OK;
}

static int open_old(struct log_records *r, int module, struct log_error *err)
{
	r->schema = module < LOG_MOD_COUNT ? &schema_modules[module] : NULL;
	r->map = old_reader->map_of(module);
	if (!r->schema || !r->schema->version)
		return log_fail(err, LOG_E_UNSUPPORTED, LOG_NOWHERE,
				"records of this module are not decoded by this version");
	int code = make_buffer(r, err);
	return code < 0 || !r->map ? code : old_reader->records(r, err);
}

static int open_region(struct log_records *r, int module, struct log_error *err)
{
	const struct log *log = r->log;
	int code = choose_layout(r, module, err);
	if (code >= 0)
		code = make_buffers(r, err);
	if (code >= 0)
		code = region_open(&r->region, &log->container, &log->source, &log->container.module[module], err);
	return code;
}

static int open_records(struct log_records *r, int module, struct log_error *err)
{
	if (r->log->old)
		return open_old(r, module, err);
	struct log *log = (struct log *)r->log;
	const struct log_job *job;
	r->missing = missing_of(log);
	int code = log->container.accesses[module].length ? traced_open(r, module, err) : open_region(r, module, err);
	if (code >= 0 && log_job(log, &job, NULL) >= 0)
		r->nprocs = job->nprocs;
	return code;
}

int log_records_open(struct log_records **out, struct log *log, int module, struct log_error *err)
{
	*out = NULL;
	if (module < 0 || module >= LOG_MAX_MODULES)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no such module");
	struct log_records *r = log_alloc(sizeof *r);
	if (!r)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	r->log = log;
	int code = open_records(r, module, err);
	if (code < 0)
		log_records_close(r);
	else
		*out = r;
	return code;
}

void log_records_close(struct log_records *r)
{
	if (!r)
		return;
	region_close(&r->region);
	access_reader_close(r->accesses);
	log_free(r->buffer);
	log_free(r->record);
	log_free(r->header);
	log_free(r->cp);
	log_free(r);
}

int log_old_records_open(struct log_records **out, struct log *log, struct log_error *err)
{
	*out = NULL;
	if (!log->old)
		return log_fail(err, LOG_E_USAGE, LOG_NOWHERE, "no log of Darshan 1.x or 2.x");
	struct log_records *r = log_alloc(sizeof *r);
	if (!r)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	r->log = log;
	int code = make_buffer(r, err);
	if (code >= 0)
		code = old_reader->records(r, err);
	if (code < 0)
		log_records_close(r);
	else
		*out = r;
	return code;
}

uint64_t log_records_bytes(const struct log_records *r)
{
	return r->uncompressed;
}

static int next_plain(struct log_records *r, struct log_record *out, struct log_error *err)
{
	for (;;) {
		int code = decode_need(r, r->stored_size, err);
		if (code <= 0)
			return code;
		uint8_t *stored = r->buffer + r->at;
		decode_take(r, r->stored_size);
		out->data = r->history ? r->record : stored;
		out->size = r->schema->size;
		if (r->verbatim || convert_record(r, stored, r->history ? r->record : stored))
			return 1;
	}
}

/* ---- header of a region ---- */

static int read_header(struct log_records *r, struct log_error *err)
{
	const struct schema_module *h = r->schema->header;
	int code = decode_need(r, h->size, err);
	if (code <= 0)
		return code;
	r->header = log_alloc(h->size);
	if (!r->header)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	memcpy(r->header, r->buffer + r->at, h->size);
	container_swap(&r->log->container, r->header, 2);
	convert_to_native(&r->log->container, h->fields, h->nfields, r->header);
	decode_take(r, h->size);
	if (decode_i64(r->header, &h->fields[0]) == h->magic)
		return 1;
	log_free(r->header);
	r->header = NULL;
	return log_fail(err, LOG_E_DAMAGED, r->region.at, r->schema->name, " region does not begin with its mark");
}

int log_records_header(struct log_records *r, struct log_record *out, struct log_error *err)
{
	if (!r->schema->header || r->log->old)
		return 0;
	int code = r->header ? 1 : read_header(r, err);
	if (code <= 0)
		return code;
	*out = (struct log_record){
		.schema = r->schema->header, .data = r->header, .size = r->schema->header->size, .header = r->header};
	memcpy(&out->id, r->header, 8);
	memcpy(&out->rank, r->header + 8, 8);
	return 1;
}

bool log_records_have(struct log_records *r, const struct schema_field *f)
{
	struct log_record one = {.schema = r->schema, .history = r->history, .map = r->map, .missing = r->missing};
	struct log_record header;
	if (r->map)
		one.schema = &schema_modules[r->map->module];
	if (log_records_header(r, &header, NULL) > 0)
		one.header = header.data;
	return log_record_has(&one, f);
}

static int next_headed(struct log_records *r, struct log_record *out, struct log_error *err)
{
	if (!r->header) {
		int code = read_header(r, err);
		if (code <= 0)
			return code;
	}
	return next_plain(r, out, err);
}

static int next_any(struct log_records *r, struct log_record *out, struct log_error *err)
{
	if (r->log->old)
		return r->cp ? old_reader->next(r, out, err) : 0;
	if (r->accesses)
		return traced_next(r, out, err);
	switch (r->schema->layout) {
	case LAYOUT_HEATMAP:
		return arrays_next_heatmap(r, out, err);
	case LAYOUT_LUSTRE:
	case LAYOUT_COUNTED:
		return arrays_next(r, out, err);
	case LAYOUT_DXT:
		return arrays_next_traced(r, out, err);
	case LAYOUT_HEADED:
		return next_headed(r, out, err);
	default:
		return next_plain(r, out, err);
	}
}

int log_records_next(struct log_records *r, struct log_record *out, struct log_error *err)
{
	int code = next_any(r, out, err);
	if (code <= 0)
		return code;
	out->schema = r->map ? &schema_modules[r->map->module] : r->schema;
	out->history = r->history;
	out->header = r->header;
	out->map = r->map;
	out->missing = r->missing;
	memcpy(&out->id, out->data, 8);
	memcpy(&out->rank, (const uint8_t *)out->data + 8, 8);
	if (out->rank < -1 || (r->nprocs > 0 && out->rank >= r->nprocs))
		return log_fail(err, LOG_E_DAMAGED, r->region.at, "record of a rank that the job does not have");
	return 1;
}
