#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

/* Not their addresses: the linker would look for them in each process that the preload library is loaded into. */
static void *libc_alloc(size_t size)
{
	return malloc(size);
}

static void *libc_alloc_zeroed(size_t n, size_t size)
{
	return calloc(n, size);
}

static void libc_free(void *block)
{
	free(block);
}

struct log_memory log_memory = {libc_alloc, libc_alloc_zeroed, libc_free};

void *log_alloc(size_t size)
{
	return log_memory.alloc_zeroed(1, size ? size : 1);
}

void log_free(void *block)
{
	log_memory.free(block);
}

static int bytes_grow(struct log_bytes *b, size_t need)
{
	size_t room = b->room * 2 > need ? b->room * 2 : need;
	uint8_t *at = log_memory.alloc(room < 256 ? 256 : room);
	if (!at)
		return LOG_E_MEMORY;
	if (b->used)
		memcpy(at, b->at, b->used);
	log_free(b->at);
	b->at = at;
	b->room = room < 256 ? 256 : room;
	return LOG_OK;
}

int log_bytes_room(struct log_bytes *b, size_t n)
{
	if (n > SIZE_MAX / 2 - b->used)
		return LOG_E_MEMORY;
	return b->used + n <= b->room ? LOG_OK : bytes_grow(b, b->used + n);
}

int log_bytes_add(struct log_bytes *b, const void *data, size_t n)
{
	if (!n)
		return LOG_OK;
	int code = log_bytes_room(b, n);
	if (code < 0)
		return code;
	memcpy(b->at + b->used, data, n);
	b->used += n;
	return LOG_OK;
}

void log_bytes_free(struct log_bytes *b)
{
	log_free(b->at);
	*b = (struct log_bytes){0};
}

/* ---- sorting ---- */

struct sorting {
	size_t size;
	int (*compare)(const void *, const void *);
};

static char *append(char *to, const char *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return to + bytes;
}

/* Two sorted runs that stand side by side: [from, middle) and [middle, end). */
static void merge(const struct sorting *s, char *to, const char *from, const char *middle, const char *end)
{
	const char *left = from, *right = middle;
	while (left < middle && right < end) {
		const char **first = s->compare(left, right) <= 0 ? &left : &right;
		to = append(to, *first, s->size);
		*first += s->size;
	}
	to = append(to, left, (size_t)(middle - left));
	append(to, right, (size_t)(end - right));
}

static void merge_sort(const struct sorting *s, char *base, size_t bytes, char *other)
{
	char *from = base, *to = other;
	for (size_t run = s->size; run < bytes; run *= 2) {
		for (size_t at = 0; at < bytes; at += 2 * run) {
			size_t middle = at + run < bytes ? at + run : bytes;
			size_t end = middle + run < bytes ? middle + run : bytes;
			merge(s, to + at, from + at, from + middle, from + end);
		}
		char *done = to;
		to = from;
		from = done;
	}
	if (from != base)
		memcpy(base, from, bytes);
}

static void swap(char *a, char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char kept = a[i];
		a[i] = b[i];
		b[i] = kept;
	}
}

/* In place, for want of memory. */
static void shell_sort(const struct sorting *s, char *base, size_t n)
{
	size_t gap = 1;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3)
		for (size_t i = gap; i < n; i++)
			for (size_t k = i; k >= gap; k -= gap) {
				char *at = base + k * s->size, *before = at - gap * s->size;
				if (s->compare(before, at) <= 0)
					break;
				swap(before, at, s->size);
			}
}

void log_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	struct sorting s = {size, compare};
	if (n < 2)
		return;
	char *other = n > SIZE_MAX / size ? NULL : log_memory.alloc(n * size);
	if (other)
		merge_sort(&s, base, n * size, other);
	else
		shell_sort(&s, base, n);
	log_free(other);
}
