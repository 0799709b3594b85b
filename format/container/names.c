#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#include "reader.h"

/*
 * What names may unpack to, so that a small file cannot take all memory: the 8 bytes of an id are a hash, which no compression
 * makes smaller, and names of 500 bytes make a sound table at most 64 times its size in the file. 250,000 files need some 20 MB.
 */
enum { NAMES_SPARE = 64 << 20, NAMES_RATIO = 64 };
#define NAMES_LIMIT ((size_t)1 << 30)

/* Real names have at most 4095 bytes. */
enum { NAME_MAX_BYTES = 65535 };

/* In 3.00 a text has its length before it, later a NUL behind it. */
static bool has_length(const struct log *log)
{
	return !log->container.minor && !log->old;
}

/* Entries are `u64 id, text, NUL`; in 3.00 `u64 id, u32 length, text`. Returns the entry's size, 0 if it is cut. */
static size_t entry_size(const struct log *log, const uint8_t *at, size_t left)
{
	size_t head = has_length(log) ? 12 : 8;
	if (left < head)
		return 0;
	if (!has_length(log)) {
		size_t room = left - head < NAME_MAX_BYTES ? left - head : NAME_MAX_BYTES;
		size_t n = strnlen((const char *)at + head, room);
		return n < room ? head + n + 1 : 0;
	}
	uint32_t n;
	memcpy(&n, at + 8, sizeof n);
	n = log->container.swapped ? __builtin_bswap32(n) : n;
	return n <= left - head && n < NAME_MAX_BYTES ? head + n : 0;
}

/* For the same reason: an entry takes more than a byte of the file. */
static size_t count_entries(const struct log *log)
{
	const struct log_bytes *t = &log->names_text;
	size_t n = 0, size, most = log->old ? SIZE_MAX : NAMES_SPARE / 64 + (size_t)log->container.names.length;
	for (size_t at = 0; at < t->used && n < most && (size = entry_size(log, t->at + at, t->used - at)); at += size)
		n++;
	return n;
}

/* A text of 3.00 moves one byte ahead, over its length, which makes room for the NUL. */
static const char *entry_text(const struct log *log, uint8_t *at, size_t size)
{
	if (!has_length(log))
		return (const char *)at + 8;
	memmove(at + 11, at + 12, size - 12);
	at[size - 1] = 0;
	return (const char *)at + 11;
}

static int by_id(const void *a, const void *b)
{
	const struct name_entry *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->text < y->text ? -1 : x->text > y->text;
}

/* One entry per id: its first text that is not empty. */
static size_t unite(struct name_entry *e, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (!kept || e[kept - 1].id != e[i].id)
			e[kept++] = e[i];
		else if (!*e[kept - 1].text)
			e[kept - 1].text = e[i].text;
	}
	return kept;
}

static int index_names(struct log *log, struct log_error *err)
{
	struct log_bytes *t = &log->names_text;
	size_t n = count_entries(log), at = 0;
	log->names = log_alloc(n * sizeof *log->names);
	if (!log->names)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	for (size_t i = 0; i < n; i++) {
		size_t size = entry_size(log, t->at + at, t->used - at);
		log->names[i].id = container_u64(&log->container, t->at + at);
		log->names[i].text = entry_text(log, t->at + at, size);
		at += size;
	}
	log_sort(log->names, n, sizeof *log->names, by_id);
	log->nnames = unite(log->names, n);
	if (at < t->used)
		return log_fail(err, LOG_E_DAMAGED, log->container.names.offset, "name table is damaged");
	return LOG_OK;
}

static size_t limit_of(const struct log_region *names)
{
	return names->length < (NAMES_LIMIT - NAMES_SPARE) / NAMES_RATIO
		       ? NAMES_SPARE + (size_t)names->length * NAMES_RATIO
		       : NAMES_LIMIT;
}

static int read_text(struct log *log, struct log_error *err)
{
	struct region r;
	int code = region_open(&r, &log->container, &log->source, &log->container.names, err);
	if (code < 0)
		return code;
	code = region_read_all(&r, &log->names_text, limit_of(&log->container.names), err);
	region_close(&r);
	return code;
}

int names_walk(struct log *log, int (*see)(void *context, uint64_t id, const char *name), void *context,
	       struct log_error *err)
{
	struct log_bytes *t = &log->names_text;
	log_bytes_free(t);
	int code = read_text(log, err);
	for (size_t at = 0, size; code >= 0 && at < t->used; at += size) {
		size = entry_size(log, t->at + at, t->used - at);
		code = size ? see(context, container_u64(&log->container, t->at + at),
				  entry_text(log, t->at + at, size))
			    : log_fail(err, LOG_E_DAMAGED, log->container.names.offset, "name table is damaged");
	}
	log_bytes_free(t);
	return code;
}

int log_names(struct log *log, struct log_error *err)
{
	if (!log->names_read) {
		struct log_error index_error = {0};
		log->names_read = true;
		int code = log->old ? log->names_error.code : read_text(log, &log->names_error);
		int indexed = index_names(log, &index_error);
		if (code >= 0 && indexed < 0)
			log->names_error = index_error;
	}
	if (err)
		*err = log->names_error;
	return log->names_error.code;
}

size_t log_names_count(struct log *log)
{
	log_names(log, NULL);
	return log->nnames;
}

const char *log_name(struct log *log, uint64_t id)
{
	size_t low = 0, high = log_names_count(log);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (log->names[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < log->nnames && log->names[low].id == id ? log->names[low].text : NULL;
}

const char *log_name_at(struct log *log, size_t i, uint64_t *id)
{
	*id = log->names[i].id;
	return log->names[i].text;
}
