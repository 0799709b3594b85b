#include "traces_ahead.h"

#include <string.h>

#include "descriptor.h"

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
