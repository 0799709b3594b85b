#include "shared.h"

#include <string.h>

#include "alloc.h"

void shared_begin(struct shared *s, const struct schema_module *m)
{
	*s = (struct shared){.module = m};
}

void shared_rank(struct shared *s)
{
	s->ranks++;
	s->next = 0;
}

static uint64_t id_of(const void *record)
{
	uint64_t id;
	memcpy(&id, record, sizeof id);
	return id;
}

static int64_t find(const struct shared *s, uint64_t id)
{
	for (size_t at = id; s->index_size; at++) {
		uint32_t n = s->index[at & (s->index_size - 1)];
		if (!n)
			break;
		if (s->entries[n - 1].id == id)
			return n - 1;
	}
	return -1;
}

static void index_entry(struct shared *s, size_t n)
{
	size_t at = s->entries[n].id;
	while (s->index[at & (s->index_size - 1)])
		at++;
	s->index[at & (s->index_size - 1)] = (uint32_t)n + 1;
}

static int index_all(struct shared *s, size_t size)
{
	log_free(s->index);
	s->index_size = 0;
	s->index = log_alloc(size * sizeof *s->index);
	if (!s->index)
		return LOG_E_MEMORY;
	s->index_size = size;
	for (size_t n = 0; n < s->used; n++)
		index_entry(s, n);
	return 0;
}

static int grow(struct shared *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct shared_entry *entries = log_alloc(room * sizeof *entries);
	uint8_t *records = log_alloc(room * s->module->size);
	if (entries && records) {
		if (s->used) {
			memcpy(entries, s->entries, s->used * sizeof *entries);
			memcpy(records, s->records, s->used * s->module->size);
		}
		log_free(s->entries);
		log_free(s->records);
		s->entries = entries;
		s->records = records;
		s->room = room;
		return index_all(s, 4 * room);
	}
	log_free(entries);
	log_free(records);
	return LOG_E_MEMORY;
}

bool shared_has_arrays(const struct schema_module *m)
{
	return m->layout != LAYOUT_PLAIN;
}

static int add_first(struct shared *s, const void *record, size_t size, int64_t rank)
{
	int code = s->used == s->room ? grow(s) : 0;
	if (code < 0)
		return code;
	uint8_t *copy = s->records + s->used * s->module->size;
	struct shared_entry *e = &s->entries[s->used];
	memcpy(copy, record, s->module->size);
	memcpy(copy + 8, &rank, sizeof rank);
	*e = (struct shared_entry){.id = id_of(record), .ranks = 1};
	reduce_begin(s->module, copy, &e->state);
	e->state.most = REDUCE_MOST_OF_RANKS;
	index_entry(s, s->used++);
	return log_bytes_add(&e->arrays, (const uint8_t *)record + s->module->size, size - s->module->size);
}

int shared_add_arrays(struct shared *s, struct shared_entry *e, const void *record, const void *arrays, size_t n)
{
	const size_t head = 16; /* id and rank */
	uint8_t *to = shared_record(s, (size_t)(e - s->entries));
	if (n <= e->arrays.used)
		return 0;
	memcpy(to + head, (const uint8_t *)record + head, s->module->size - head);
	e->arrays.used = 0;
	return log_bytes_add(&e->arrays, arrays, n);
}

static void forget(struct shared_entry *e)
{
	reduce_forget(&e->state);
	log_bytes_free(&e->arrays);
}

int shared_add(struct shared *s, const void *record, size_t size, int64_t rank)
{
	uint64_t id = id_of(record);
	bool follows = s->next < s->used && s->entries[s->next].id == id;
	int64_t n = follows ? (int64_t)s->next : find(s, id);
	if (n < 0)
		return s->ranks == 1 ? add_first(s, record, size, rank) : 0;
	struct shared_entry *e = &s->entries[n];
	s->next = (size_t)n + 1;
	if (e->ranks != s->ranks - 1)
		return 0;
	e->ranks++;
	if (shared_has_arrays(s->module))
		return shared_add_arrays(s, e, record, (const uint8_t *)record + s->module->size,
					 size - s->module->size);
	reduce_merge_rank(s->module, s->records + (size_t)n * s->module->size, &e->state, record, rank);
	return 0;
}

/* `ids` NULL: all. */
static void keep(struct shared *s, int64_t ranks, const struct id_set *ids)
{
	size_t kept = 0, size = s->module->size;
	for (size_t n = 0; n < s->used; n++) {
		if (s->entries[n].ranks != ranks || (ids && !id_set_has(ids, s->entries[n].id))) {
			forget(&s->entries[n]);
			continue;
		}
		if (kept != n) {
			s->entries[kept] = s->entries[n];
			memcpy(s->records + kept * size, s->records + n * size, size);
		}
		kept++;
	}
	s->used = kept;
	if (!s->index_size)
		return;
	memset(s->index, 0, s->index_size * sizeof *s->index);
	for (size_t n = 0; n < kept; n++)
		index_entry(s, n);
}

void shared_keep(struct shared *s, int64_t ranks)
{
	keep(s, ranks, NULL);
}

void shared_keep_ids(struct shared *s, const struct id_set *ids)
{
	keep(s, s->ranks, ids);
}

void shared_end(struct shared *s)
{
	for (size_t n = 0; n < s->used; n++) {
		reduce_end(s->module, shared_record(s, n), &s->entries[n].state);
		reduce_to_grid(s->module, shared_record(s, n));
	}
}

int shared_write(struct shared *s, struct log_writer *w)
{
	int code = 0;
	for (size_t n = 0; code >= 0 && n < s->used; n++) {
		const struct log_bytes *arrays = &s->entries[n].arrays;
		code = log_write_record(w, shared_record(s, n), s->module->size);
		if (code >= 0 && arrays->used)
			code = log_write_record(w, arrays->at, arrays->used);
	}
	return code;
}

bool shared_has(const struct shared *s, uint64_t id)
{
	return find(s, id) >= 0;
}

struct shared_entry *shared_entry(const struct shared *s, uint64_t id)
{
	int64_t n = find(s, id);
	return n < 0 ? NULL : &s->entries[n];
}

void *shared_record(const struct shared *s, size_t n)
{
	return s->records + n * s->module->size;
}

void shared_free(struct shared *s)
{
	for (size_t n = 0; n < s->used; n++)
		forget(&s->entries[n]);
	log_free(s->entries);
	log_free(s->records);
	log_free(s->index);
	*s = (struct shared){.module = s->module};
}
