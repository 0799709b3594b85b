/* Fields and records. A field of structs in an array has its members as fields: component.stripe_size. */
#include <stdio.h>

#include "api/handle.h"

/* Where a field's values are. */
struct place {
	const struct schema_field *field;  /* of the record */
	const struct schema_field *member; /* of the elements of that field; NULL = the field itself */
	size_t element;                    /* that a name stands for */
	bool one_element;
};

static const struct schema_module *module_of(int module)
{
	bool known = module >= 0 && module < LOG_MOD_COUNT && schema_modules[module].version;
	return known ? &schema_modules[module] : NULL;
}

static bool place_at(const struct schema_module *m, size_t i, struct place *p)
{
	for (uint32_t k = 0; m && k < m->nfields; k++) {
		const struct schema_field *f = &m->fields[k];
		size_t n = f->element ? f->element->nfields : 1;
		if (i < n) {
			*p = (struct place){.field = f, .member = f->element ? &f->element->fields[i] : NULL};
			return true;
		}
		i -= n;
	}
	return false;
}

static void name_of(const struct place *p, char *out, size_t room)
{
	snprintf(out, room, "%s%s%s", p->field->name, p->member ? "." : "", p->member ? p->member->name : "");
}

static bool is_bytes(const struct schema_field *f)
{
	return f->type == FIELD_TEXT || f->type == FIELD_UUID;
}

/* By the name of one of its elements. */
static bool has_label(const struct schema_field *f, const char *name, size_t *element)
{
	for (int i = 0; i < f->nlabels && f->count && !is_bytes(f); i++)
		if (!strcmp(f->labels[i].darshan, name) || !strcmp(f->labels[i].name, name)) {
			*element = (size_t)i;
			return true;
		}
	return false;
}

static int find_field(int module, const char *name, struct place *p)
{
	char own[128];
	const struct schema_module *m = module_of(module);
	for (int i = 0; name && place_at(m, (size_t)i, p); i++) {
		name_of(p, own, sizeof own);
		if (!strcmp(own, name))
			return i;
	}
	for (int i = 0; name && place_at(m, (size_t)i, p); i++)
		if (!p->member && has_label(p->field, name, &p->element)) {
			p->one_element = true;
			return i;
		}
	return -1;
}

EXPORT int iolens_field_number(int module, const char *name)
{
	struct place p;
	return find_field(module, name, &p);
}

/* Fields of a module with structs in arrays, at most. */
enum { MEMBERS = 32 };

EXPORT int iolens_field(int module, size_t i, struct iolens_field *out, size_t size)
{
	static const int32_t types[] = {
		[FIELD_I64] = IOLENS_I64, [FIELD_U64] = IOLENS_U64,   [FIELD_F64] = IOLENS_F64,
		[FIELD_U32] = IOLENS_U64, [FIELD_TEXT] = IOLENS_TEXT, [FIELD_UUID] = IOLENS_BYTES,
	};
	static char names[LOG_MOD_COUNT][MEMBERS][64]; /* every writer puts the same */
	struct place p;
	if (!place_at(module_of(module), i, &p) || (p.member && i >= MEMBERS))
		return 0;
	const struct schema_field *f = p.member ? p.member : p.field;
	if (p.member)
		name_of(&p, names[module][i], sizeof names[module][i]);
	struct iolens_field made = {
		.name = p.member ? names[module][i] : f->name,
		.darshan = f->nlabels ? f->labels[0].darshan : NULL,
		.unit = f->unit,
		.doc = f->doc,
		.type = types[f->type],
		.count = p.member      ? 0
			 : is_bytes(f) ? 8u * f->count
				       : f->count,
	};
	handle_fill(out, size, &made, sizeof made);
	return 1;
}

/* ---- records ---- */

EXPORT iolens_records *iolens_records_open(iolens_log *log, int module)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	if (!log || !log->log)
		return NULL;
	iolens_records *r = log_alloc(sizeof *r);
	if (!r) {
		handle_failed(log, LOG_E_MEMORY, NULL);
		return NULL;
	}
	r->owner = log;
	r->module = module;
	if (handle_failed(log, log_records_open(&r->reader, log->log, module, &err), &err) >= 0)
		return r;
	log_free(r);
	return NULL;
}

EXPORT void iolens_records_close(iolens_records *r)
{
	if (!r)
		return;
	log_records_close(r->reader);
	log_free(r);
}

EXPORT int iolens_next(iolens_records *r)
{
	struct log_error err = {.offset = LOG_NOWHERE};
	if (!r)
		return 0;
	int code = log_records_next(r->reader, &r->record, &err);
	r->at_one = code > 0;
	return handle_failed(r->owner, code, &err);
}

EXPORT uint64_t iolens_id(const iolens_records *r)
{
	return r && r->at_one ? r->record.id : 0;
}

EXPORT int64_t iolens_rank(const iolens_records *r)
{
	return r && r->at_one ? r->record.rank : 0;
}

/* ---- values of a record ---- */

