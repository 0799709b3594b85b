/* Records of one module in memory, in an order in which two logs meet. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

/* ---- names ---- */

/* Every run of digits is one '#'. */
static void hide_numbers(char *text)
{
	char *to = text;
	for (const char *at = text; *at; at++) {
		if (!isdigit((unsigned char)*at))
			*to++ = *at;
		else if (to == text || to[-1] != '#')
			*to++ = '#';
	}
	*to = '\0';
}

static size_t add_text(char *out, size_t used, const char *text, size_t n)
{
	n = used + n < DIFF_NAME ? n : DIFF_NAME - 1 - used;
	memcpy(out + used, text, n);
	out[used + n] = '\0';
	return used + n;
}

/* Every match of the expression by its replacement. */
static void substitute(const struct diff_map *m, const char *text, char *out)
{
	regmatch_t at[10];
	size_t used = add_text(out, 0, "", 0);
	int flags = 0;
	while (!regexec(&m->regex, text, 10, at, flags)) {
		used = add_text(out, used, text, (size_t)at[0].rm_so);
		for (const char *to = m->to; *to; to++) {
			int group = *to == '\\' && to[1] >= '0' && to[1] <= '9' ? *++to - '0' : -1;
			if (group < 0)
				used = add_text(out, used, to, 1);
			else if (at[group].rm_so >= 0)
				used = add_text(out, used, text + at[group].rm_so,
						(size_t)(at[group].rm_eo - at[group].rm_so));
		}
		text += at[0].rm_eo;
		if (at[0].rm_so == at[0].rm_eo) {
			if (!*text)
				break;
			used = add_text(out, used, text++, 1);
		}
		flags = REG_NOTBOL;
	}
	add_text(out, used, text, strlen(text));
}

static const char *map_name(const struct diff_options *o, const char *name)
{
	char text[DIFF_NAME], other[DIFF_NAME];
	if (!o->nmaps && !o->numbers)
		return name;
	add_text(text, 0, name, strlen(name));
	for (size_t i = 0; i < o->nmaps; i++) {
		substitute(&o->maps[i], text, other);
		memcpy(text, other, sizeof text);
	}
	if (o->numbers)
		hide_numbers(text);
	return strdup(text);
}

const char *diff_mapped(struct diff_side *s, const struct diff_options *o, uint64_t id)
{
	bool is_new;
	const char *name = log_name(s->log, id);
	if (!name || !*name || (!o->nmaps && !o->numbers))
		return name && *name ? name : NULL;
	size_t n = index_number(&s->ids, id, &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&s->mapped, n, sizeof *s->mapped)))
		return name;
	if (is_new)
		s->mapped[n] = map_name(o, name);
	return s->mapped[n] ? s->mapped[n] : name;
}

/* ---- records ---- */

static bool make_room(uint8_t **at, size_t *room, size_t n)
{
	if (n <= *room)
		return true;
	size_t larger = *room + *room / 4 > n ? *room + *room / 4 : n + 65536;
	uint8_t *more = realloc(*at, larger);
	if (!more)
		return false;
	*at = more;
	*room = larger;
	return true;
}

/*
 * A word as the bytes that it has: numbers are small, and times end in zeros. `form`: 0 to 8 = so many of its lowest bytes, 9 to 15 =
 * one to seven of its highest.
 */
static unsigned form_of(uint64_t word)
{
	if (!word)
		return 0;
	unsigned low = (71 - (unsigned)__builtin_clzll(word)) / 8, high = 8 - (unsigned)__builtin_ctzll(word) / 8;
	return high < low && high < 8 ? 8 + high : low;
}

static uint64_t shifted(unsigned form)
{
	return form > 8 ? 64 - 8 * (form - 8) : 0;
}

static unsigned length_of(unsigned form)
{
	return form > 8 ? form - 8 : form;
}

