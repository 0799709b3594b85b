/* Records of traces out of what a log keeps of accesses in its trailer. */
#include "accesses.h"
#include "decode.h"
#include "trailer.h"

enum { PLACES_MAX = 64, UNPACKED = 8 /* what an access counts for in log_records_bytes: it takes one byte or more */ };

/* ---- which there are ---- */

static int module_named(const struct trailer_table *t, uint64_t row, const struct trailer_field *f)
{
	size_t n;
	const char *name = f && f->type == TRAILER_STR ? trailer_text(t, row, f, 0, &n) : (n = 0, "");
	int module = LOG_MOD_COUNT - 1;
	while (module >= 0 &&
	       (schema_modules[module].layout != LAYOUT_DXT || strlen(schema_modules[module].name) != n ||
		memcmp(schema_modules[module].name, name, n) != 0))
		module--;
	return module;
}

static void add_place(struct log_container *c, int module, struct log_region area, bool incomplete)
{
	c->partial |= (uint64_t)(incomplete && module >= LOG_OWN_MODULES) << module;
	if (!area.length)
		return;
	c->accesses[module] = area;
	if (c->module[module].length)
		return;
	c->module[module] = area;
	c->module_version[module] = schema_modules[module].version;
}

static void read_places(struct log_container *c, const struct trailer_table *t)
{
	const struct trailer_field *name = trailer_field(t, "module"), *offset = trailer_field(t, "offset"),
				   *stored = trailer_field(t, "stored"), *incomplete = trailer_field(t, "incomplete");
	for (uint64_t row = 0; row < trailer_rows(t); row++) {
		int module = module_named(t, row, name);
		struct log_region area = {(uint64_t)trailer_i64(t, row, offset, 0),
					  (uint64_t)trailer_i64(t, row, stored, 0)};
		if (module >= 0)
			add_place(c, module, area, trailer_i64(t, row, incomplete, 0));
	}
}

/* The commands that show a damaged trailer report it. */
static void find_accesses(struct log *log)
{
	struct trailer *trailer;
	struct trailer_table *t = NULL;
	if (trailer_open(&trailer, log, NULL) < 0 || !trailer)
		return;
	const struct trailer_entry *e = trailer_entry_named(trailer, ACCESS_SECTION);
	if (e && e->flags & TRAILER_COMPACT && e->rows <= PLACES_MAX)
		trailer_find(trailer, ACCESS_SECTION, &t, NULL);
	if (t)
		read_places(&log->container, t);
	trailer_free(t);
	trailer_close(trailer);
}

void log_enable_accesses(void)
{
	log_find_accesses = find_accesses;
}

/* ---- their records ---- */

int traced_open(struct log_records *r, int module, struct log_error *err)
{
	const struct log_region *area = &r->log->container.accesses[module];
	r->schema = &schema_modules[module];
	r->stored_size = r->schema->size;
	int code = decode_room(r, r->schema->size, err);
	return code < 0 ? code : access_reader_open(&r->accesses, &r->log->source, area->offset, area->length, err);
}

int traced_next(struct log_records *r, struct log_record *out, struct log_error *err)
{
	struct access_head head;
	int code = access_next_record(r->accesses, &head, err);
	if (code <= 0)
		return code;
	struct dxt_posix_record record = {.id = head.id,
					  .rank = head.rank,
					  .writes = (int64_t)head.count[ACCESS_WRITES],
					  .reads = (int64_t)head.count[ACCESS_READS]};
	memcpy(record.hostname, head.host, sizeof record.hostname);
	memcpy(r->record, &record, sizeof record);
	r->uncompressed += sizeof record;
	out->data = r->record;
	out->size = sizeof record;
	return 1;
}

int64_t traced_segments(struct log_records *r, struct log_segment *out, size_t n, struct log_error *err)
{
	enum { AT_ONCE = 256 };
	struct logged_access some[AT_ONCE];
	enum access_kind kind;
	int64_t got = access_next(r->accesses, &kind, some, n < AT_ONCE ? n : AT_ONCE, err);
	for (int64_t i = 0; i < got; i++)
		out[i] = (struct log_segment){some[i].offset,
					      some[i].length,
					      (double)some[i].start / ACCESS_RATE,
					      (double)some[i].end / ACCESS_RATE,
					      some[i].thread,
					      kind == ACCESS_WRITES};
	r->uncompressed += got > 0 ? UNPACKED * (uint64_t)got : 0;
	return got;
}
