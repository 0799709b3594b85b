#include "trace_reader.h"

#include <string.h>

#include "alloc.h"
#include "descriptor.h"
#include "reader.h"

struct trace_place {
	uint64_t file;
	uint64_t offset; /* of the chunk's items in the source */
	uint32_t used;
	uint32_t sequence;
	uint16_t interface;
	uint16_t thread;
	int64_t began;
};

/* ---- which chunks there are ---- */

static bool is_chunk(const struct trace_chunk *c, uint64_t room)
{
	return c->size >= TRACE_ALIGN && c->size <= TRACE_MOST && c->size % TRACE_ALIGN == 0 && c->size <= room &&
	       c->used <= c->size - sizeof *c && c->interface < TRACE_COUNT;
}

static int add_place(struct log_bytes *places, const struct trace_chunk *c, uint64_t at)
{
	struct trace_place p = {c->file, at + sizeof *c, c->used, c->sequence, c->interface, c->thread, c->began};
	return c->used ? log_bytes_add(places, &p, sizeof p) : 0;
}

static int list_places(struct traces *t, uint64_t length, struct log_error *err)
{
	struct log_bytes places = {0};
	struct trace_chunk c;
	int code = 0;
	for (uint64_t at = 0; code >= 0 && length - at >= sizeof c; at += c.size) {
		code = source_read(t->source, t->offset + at, &c, sizeof c, err);
		if (code < 0 || !is_chunk(&c, length - at))
			break;
		if ((code = add_place(&places, &c, t->offset + at)) < 0)
			log_fail(err, code, LOG_NOWHERE, "not enough memory");
	}
	t->places = (struct trace_place *)places.at;
	t->nplaces = places.used / sizeof *t->places;
	return code;
}

static int by_file(const void *x, const void *y)
{
	const struct trace_place *a = x, *b = y;
	if (a->interface != b->interface)
		return a->interface < b->interface ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static bool same_file(const struct trace_place *a, const struct trace_place *b)
{
	return a->interface == b->interface && a->file == b->file;
}

static int list_files(struct traces *t, struct log_error *err)
{
	struct log_bytes files = {0};
	int code = 0;
	for (size_t n = 0, end; code >= 0 && n < t->nplaces; n = end) {
		for (end = n + 1; end < t->nplaces && same_file(&t->places[n], &t->places[end]);)
			end++;
		struct trace_file f = {t->places[n].interface, t->places[n].file, n, end - n};
		if ((code = log_bytes_add(&files, &f, sizeof f)) < 0)
			log_fail(err, code, LOG_NOWHERE, "not enough memory");
	}
	t->files = (struct trace_file *)files.at;
	t->nfiles = files.used / sizeof *t->files;
	return code;
}

int traces_open(struct traces *t, const struct source *source, uint64_t offset, uint64_t length, struct log_error *err)
{
	*t = (struct traces){.source = source, .offset = offset};
	int code = list_places(t, length, err);
	if (code >= 0 && t->nplaces)
		log_sort(t->places, t->nplaces, sizeof *t->places, by_file);
	if (code >= 0)
		code = list_files(t, err);
	if (code < 0)
		traces_close(t);
	return code;
}

int traces_open_image(struct traces *t, const struct store_reader *i, struct log_error *err)
{
	const struct trailer_entry *e = trailer_entry_named(i->trailer, TRACE_SECTION);
	uint64_t size = i->log->source.size;
	if (!e || e->offset > size)
		return traces_open(t, &i->log->source, 0, 0, err);
	uint64_t there = size - e->offset < e->stored ? size - e->offset : e->stored;
	uint64_t used = i->state->trace.used < there ? i->state->trace.used : there;
	return traces_open(t, &i->log->source, e->offset, used, err);
}

void traces_close(struct traces *t)
{
	log_free(t->places);
	log_free(t->files);
	*t = (struct traces){0};
}

/* ---- one file's accesses ---- */

void trace_begin(struct trace_reader *r, const struct traces *t, size_t file)
{
	r->traces = t;
	r->next = t->files[file].first;
	r->end = r->next + t->files[file].chunks;
	r->at = r->used = 0;
}

static int load_chunk(struct trace_reader *r, struct log_error *err)
{
	const struct trace_place *p = &r->traces->places[r->next++];
	r->at = 0;
	r->used = p->used;
	r->ended = p->began;
	r->thread = p->thread;
	memset(r->pattern, 0, sizeof r->pattern);
	memset(r->bytes + r->used, 0, sizeof r->bytes - r->used);
	return source_read(r->traces->source, p->offset, r->bytes, r->used, err);
}

/* What an item lacks at the end of a damaged chunk is zeros; the check comes after it. */
static uint64_t take(struct trace_reader *r, unsigned bytes)
{
	uint64_t value = 0;
	if (r->at + bytes <= sizeof r->bytes)
		memcpy(&value, r->bytes + r->at, bytes);
	r->at += bytes;
	return value;
}

static int64_t take_length(struct trace_reader *r)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = take(r, 1);
		value |= (byte & 0x7f) << shift;
	}
	return (int64_t)value;
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

