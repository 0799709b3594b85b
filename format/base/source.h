/* The bytes of a log: a file or memory. Every read is checked against the size. */
#ifndef IOLENS_SOURCE_H
#define IOLENS_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct source {
	int fd; /* -1 = memory */
	const uint8_t *memory;
	uint64_t size;
};

int source_open_file(struct source *s, const char *path, struct log_error *err);
/* Takes the descriptor over; one that is negative is an error, of errno. */
int source_open_descriptor(struct source *s, int fd, struct log_error *err);
void source_open_memory(struct source *s, const void *data, size_t size);
void source_close(struct source *s);

/* Exactly n bytes from offset, or an error. */
int source_read(const struct source *s, uint64_t offset, void *out, size_t n, struct log_error *err);

#endif
