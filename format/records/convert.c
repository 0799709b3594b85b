/* Old layouts and the other byte order: every record is handed out as the current version of its module, native. */
#include "missing.h"
#include "decode.h"

static size_t bytes_of(const struct schema_field *f)
{
	return 8u * f->count;
}

static const struct schema_fill *find_fill(const struct schema_fill *fills, int n, int field)
{
	for (int i = 0; i < n; i++)
		if (fills[i].field == field)
			return &fills[i];
	return NULL;
}

size_t convert_stored_size(const struct schema_module *m, const struct schema_history *h)
{
	size_t size = m->size;
	for (int i = 0; h && i < h->nmissing; i++)
		size -= bytes_of(&m->fields[h->missing[i].field]);
	return h ? size + 8u * h->extra_count : size;
}

size_t convert_element_size(const struct schema_element *e, const struct schema_history *h)
{
	size_t size = e->size;
	for (int i = 0; h && i < h->nmembers; i++)
		if (!h->members[i].stored)
			size -= bytes_of(&e->fields[h->members[i].field]);
	return size;
}

static bool has_u32(const struct schema_module *m)
{
	for (uint32_t i = 0; i < m->nfields; i++)
		if (m->fields[i].type == FIELD_U32)
			return true;
	return false;
}

bool convert_is_verbatim(const struct log_records *r)
{
	return !r->history && !r->log->container.swapped && !has_u32(r->schema);
}

static void field_to_native(const struct log_container *c, const struct schema_field *f, uint8_t *at)
{
	uint32_t half;
	if (f->type == FIELD_TEXT || f->type == FIELD_UUID)
		return;
	if (f->type != FIELD_U32) {
		container_swap(c, at, f->count);
		return;
	}
	memcpy(&half, at, sizeof half);
	uint64_t whole = c->swapped ? __builtin_bswap32(half) : half;
	memcpy(at, &whole, sizeof whole);
}

void convert_to_native(const struct log_container *c, const struct schema_field *fields, uint32_t n, uint8_t *record)
{
	for (uint32_t i = 0; i < n; i++)
		field_to_native(c, &fields[i], record + fields[i].offset);
}

static void fill(const struct log_records *r, const struct schema_field *f, const struct schema_fill *absent,
		 uint8_t *at)
{
	int64_t value = absent->extra >= 0 ? r->extra[absent->extra] : absent->value;
	double d = (double)value;
	for (int i = 0; i < f->count; i++)
		memcpy(at + 8 * i, f->type == FIELD_F64 ? (void *)&d : (void *)&value, 8);
}

static const uint8_t *take_extra(struct log_records *r, const uint8_t *at)
{
	size_t n = r->history->extra_count;
	memcpy(r->extra, at, 8 * n);
	container_swap(&r->log->container, r->extra, n);
	return at + 8 * n;
}

static void add_extra(const struct log_records *r, uint8_t *now)
{
	const struct schema_history *h = r->history;
	uint8_t *at = now + r->schema->fields[h->add_to].offset;
	uint64_t sum;
	memcpy(&sum, at, sizeof sum);
	for (int i = 0; i < h->extra_count; i++)
		sum += (uint64_t)r->extra[i];
	memcpy(at, &sum, sizeof sum);
}

static void convert_old(struct log_records *r, const uint8_t *at, uint8_t *now)
{
	const struct schema_module *m = r->schema;
	const struct schema_history *h = r->history;
	memcpy(now, at, 16);
	at += 16;
	if (h->extra_after < 0)
		at = take_extra(r, at);
	for (int i = 0; i < (int)m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		const struct schema_fill *absent = find_fill(h->missing, h->nmissing, i);
		if (absent) {
			fill(r, f, absent, now + f->offset);
			continue;
		}
		memcpy(now + f->offset, at, bytes_of(f));
		field_to_native(&r->log->container, f, now + f->offset);
		at += bytes_of(f);
		if (i == h->extra_after)
			at = take_extra(r, at);
	}
	if (h->add_to >= 0)
		add_extra(r, now);
}

bool convert_record(struct log_records *r, const uint8_t *stored, uint8_t *now)
{
	const struct schema_history *h = r->history;
	if (h) {
		convert_old(r, stored, now);
	} else {
		if (now != stored)
			memcpy(now, stored, r->stored_size);
		convert_to_native(&r->log->container, r->schema->fields, r->schema->nfields, now);
	}
	container_swap(&r->log->container, now, 2);
	return !h || !h->drop_if_used || r->extra[0] <= 0;
}

void convert_element(const struct log_records *r, const struct schema_element *e, const uint8_t *stored, uint8_t *now)
{
	const struct schema_history *h = r->history;
	for (int i = 0; i < e->nfields; i++) {
		const struct schema_field *f = &e->fields[i];
		const struct schema_fill *absent = h ? find_fill(h->members, h->nmembers, i) : NULL;
		if (!absent || absent->stored) {
			memcpy(now + f->offset, stored, bytes_of(f));
			field_to_native(&r->log->container, f, now + f->offset);
			stored += bytes_of(f);
		}
		if (absent)
			fill(r, f, absent, now + f->offset);
	}
}

/* ---- what a record does not have ---- */

static bool is_within(const struct schema_field *f, const struct schema_field *fields, uint32_t n)
{
	return f >= fields && f < fields + n;
}

static const struct schema_fill *find_absent(const struct schema_module *m, const struct schema_history *h,
					     const struct schema_field *f)
{
	if (is_within(f, m->fields, m->nfields))
		return find_fill(h->missing, h->nmissing, (int)(f - m->fields));
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_element *e = m->fields[i].element;
		if (e && is_within(f, e->fields, e->nfields))
			return find_fill(h->members, h->nmembers, (int)(f - e->fields));
	}
	return NULL;
}

/* The length of an array is known even where the layout left no choice. */
static bool is_length(const struct schema_module *m, const struct schema_field *f)
{
	for (uint32_t i = 0; i < m->nfields; i++)
		if (m->fields[i].length >= 0 && &m->fields[m->fields[i].length] == f)
			return true;
	return false;
}

/* A record made from an old one has what that one had. */
static bool map_has(const struct log_record *r, int field)
{
	for (int i = 0; i < r->map->ncopies; i++)
		if (r->map->copies[i].to == field)
			return !r->history ||
			       !find_fill(r->history->missing, r->history->nmissing, r->map->copies[i].from);
	return false;
}

static bool is_missing(const struct log_missing *u, const struct schema_field *f)
{
	for (size_t i = 0; u && i < u->n; i++)
		if (u->field[i] == f)
			return true;
	return false;
}

bool log_counted(struct log *log, const struct schema_field *f)
{
	return !is_missing(missing_of(log), f);
}

bool log_record_has(const struct log_record *r, const struct schema_field *f)
{
	if (is_missing(r->missing, f))
		return false;
	if (r->map)
		return map_has(r, (int)(f - r->schema->fields));
	const struct schema_module *head = r->schema->header ? r->schema->header : r->schema;
	const struct schema_fill *absent = r->history ? find_absent(r->schema, r->history, f) : NULL;
	if (absent && absent->extra < 0 && !is_length(r->schema, f))
		return false;
	return f->valid_if < 0 || !r->header || decode_i64(r->header, &head->fields[f->valid_if]) != 0;
}