static int64_t take_offset(struct trace_reader *r, const struct trace_pattern *p, enum trace_offset how)
{
	switch (how) {
	case TRACE_CONSECUTIVE:
		return p->end;
	case TRACE_STRIDE:
		return p->at + p->stride;
	case TRACE_NEAR:
		return p->end + (int32_t)take(r, 4);
	default:
		return (int64_t)take(r, 8);
	}
}

static void take_special(struct trace_reader *r, unsigned tag)
{
	if ((tag & 1) == TRACE_THREAD)
		r->thread = (uint16_t)take(r, 2);
	else
		r->ended = (int64_t)take(r, 8);
}

static void take_access(struct trace_reader *r, unsigned tag, struct trace_access *out)
{
	struct trace_pattern *p = &r->pattern[tag & 1];
	int64_t length = tag & TRACE_LENGTH ? take_length(r) : p->length;
	int64_t at = take_offset(r, p, tag >> TRACE_OFFSET_AT & 3);
	int64_t start = r->ended + unzigzag(take(r, 1u << (tag >> TRACE_GAP_AT & 3)));
	r->ended = start + (int64_t)take(r, 1u << (tag >> TRACE_DURATION_AT));
	*p = (struct trace_pattern){at, at + length, at - p->at, length};
	*out = (struct trace_access){
		(int)(tag & 1), at, length, (double)start / TRACE_RATE, (double)r->ended / TRACE_RATE, r->thread};
}

static int next_in_chunk(struct trace_reader *r, struct trace_access *out)
{
	while (r->at < r->used) {
		unsigned tag = (unsigned)take(r, 1);
		bool special = (tag & TRACE_SPECIAL) == TRACE_SPECIAL;
		if (special)
			take_special(r, tag);
		else
			take_access(r, tag, out);
		if (!special && r->at <= r->used)
			return 1;
	}
	return 0;
}

int trace_next(struct trace_reader *r, struct trace_access *out, struct log_error *err)
{
	int code = 0;
	while (code >= 0 && !next_in_chunk(r, out)) {
		if (r->next == r->end)
			return 0;
		code = load_chunk(r, err);
	}
	return code < 0 ? code : 1;
}

/* ---- what a rank has done ahead ---- */

bool traces_ahead_load(struct traces_ahead *t, const struct store_reader *i, const char *path)
{
	return descriptor_read_file(path, t, sizeof *t, 0) && !memcmp(t->magic, TRACES_AHEAD_MAGIC, sizeof t->magic) &&
	       t->used == i->state->trace.used;
}

int traces_ahead_read(const struct traces_ahead *t, const char *path, enum traces_ahead_part part, int interface,
		      struct log_bytes *out)
{
	size_t n = t->part[part][interface].stored;
	out->used = 0;
	if (log_bytes_room(out, n) < 0)
		return LOG_E_MEMORY;
	out->used = n;
	return !n || descriptor_read_file(path, out->at, n, t->part[part][interface].offset) ? 0 : LOG_E_IO;
}
