/*
 * Linked only where libdeflate is: `iolens convert --best`. It wants all that is to be one stream at once. Where records differ in
 * few bytes our own deflater is as good or better: the shorter of both streams is taken.
 */
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>

#include "alloc.h"
#include "codec.h"
#include "deflater.h"

enum { BEST = 12, STREAM = 8 << 20 };

#ifdef LIBDEFLATE_IS_STATIC
/* It says nowhere which one it is: tools/sbom.py finds this. */
static const char words[] __attribute__((used)) = "libdeflate " LIBDEFLATE_VERSION_STRING;
#endif

struct smallest {
	struct log_bytes in, out;
	struct deflater *deflater; /* gets the same, record by record */
	const uint8_t *at;         /* of the shorter stream; NULL = not made yet */
	size_t left;
};

static void smallest_close(void *state)
{
	struct smallest *s = state;
	log_bytes_free(&s->in);
	log_bytes_free(&s->out);
	deflater_free(s->deflater);
	log_free(s);
}

static void *smallest_open(void)
{
	struct smallest *s = log_alloc(sizeof *s);
	if (s && (s->deflater = deflater_make()))
		return s;
	log_free(s);
	return NULL;
}

static bool make(struct smallest *s)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(BEST);
	size_t room = c ? libdeflate_zlib_compress_bound(c, s->in.used) : 0;
	if (room && log_bytes_room(&s->out, room) == 0)
		s->out.used = libdeflate_zlib_compress(c, s->in.at, s->in.used, s->out.at, room);
	libdeflate_free_compressor(c);
	if (!s->out.used || deflater_end(s->deflater) < 0)
		return false;
	const struct log_bytes *ours = &s->deflater->out, *shorter = ours->used < s->out.used ? ours : &s->out;
	s->at = shorter->at;
	s->left = shorter->used;
	return true;
}

static enum codec_result smallest_step(void *state, struct codec_io *io, int last)
{
	struct smallest *s = state;
	if (io->in_left &&
	    (log_bytes_add(&s->in, io->in, io->in_left) < 0 || deflater_add(s->deflater, io->in, io->in_left) < 0))
		return CODEC_NO_MEMORY;
	io->in_left = 0;
	if (!last)
		return CODEC_MORE;
	if (!s->at && !make(s))
		return CODEC_NO_MEMORY;
	size_t n = s->left < io->out_left ? s->left : io->out_left;
	memcpy(io->out, s->at, n);
	s->at += n;
	s->left -= n;
	io->out += n;
	io->out_left -= n;
	return s->left ? CODEC_MORE : CODEC_END;
}

void log_enable_smallest(void)
{
	static const struct encoder encoder = {STREAM, smallest_open, smallest_step, smallest_close};
	encoder_smallest = &encoder;
}
