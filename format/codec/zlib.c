#include <zlib.h>

#include "alloc.h"
#include "codec.h"

const struct codec *codec_bzip2;
const struct encoder *encoder_bzip2;
const struct encoder *encoder_smallest;

static voidpf zlib_get(voidpf unused, uInt n, uInt size)
{
	(void)unused;
	return log_alloc((size_t)n * size);
}

static void zlib_put(voidpf unused, voidpf block)
{
	(void)unused;
	log_free(block);
}

enum { WINDOW = 15, GZIP = 16 /* zlib: added to the window size */ };

static enum codec_result open_with(int window, void **state)
{
	z_stream *z = log_alloc(sizeof *z);
	if (!z)
		return CODEC_NO_MEMORY;
	z->zalloc = zlib_get;
	z->zfree = zlib_put;
	int got = inflateInit2(z, window);
	if (got == Z_OK) {
		*state = z;
		return CODEC_MORE;
	}
	log_free(z);
	return got == Z_MEM_ERROR ? CODEC_NO_MEMORY : CODEC_UNSUPPORTED;
}

static enum codec_result zlib_open(void **state)
{
	return open_with(WINDOW, state);
}

/* A zlib that was built with NO_GZIP rejects this window. */
static enum codec_result gzip_open(void **state)
{
	return open_with(WINDOW + GZIP, state);
}

static enum codec_result zlib_step(void *state, struct codec_io *io)
{
	z_stream *z = state;
	z->next_in = (Bytef *)io->in;
	z->avail_in = (uInt)io->in_left;
	z->next_out = io->out;
	z->avail_out = (uInt)io->out_left;
	int got = inflate(z, Z_NO_FLUSH);
	*io = (struct codec_io){z->next_in, z->avail_in, z->next_out, z->avail_out};
	if (got == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? CODEC_END : CODEC_BAD;
	if (got == Z_MEM_ERROR)
		return CODEC_NO_MEMORY;
	return got == Z_OK || got == Z_BUF_ERROR ? CODEC_MORE : CODEC_BAD;
}

static void zlib_close(void *state)
{
	inflateEnd(state);
	log_free(state);
}

const struct codec codec_zlib = {"zlib", zlib_open, zlib_step, zlib_close};
const struct codec codec_gzip = {"gzip", gzip_open, zlib_step, zlib_close};
