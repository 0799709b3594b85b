#include "region.h"

#include <string.h>

/* Deflate makes a byte of 1,032 at most; bzip2 may of 20,000, which no log needs. */
enum { INPUT_SIZE = 65536, MOST_RATIO = 1032, MOST_SPARE = 64 << 20 };

static int codec_failed(const struct region *r, enum codec_result why, uint64_t at, struct log_error *err)
{
	if (why == CODEC_UNSUPPORTED)
		return log_fail(err, LOG_E_UNSUPPORTED, at, "this build of iolens reads no ", r->codec->name);
	if (why == CODEC_NO_MEMORY)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory to read ", r->codec->name);
	return log_fail(err, LOG_E_DAMAGED, at, "compressed data are damaged");
}

static int start_codec(struct region *r, struct log_error *err)
{
	enum codec_result got = r->codec->open(&r->state);
	if (got != CODEC_MORE)
		return codec_failed(r, got, LOG_NOWHERE, err);
	r->input = log_memory.alloc(INPUT_SIZE);
	return r->input ? LOG_OK : codec_failed(r, CODEC_NO_MEMORY, LOG_NOWHERE, err);
}

static int choose_codec(struct region *r, uint32_t compression, struct log_error *err)
{
	if (compression == LOG_PLAIN)
		return LOG_OK;
	r->codec = compression == LOG_ZLIB ? &codec_zlib : codec_bzip2;
	if (!r->codec)
		return log_fail(err, LOG_E_UNSUPPORTED, 16, "this build of iolens reads no bzip2");
	return start_codec(r, err);
}

int region_open_coded(struct region *r, const struct source *s, const struct codec *codec, struct log_error *err)
{
	*r = (struct region){.source = s, .end = s->size, .most = UINT64_MAX, .codec = codec};
	int code = codec ? start_codec(r, err) : LOG_OK;
	if (code < 0)
		region_close(r);
	return code;
}

static int region_open_at(struct region *r, const struct source *s, uint32_t compression, uint64_t offset,
			  uint64_t length, struct log_error *err)
{
	*r = (struct region){.source = s, .at = offset, .end = offset + length, .most = UINT64_MAX};
	if (length < UINT64_MAX / MOST_RATIO - MOST_SPARE)
		r->most = MOST_RATIO * length + MOST_SPARE;
	int code = choose_codec(r, compression, err);
	if (code < 0)
		region_close(r);
	return code;
}

int region_open(struct region *r, const struct log_container *c, const struct source *s, const struct log_region *where,
		struct log_error *err)
{
	*r = (struct region){.source = s};
	if (!where->length)
		return LOG_OK;
	int code = container_check_region(c, where, err);
	bool cut = code == LOG_E_TRUNCATED;
	if (code < 0 && !cut)
		return code;
	uint64_t there = where->offset < s->size ? s->size - where->offset : 0;
	uint64_t length = where->length < there ? where->length : there;
	code = region_open_at(r, s, c->compression, where->offset, length, err);
	r->cut = cut;
	return code;
}

void region_close(struct region *r)
{
	if (r->state)
		r->codec->close(r->state);
	log_free(r->input);
	*r = (struct region){0};
}

static int refill(struct region *r, struct log_error *err)
{
	size_t n = r->end - r->at < INPUT_SIZE ? (size_t)(r->end - r->at) : INPUT_SIZE;
	int code = source_read(r->source, r->at, r->input, n, err);
	if (code < 0)
		return code;
	r->at += n;
	r->input_at = 0;
	r->input_end = n;
	return LOG_OK;
}

static int ended(const struct region *r, struct log_error *err)
{
	if (r->cut)
		return log_fail(err, LOG_E_TRUNCATED, r->end, "file ends too early");
	if (r->mid_stream)
		return log_fail(err, LOG_E_DAMAGED, r->end, "compressed data end too early");
	return LOG_OK;
}

/* One call of the decoder. Without input it can still have output. */
static int decode(struct region *r, struct codec_io *io, struct log_error *err)
{
	size_t room = io->out_left;
	io->in = r->input + r->input_at;
	io->in_left = r->input_end - r->input_at;
	enum codec_result got = r->codec->step(r->state, io);
	bool stuck = got == CODEC_MORE && io->in_left && io->in == r->input + r->input_at && io->out_left == room;
	r->input_at = r->input_end - io->in_left;
	r->mid_stream = got == CODEC_MORE;
	bool fine = got == CODEC_END || (got == CODEC_MORE && !stuck);
	return fine ? LOG_OK : codec_failed(r, got, r->at - io->in_left, err);
}

/* 1 = go on, 0 = no more to come, or an error. */
static int read_some(struct region *r, struct codec_io *io, struct log_error *err)
{
	size_t room = io->out_left;
	int code = LOG_OK;
	if (r->input_at == r->input_end && r->at < r->end)
		code = refill(r, err);
	bool dry = r->input_at == r->input_end;
	if (code < 0 || (dry && !r->mid_stream))
		return code;
	code = decode(r, io, err);
	return code < 0 ? code : !dry || io->out_left < room;
}

static int64_t read_coded(struct region *r, uint8_t *out, size_t n, struct log_error *err)
{
	struct codec_io io = {.out = out, .out_left = n};
	int code = 1;
	if (r->produced > r->most)
		return log_fail(err, LOG_E_DAMAGED, r->at, "compressed data unpack to over 1,032 times their size");
	while (io.out_left && code > 0)
		code = read_some(r, &io, &r->failure);
	if (code < 0 && io.out_left == n) {
		*err = r->failure;
		return code;
	}
	return (int64_t)(n - io.out_left);
}

static int64_t read_plain(struct region *r, uint8_t *out, size_t n, struct log_error *err)
{
	if (n > r->end - r->at)
		n = (size_t)(r->end - r->at);
	int code = source_read(r->source, r->at, out, n, err);
	if (code < 0)
		return code;
	r->at += n;
	return (int64_t)n;
}

int64_t region_read(struct region *r, void *out, size_t n, struct log_error *err)
{
	struct log_error unwanted;
	err = err ? err : &unwanted;
	if (r->failure.code) {
		*err = r->failure;
		return err->code;
	}
	int64_t got = r->codec ? read_coded(r, out, n, err) : read_plain(r, out, n, err);
	if (got < 0)
		return got;
	r->produced += (uint64_t)got;
	int code = got ? LOG_OK : ended(r, err);
	return code < 0 ? code : got;
}

int region_read_all(struct region *r, struct log_bytes *out, size_t limit, struct log_error *err)
{
	for (;;) {
		if (log_bytes_room(out, INPUT_SIZE) < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		int64_t got = region_read(r, out->at + out->used, INPUT_SIZE, err);
		if (got <= 0)
			return (int)got;
		out->used += (size_t)got;
		if (out->used > limit)
			return log_fail(err, LOG_E_DAMAGED, r->at, "region is absurdly large");
	}
}