/* Bytes of the element; NULL = there is none. */
static const uint8_t *value_at(const iolens_records *r, const struct place *p, size_t element, size_t *length)
{
	const struct schema_field *f = p->member ? p->member : p->field;
	size_t n = is_bytes(f) ? 1 : p->field->count, step = 8, offset = 0;
	const uint8_t *at = (const uint8_t *)r->record.data + p->field->offset;
	if (!p->field->count) {
		at = log_record_array(&r->record, p->field, &n);
		step = p->member ? p->field->element->size : 8;
		offset = p->member ? p->member->offset : 0;
	}
	*length = is_bytes(f) ? 8u * f->count : 8;
	return at && element < n ? at + element * step + offset : NULL;
}

static int number_at(const iolens_records *r, const struct place *p, size_t element, int64_t *i, double *d)
{
	const struct schema_field *f = p->member ? p->member : p->field;
	size_t length;
	const uint8_t *at = is_bytes(f) ? NULL : value_at(r, p, element, &length);
	int64_t whole;
	double real;
	if (!at)
		return IOLENS_E_USAGE;
	memcpy(&whole, at, sizeof whole);
	memcpy(&real, at, sizeof real);
	if (f->type == FIELD_F64)
		whole = real >= -9e18 && real <= 9e18 ? (int64_t)real : 0;
	else
		real = f->type == FIELD_I64 ? (double)whole : (double)(uint64_t)whole;
	if (i)
		*i = whole;
	if (d)
		*d = real;
	return log_record_has(&r->record, f);
}

static int by_name(const iolens_records *r, const char *name, size_t element, int64_t *i, double *d)
{
	struct place p = {0};
	if (!r || !r->at_one || find_field(r->module, name, &p) < 0 || (p.one_element && element))
		return IOLENS_E_USAGE;
	return number_at(r, &p, p.one_element ? p.element : element, i, d);
}

static int by_number(const iolens_records *r, int field, size_t element, int64_t *i, double *d)
{
	struct place p;
	if (!r || !r->at_one || field < 0 || !place_at(module_of(r->module), (size_t)field, &p))
		return IOLENS_E_USAGE;
	return number_at(r, &p, element, i, d);
}

EXPORT int iolens_get_i64(const iolens_records *r, const char *name, size_t element, int64_t *out)
{
	return by_name(r, name, element, out, NULL);
}

EXPORT int iolens_get_f64(const iolens_records *r, const char *name, size_t element, double *out)
{
	return by_name(r, name, element, NULL, out);
}

EXPORT int iolens_field_i64(const iolens_records *r, int field, size_t element, int64_t *out)
{
	return by_number(r, field, element, out, NULL);
}

EXPORT int iolens_field_f64(const iolens_records *r, int field, size_t element, double *out)
{
	return by_number(r, field, element, NULL, out);
}

EXPORT size_t iolens_elements(const iolens_records *r, int field)
{
	struct place p;
	size_t n = 0;
	if (!r || !r->at_one || field < 0 || !place_at(module_of(r->module), (size_t)field, &p))
		return 0;
	if (p.field->count)
		return is_bytes(p.field) ? 1 : p.field->count;
	log_record_array(&r->record, p.field, &n);
	return n;
}

EXPORT const char *iolens_field_text(const iolens_records *r, int field, size_t element, size_t *length)
{
	struct place p;
	if (!r || !r->at_one || field < 0 || !place_at(module_of(r->module), (size_t)field, &p))
		return NULL;
	const struct schema_field *f = p.member ? p.member : p.field;
	const char *at = is_bytes(f) ? (const char *)value_at(r, &p, element, length) : NULL;
	if (at && f->type == FIELD_TEXT)
		*length = strnlen(at, *length);
	return at;
}

EXPORT int64_t iolens_segments(iolens_records *r, struct iolens_segment *out, size_t size, size_t n)
{
	enum { AT_ONCE = 256 };
	struct log_segment batch[AT_ONCE];
	struct log_error err = {.offset = LOG_NOWHERE};
	size_t done = 0;
	int64_t got = 1;
	if (!r || !r->at_one || r->record.schema->layout != LAYOUT_DXT)
		return 0;
	while (done < n && got > 0) {
		got = log_segments_next(r->reader, batch, n - done < AT_ONCE ? n - done : AT_ONCE, &err);
		for (int64_t i = 0; i < got; i++, done++) {
			struct iolens_segment s = {batch[i].offset, batch[i].length, batch[i].start,
						   batch[i].end,    batch[i].thread, batch[i].is_write};
			handle_fill((uint8_t *)out + done * size, size, &s, sizeof s);
		}
	}
	return got < 0 ? handle_failed(r->owner, (int)got, &err) : (int64_t)done;
}

EXPORT int iolens_heatmap(const iolens_records *r, double *width, size_t *bins, const int64_t **written,
			  const int64_t **read)
{
	struct heatmap_record h;
	if (!r || !r->at_one || r->record.schema->layout != LAYOUT_HEATMAP)
		return 0;
	memcpy(&h, r->record.data, sizeof h);
	*width = h.bin_width_seconds;
	*bins = (size_t)h.nbins;
	*written = (const int64_t *)((const uint8_t *)r->record.data + sizeof h);
	*read = *written + h.nbins;
	return 1;
}
