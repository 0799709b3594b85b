/* Linked only where libbz2 is wanted: conversion tools write bzip2, the runtime never does. */
#include <bzlib.h>

#include "alloc.h"
#include "codec.h"

static void *bzip2_get(void *unused, int n, int size)
{
	(void)unused;
	return log_alloc((size_t)n * (size_t)size);
}

static void bzip2_put(void *unused, void *block)
{
	(void)unused;
	log_free(block);
}

static enum codec_result bzip2_begin(bz_stream *b)
{
	*b = (bz_stream){.bzalloc = bzip2_get, .bzfree = bzip2_put};
	int got = BZ2_bzDecompressInit(b, 0, 0);
	return got == BZ_OK ? CODEC_MORE : got == BZ_MEM_ERROR ? CODEC_NO_MEMORY : CODEC_UNSUPPORTED;
}

static enum codec_result bzip2_open(void **state)
{
	bz_stream *b = log_alloc(sizeof *b);
	enum codec_result got = b ? bzip2_begin(b) : CODEC_NO_MEMORY;
	if (got == CODEC_MORE)
		*state = b;
	else
		log_free(b);
	return got;
}

static enum codec_result bzip2_step(void *state, struct codec_io *io)
{
	bz_stream *b = state;
	b->next_in = (char *)io->in;
	b->avail_in = (unsigned)io->in_left;
	b->next_out = (char *)io->out;
	b->avail_out = (unsigned)io->out_left;
	int got = BZ2_bzDecompress(b);
	*io = (struct codec_io){(uint8_t *)b->next_in, b->avail_in, (uint8_t *)b->next_out, b->avail_out};
	if (got == BZ_STREAM_END) {
		BZ2_bzDecompressEnd(b);
		enum codec_result next = bzip2_begin(b);
		return next == CODEC_MORE ? CODEC_END : next;
	}
	if (got == BZ_MEM_ERROR)
		return CODEC_NO_MEMORY;
	return got == BZ_OK ? CODEC_MORE : CODEC_BAD;
}

static void bzip2_close(void *state)
{
	BZ2_bzDecompressEnd(state);
	log_free(state);
}

/* ---- compression ---- */

enum { BLOCK = 9 /* times 100 kB */ };

static void *bzip2_start(void)
{
	bz_stream *b = log_alloc(sizeof *b);
	if (!b)
		return NULL;
	*b = (bz_stream){.bzalloc = bzip2_get, .bzfree = bzip2_put};
	if (BZ2_bzCompressInit(b, BLOCK, 0, 0) == BZ_OK)
		return b;
	log_free(b);
	return NULL;
}

static enum codec_result bzip2_add(void *state, struct codec_io *io, int last)
{
	bz_stream *b = state;
	b->next_in = (char *)io->in;
	b->avail_in = (unsigned)io->in_left;
	b->next_out = (char *)io->out;
	b->avail_out = (unsigned)io->out_left;
	int got = last ? BZ2_bzCompress(b, BZ_FINISH) : b->avail_in ? BZ2_bzCompress(b, BZ_RUN) : BZ_RUN_OK;
	*io = (struct codec_io){(uint8_t *)b->next_in, b->avail_in, (uint8_t *)b->next_out, b->avail_out};
	return got == BZ_STREAM_END ? CODEC_END : got < 0 ? CODEC_BAD : CODEC_MORE;
}

static void bzip2_end(void *state)
{
	BZ2_bzCompressEnd(state);
	log_free(state);
}

void log_enable_bzip2(void)
{
	static const struct encoder encoder = {0, bzip2_start, bzip2_add, bzip2_end};
	encoder_bzip2 = &encoder;
	static const struct codec bzip2 = {"bzip2", bzip2_open, bzip2_step, bzip2_close};
	codec_bzip2 = &bzip2;
}