/* A bit for each word that is not the kind's first record's; half a byte for the form of each of these, their bytes, the rest. */
static bool keep_bytes(struct diff_side *s, const uint8_t *first, const uint8_t *data, size_t n)
{
	size_t words = n / 8, map = s->used, others = 0;
	if (!make_room(&s->bytes, &s->room, s->used + words / 8 + words / 2 + 2 + n) ||
	    !make_room(&s->whole, &s->whole_room, n))
		return false;
	memset(s->bytes + map, 0, words / 8 + words / 2 + 2);
	for (size_t i = 0; i < words; i++)
		others += memcmp(data + 8 * i, first + 8 * i, 8) != 0;
	uint8_t *forms = s->bytes + map + words / 8 + 1, *to = forms + (others + 1) / 2;
	for (size_t i = 0, k = 0; i < words; i++) {
		uint64_t word;
		if (!memcmp(data + 8 * i, first + 8 * i, 8))
			continue;
		memcpy(&word, data + 8 * i, 8);
		unsigned form = form_of(word);
		s->bytes[map + i / 8] |= (uint8_t)(1 << i % 8);
		forms[k / 2] |= (uint8_t)(form << 4 * (k & 1));
		word >>= shifted(form);
		for (unsigned left = length_of(form); left; left--, word >>= 8)
			*to++ = (uint8_t)word;
		k++;
	}
	memcpy(to, data + 8 * words, n % 8);
	s->used = (size_t)(to - s->bytes) + n % 8;
	return true;
}

static const uint8_t *unpack(const struct diff_side *s, const uint8_t *first, size_t at, size_t n)
{
	const uint8_t *map = s->bytes + at, *forms = map + n / 64 + 1, *from = forms;
	size_t others = 0;
	for (size_t i = 0; i <= n / 64; i++)
		others += (size_t)__builtin_popcount(map[i]);
	from += (others + 1) / 2;
	memcpy(s->whole, first, n);
	for (size_t i = 0, k = 0; i < n / 8; i++) {
		if (!(map[i / 8] >> i % 8 & 1))
			continue;
		unsigned f = forms[k / 2] >> 4 * (k & 1) & 15;
		uint64_t word = 0;
		for (unsigned b = 0; b < length_of(f); b++)
			word |= (uint64_t)*from++ << 8 * b;
		word <<= shifted(f);
		memcpy(s->whole + 8 * i, &word, 8);
		k++;
	}
	memcpy(s->whole + n / 8 * 8, from, n % 8);
	return s->whole;
}

/* SIZE_MAX: there is no memory. */
static size_t kind_of(struct diff_side *s, const struct log_record *one)
{
	for (size_t n = s->nkinds; n--;) {
		const struct diff_kind *k = &s->kinds[n];
		if (k->history == one->history && k->map == one->map && k->missing == one->missing &&
		    k->size == one->size)
			return n;
	}
	uint8_t *first = malloc(one->size ? one->size : 1);
	if (!first || !index_grow(&s->kinds, s->nkinds, sizeof *s->kinds)) {
		free(first);
		return SIZE_MAX;
	}
	memcpy(first, one->data, one->size);
	s->kinds[s->nkinds] = (struct diff_kind){one->history, one->map, one->missing, one->size, first};
	return s->nkinds++;
}

static int keep_segments(struct diff_side *s, struct diff_record *r, struct log_records *records, struct log_error *err)
{
	struct log_segment batch[256];
	int64_t n;
	if (!index_grow(&s->traces, s->ntraces, sizeof *s->traces))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	struct diff_trace *trace = &s->traces[s->ntraces];
	r->trace = ++s->ntraces;
	trace->first = s->nsegments;
	while ((n = log_segments_next(records, batch, 256, err)) > 0)
		for (int64_t i = 0; i < n; i++) {
			if (!index_grow(&s->segments, s->nsegments, sizeof *s->segments))
				return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
			s->segments[s->nsegments++] = batch[i];
		}
	trace->count = s->nsegments - trace->first;
	return (int)n;
}

