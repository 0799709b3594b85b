/* Streams the uncompressed bytes of one region. */
#ifndef IOLENS_REGION_H
#define IOLENS_REGION_H

#include "alloc.h"
#include "codec.h"
#include "container.h"

struct region {
	const struct source *source;
	const struct codec *codec; /* NULL = stored as is */
	void *state;
	uint64_t at;     /* next byte to read from the source */
	uint64_t end;    /* of the part that is in the file */
	bool cut;        /* the file ends before the region does */
	bool mid_stream; /* a stream has begun and not ended */
	uint8_t *input;
	size_t input_at, input_end;
	uint64_t produced;
	uint64_t most;            /* that it may unpack to */
	struct log_error failure; /* found while there was still output to hand over */
};

int region_open(struct region *r, const struct log_container *c, const struct source *s, const struct log_region *where,
		struct log_error *err);

/* The whole source; codec NULL = stored as is. */
int region_open_coded(struct region *r, const struct source *s, const struct codec *codec, struct log_error *err);

/* Up to n bytes; fewer only at the end of the region. Returns the number or a negative code. */
int64_t region_read(struct region *r, void *out, size_t n, struct log_error *err);

/* The whole region appended to *out, which may not become longer than limit. What came before an error is kept. */
int region_read_all(struct region *r, struct log_bytes *out, size_t limit, struct log_error *err);

void region_close(struct region *r);

#endif
