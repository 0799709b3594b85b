/* Bits on their way out and in, the first one lowest. */
#ifndef IOLENS_BITS_H
#define IOLENS_BITS_H

#include <stdbool.h>
#include <string.h>

#include "alloc.h"

struct bit_sink {
	struct log_bytes *out; /* with room for what comes */
	uint64_t bits;
	unsigned held;
};

/* At most 32 bits. */
static inline void bits_put(struct bit_sink *s, uint32_t bits, unsigned n)
{
	s->bits |= (uint64_t)bits << s->held;
	s->held += n;
	if (s->held < 32)
		return;
	for (int k = 0; k < 4; k++)
		s->out->at[s->out->used + (size_t)k] = (uint8_t)(s->bits >> 8 * k);
	s->out->used += 4;
	s->bits >>= 32;
	s->held -= 32;
}

/* Fills the last byte with zeros. */
static inline void bits_end(struct bit_sink *s)
{
	for (; s->held; s->held = s->held > 8 ? s->held - 8 : 0) {
		s->out->at[s->out->used++] = (uint8_t)s->bits;
		s->bits >>= 8;
	}
}

/* Any number up to 64. */
static inline void bits_put_long(struct bit_sink *s, uint64_t bits, unsigned n)
{
	bits_put(s, (uint32_t)bits, n < 32 ? n : 32);
	if (n > 32)
		bits_put(s, (uint32_t)(bits >> 32), n - 32);
}

struct bit_source {
	const uint8_t *at, *end;
	uint64_t bits;
	unsigned held;
	bool failed; /* there were not so many */
};

static inline void bits_refill(struct bit_source *s)
{
	if (s->end - s->at >= 8) {
		uint64_t next;
		memcpy(&next, s->at, sizeof next);
		s->bits |= next << s->held;
		s->at += (63 - s->held) >> 3;
		s->held |= 56;
		return;
	}
	for (; s->held <= 56 && s->at < s->end; s->held += 8)
		s->bits |= (uint64_t)*s->at++ << s->held;
}

/* At most 56 bits; zeros behind the end. */
static inline uint64_t bits_take(struct bit_source *s, unsigned n)
{
	if (s->held < n)
		bits_refill(s);
	uint64_t got = s->bits & ((UINT64_C(1) << n) - 1);
	s->failed |= s->held < n;
	s->held = s->held < n ? 0 : s->held - n;
	s->bits >>= n;
	return got;
}

static inline uint64_t bits_take_long(struct bit_source *s, unsigned n)
{
	uint64_t low = bits_take(s, n < 32 ? n : 32);
	return n > 32 ? low | bits_take(s, n - 32) << 32 : low;
}

#endif
