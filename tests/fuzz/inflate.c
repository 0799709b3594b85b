/*
 * libFuzzer target: python/ext/inflate.c says what zlib says, the same bytes or no. Input: where a refill of the decoder's input
 * falls (u16), the room of a piece (u8), then a zlib stream, which lies between two sound ones.
 */
#include "inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { REFILL = 256 << 10, NEAR = 1024, AFTER = 2048, ROOM_MAX = 4096, STORED_MAX = 65535, OUT_MAX = 8 << 20 };

static uint8_t file[REFILL + (128 << 10)], expected[OUT_MAX], got[INFLATE_WINDOW + OUT_MAX + INFLATE_SLACK];

/* A stream of stored zeros, size bytes long. */
static size_t put_zeros(uint8_t *out, size_t size, size_t *zeros)
{
	size_t blocks = (size - 6) / (STORED_MAX + 5) + 1, rest = size - 6 - 5 * blocks, at = 2;
	*zeros = rest;
	memcpy(out, "\x78\x01", 2);
	memset(out + 2, 0, size - 2);
	while (blocks--) {
		size_t n = rest < STORED_MAX ? rest : STORED_MAX;
		const uint8_t head[] = {!blocks, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
		memcpy(out + at, head, sizeof head);
		at += sizeof head + n;
		rest -= n;
	}
	const uint8_t sum[] = {(uint8_t)(*zeros % 65521 >> 8), (uint8_t)(*zeros % 65521), 0, 1};
	memcpy(out + at, sum, sizeof sum);
	return size;
}

/* What zlib makes of streams one behind the other, -1 = it refuses, -2 = too much. */
static long by_zlib(uint8_t *in, size_t n)
{
	z_stream z = {.next_in = in, .avail_in = (uInt)n, .next_out = expected, .avail_out = OUT_MAX};
	if (inflateInit(&z) != Z_OK)
		abort();
	int code;
	while ((code = inflate(&z, Z_NO_FLUSH)) == Z_STREAM_END && z.avail_in)
		inflateReset(&z);
	long out = (long)(z.next_out - expected);
	bool full = !z.avail_out;
	inflateEnd(&z);
	if (full)
		return -2;
	return code == Z_STREAM_END ? out : -1;
}

static bool sums_are_right(const struct inflate_piece *p, uint32_t *sum)
{
	size_t at = 0;
	for (size_t i = 0; i < p->nends; i++) {
		if (inflate_sum(*sum, p->bytes + at, p->ends[i].at - at) != p->ends[i].sum)
			return false;
		*sum = 1;
		at = p->ends[i].at;
	}
	*sum = inflate_sum(*sum, p->bytes + at, p->used - at);
	return true;
}

static long by_inflate(size_t n, size_t room)
{
	struct source source;
	source_open_memory(&source, file, n);
	struct inflate *z = inflate_open(&source, 0, n);
	if (!z)
		abort();
	size_t used = 0;
	uint32_t sum = 1;
	int code = 1;
	while (code > 0) {
		struct inflate_piece p = {.bytes = got + INFLATE_WINDOW + used, .room = room};
		if (p.room > OUT_MAX - used)
			p.room = OUT_MAX - used;
		code = inflate_next(z, &p);
		if (!sums_are_right(&p, &sum))
			code = -1;
		used += p.used;
		if (used >= OUT_MAX)
			code = -2;
	}
	inflate_close(z);
	return code < 0 ? code : (long)used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4 || size > 65536)
		return 0;
	size_t back = NEAR + (data[0] | data[1] << 8) % NEAR, zeros, room = (data[2] + 1u) * (ROOM_MAX / 256);
	size_t before = put_zeros(file, REFILL - back, &zeros);
	memcpy(file + before, data + 3, size - 3);
	size_t n = before + size - 3;
	n += put_zeros(file + n, AFTER, &zeros);
	long want = by_zlib(file, n);
	if (want == -2)
		return 0;
	long have = by_inflate(n, room);
	if (want < 0 ? have >= 0 : have != want || memcmp(got + INFLATE_WINDOW, expected, (size_t)want) != 0)
		abort();
	return 0;
}
