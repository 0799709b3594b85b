#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

struct log_alloc log_alloc = {malloc, calloc, free};

void *log_get(size_t size)
{
	return log_alloc.get_zeroed(1, size ? size : 1);
}

void log_put(void *block)
{
	log_alloc.put(block);
}

static int bytes_grow(struct log_bytes *b, size_t need)
{
	size_t room = b->room * 2 > need ? b->room * 2 : need;
	uint8_t *at = log_alloc.get(room < 256 ? 256 : room);
	if (!at)
		return LOG_E_MEMORY;
	if (b->used)
		memcpy(at, b->at, b->used);
	log_put(b->at);
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
	log_put(b->at);
	*b = (struct log_bytes){0};
}