static int keep_record(struct diff_side *s, const struct diff_options *o, struct log_records *records,
		       const struct log_record *one, struct log_error *err)
{
	const char *name = log_name(s->log, one->id);
	if (!filter_rank(&o->filter, one->rank) || !filter_name(&o->filter, name))
		return 0;
	size_t kind = kind_of(s, one);
	if (kind == SIZE_MAX || !index_grow(&s->records, s->nrecords, sizeof *s->records))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	struct diff_record *r = &s->records[s->nrecords++];
	*r = (struct diff_record){
		.name = name,
		.mapped = diff_mapped(s, o, one->id),
		.id = one->id,
		.rank = one->rank,
		.schema = one->schema,
		.kind = (uint32_t)kind & INT32_MAX,
		.at = s->used,
	};
	if (!keep_bytes(s, s->kinds[kind].first, one->data, one->size))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return one->schema->layout == LAYOUT_DXT ? keep_segments(s, r, records, err) : 0;
}

static int keep_header(struct diff_side *s, const struct diff_options *o, struct log_records *records,
		       struct log_error *err)
{
	struct log_record header;
	int code = log_records_header(records, &header, err);
	if (code <= 0)
		return code;
	s->region_head = malloc(header.size);
	if (!s->region_head)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	memcpy(s->region_head, header.data, header.size);
	return o->filter.nranks || o->filter.glob || o->filter.has_regex ? 0 : keep_record(s, o, records, &header, err);
}

static int compare_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int by_mapped_name(const void *a, const void *b)
{
	const struct diff_record *x = a, *y = b;
	int order = (x->schema->layout > y->schema->layout) - (x->schema->layout < y->schema->layout);
	order = order ? order : compare_texts(x->mapped, y->mapped);
	if (!order && !x->mapped && x->id != y->id)
		order = x->id < y->id ? -1 : 1;
	if (!order && x->rank != y->rank)
		order = x->rank < y->rank ? -1 : 1;
	if (!order)
		order = compare_texts(x->name, y->name);
	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

int diff_load(struct diff_side *s, const struct diff_options *o, int module, struct log_error *err)
{
	struct log_records *records;
	struct log_record one;
	const struct log_container *c = log_container(s->log);
	s->there = c->module[module].length > 0;
	if (!s->there)
		return 0;
	int code = log_records_open(&records, s->log, module, err);
	if (code >= 0)
		code = keep_header(s, o, records, err);
	while (code >= 0 && (code = log_records_next(records, &one, err)) > 0)
		code = keep_record(s, o, records, &one, err);
	log_records_close(records);
	if (s->nrecords)
		qsort(s->records, s->nrecords, sizeof *s->records, by_mapped_name);
	return code;
}

struct log_record diff_record_of(const struct diff_side *s, const struct diff_record *r)
{
	const struct diff_kind *kind = &s->kinds[r->kind];
	return (struct log_record){.schema = r->schema,
				   .data = unpack(s, kind->first, r->at, kind->size),
				   .size = kind->size,
				   .id = r->id,
				   .rank = r->rank,
				   .history = kind->history,
				   .map = kind->map,
				   .missing = kind->missing,
				   .header = s->region_head};
}

struct diff_trace diff_trace_of(const struct diff_side *s, const struct diff_record *r)
{
	return r->trace ? s->traces[r->trace - 1] : (struct diff_trace){0};
}

void diff_unload(struct diff_side *s)
{
	free(s->records);
	free(s->bytes);
	free(s->whole);
	for (size_t n = 0; n < s->nkinds; n++)
		free(s->kinds[n].first);
	free(s->kinds);
	free(s->segments);
	free(s->traces);
	free(s->region_head);
	s->records = NULL;
	s->kinds = NULL;
	s->bytes = s->whole = s->region_head = NULL;
	s->segments = NULL;
	s->traces = NULL;
	s->ntraces = 0;
	s->nrecords = s->used = s->room = s->whole_room = s->nkinds = s->nsegments = 0;
}

void diff_close_side(struct diff_side *s)
{
	diff_unload(s);
	for (size_t i = 0; i < s->ids.used; i++)
		free((void *)s->mapped[i]);
	free(s->mapped);
	index_free(&s->ids);
	log_close(s->log);
}
