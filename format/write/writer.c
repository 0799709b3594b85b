#include "writer.h"

#include <string.h>
#include <zlib.h>

#include "accesses.h"
#include "codec.h"
#include "container.h"
#include "crc32c.h"
#include "job_text.h"
#include "sink.h"
#include "deflater.h"
#include "directory.h"

enum stage { STAGE_JOB, STAGE_NAMES, STAGE_MODULES, STAGE_ACCESSES, STAGE_SECTIONS, STAGE_WHOLE, STAGE_DONE };

/* Of modules that no header has. */
#define OWN_MODULES (UINT64_MAX << LOG_OWN_MODULES)

enum {
	OUTPUT_SIZE = 65536,
	LEVEL = 6,                       /* of the job: records and names are deflated */
	RECORD_MAX = 81920,              /* a fixed buffer of released readers */
	SHORT_JOB = CONTAINER_JOB + 200, /* without the state of zlib, at the price of some bytes */
};

struct log_writer {
	struct sink sink;
	enum stage stage;
	struct log_error error;
	struct log_region names;
	struct log_region module[LOG_MAX_MODULES];
	uint32_t version[LOG_MAX_MODULES];
	struct log_region accesses[LOG_MAX_MODULES];
	uint64_t partial;
	int current;                   /* module being written */
	uint32_t compression;          /* enum log_compression; sections are compact */
	const struct encoder *encoder; /* what compresses, NULL = zlib or our own deflater; */
	void *stream;                  /* its state while one is open, */
	size_t streamed;               /* and what that has taken */
	z_stream deflate;
	bool by_zlib;   /* records and names, too */
	bool deflating; /* a stream has begun */
	bool deflate_made;
	int deflate_state; /* of states[] */
	uint64_t coming;   /* bytes of the next stream, 0 = not known */
	struct deflater *deflater;
	struct log_bytes entry; /* a name, a section */
	struct directory directory;
	uint8_t *output; /* of OUTPUT_SIZE */
};

static int fail(struct log_writer *w, int code, const char *what)
{
	return w->error.code ? w->error.code : log_fail(&w->error, code, w->sink.at, what);
}

static int store(struct log_writer *w, const void *data, size_t n)
{
	if (w->error.code)
		return w->error.code;
	return sink_write(&w->sink, data, n, &w->error);
}

static voidpf zlib_get(voidpf unused, uInt n, uInt size)
{
	(void)unused;
	return log_memory.alloc((size_t)n * size);
}

static void zlib_put(voidpf unused, voidpf block)
{
	(void)unused;
	log_free(block);
}

/* What a stream needs, and has cleared for each: the state for short ones fits into a few pages. */
static const struct {
	uint64_t most;
	int window, memory;
} states[] = {{16384, 14, 5}, {UINT64_MAX, 15, 8}};

static int make_deflate(struct log_writer *w, int state)
{
	if (w->deflate_made)
		deflateEnd(&w->deflate);
	w->deflate = (z_stream){.zalloc = zlib_get, .zfree = zlib_put};
	w->deflate_made = deflateInit2(&w->deflate, LEVEL, Z_DEFLATED, states[state].window, states[state].memory,
				       Z_DEFAULT_STRATEGY) == Z_OK;
	w->deflate_state = state;
	return w->deflate_made ? Z_OK : Z_MEM_ERROR;
}

static int stream_begin(struct log_writer *w)
{
	int state = !w->coming || w->coming > states[0].most;
	bool fits = w->deflate_made && w->deflate_state >= state;
	if ((fits ? deflateReset(&w->deflate) : make_deflate(w, state)) != Z_OK)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	w->coming = 0;
	w->deflating = true;
	return LOG_OK;
}

/* Compresses what is in next_in; with Z_FINISH the stream ends. */
static int pump(struct log_writer *w, int flush)
{
	do {
		w->deflate.next_out = w->output;
		w->deflate.avail_out = OUTPUT_SIZE;
		deflate(&w->deflate, flush);
		if (store(w, w->output, OUTPUT_SIZE - w->deflate.avail_out) < 0)
			return w->error.code;
	} while (!w->deflate.avail_out);
	return LOG_OK;
}

/* ---- other encoders ---- */

static int encode(struct log_writer *w, const void *data, size_t n, bool last)
{
	enum codec_result got;
	struct codec_io io = {.in = data, .in_left = n};
	if (!w->stream && !(w->stream = w->encoder->open()))
		return fail(w, LOG_E_MEMORY, "not enough memory");
	w->streamed += n;
	do {
		io.out = w->output;
		io.out_left = OUTPUT_SIZE;
		got = w->encoder->step(w->stream, &io, last);
		if (store(w, w->output, OUTPUT_SIZE - io.out_left) < 0)
			return w->error.code;
	} while (got == CODEC_MORE && (io.in_left || !io.out_left || last));
	if (got == CODEC_NO_MEMORY)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	if (got == CODEC_BAD)
		return fail(w, LOG_E_USAGE, "compression failed");
	return LOG_OK;
}

static int encode_end(struct log_writer *w)
{
	if (!w->stream || w->error.code)
		return w->error.code;
	encode(w, NULL, 0, true);
	w->encoder->close(w->stream);
	w->stream = NULL;
	w->streamed = 0;
	return w->error.code;
}

static int encode_piece(struct log_writer *w, const void *data, size_t n)
{
	int code = encode(w, data, n, false);
	return code >= 0 && w->encoder->most && w->streamed >= w->encoder->most ? encode_end(w) : code;
}

static int stream_add(struct log_writer *w, const void *data, size_t n)
{
	const uint8_t *p = data;
	if (n && !w->error.code && w->encoder)
		return encode_piece(w, data, n);
	if (!n || w->error.code || (!w->deflating && stream_begin(w) < 0))
		return w->error.code;
	while (n && !w->error.code) {
		uInt part = n < (1u << 30) ? (uInt)n : 1u << 30;
		w->deflate.next_in = (Bytef *)p;
		w->deflate.avail_in = part;
		pump(w, Z_NO_FLUSH);
		p += part;
		n -= part;
	}
	return w->error.code;
}

/* Nothing added, nothing stored: an empty stream is not a region without data. */
static int stream_end(struct log_writer *w)
{
	if (w->encoder)
		return encode_end(w);
	if (!w->deflating || w->error.code)
		return w->error.code;
	w->deflating = false;
	w->deflate.avail_in = 0;
	return pump(w, Z_FINISH);
}

static struct log_writer *make_writer(struct log_error *err)
{
	struct log_writer *w = log_alloc(sizeof *w);
	if (w && (w->output = log_memory.alloc(OUTPUT_SIZE)))
		return w;
	log_free(w);
	log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return NULL;
}

/* The header is written last: until then a reader sees zeros, an unfinished log. */
static int begin(struct log_writer **out, struct log_writer *w, struct log_error *err)
{
	static const uint8_t header[CONTAINER_HEADER];
	if (store(w, header, sizeof header) < 0) {
		int code = w->error.code;
		if (err)
			*err = w->error;
		log_writer_free(w);
		return code;
	}
	*out = w;
	return LOG_OK;
}

int log_writer_file(struct log_writer **out, const char *path, struct log_error *err)
{
	*out = NULL;
	struct log_writer *w = make_writer(err);
	if (!w)
		return LOG_E_MEMORY;
	int code = sink_open_file(&w->sink, path, err);
	if (code >= 0)
		return begin(out, w, err);
	log_free(w->output);
	log_free(w);
	return code;
}

int log_writer_memory(struct log_writer **out, struct log_error *err)
{
	*out = NULL;
	struct log_writer *w = make_writer(err);
	if (!w)
		return LOG_E_MEMORY;
	sink_open_memory(&w->sink);
	return begin(out, w, err);
}

/* ---- records and names ---- */

static int deflated(struct log_writer *w, int code, size_t most)
{
	struct log_bytes *out = &w->deflater->out;
	if (code < 0)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	if (out->used <= most)
		return w->error.code;
	code = store(w, out->at, out->used);
	out->used = 0;
	return code;
}

/* Do records and names go through our own deflater? */
static bool by_deflater(const struct log_writer *w)
{
	return !w->encoder && !w->by_zlib;
}

static int deflater_in(struct log_writer *w, const void *data, size_t n)
{
	if (!by_deflater(w))
		return stream_add(w, data, n);
	if (!w->deflater && !(w->deflater = deflater_make()))
		return fail(w, LOG_E_MEMORY, "not enough memory");
	return w->error.code ? w->error.code : deflated(w, deflater_add(w->deflater, data, n), OUTPUT_SIZE);
}

static int deflater_out(struct log_writer *w)
{
	return w->deflater && !w->error.code ? deflated(w, deflater_end(w->deflater), 0) : w->error.code;
}

int log_write_job(struct log_writer *w, const struct log_job_text *job)
{
	char text[CONTAINER_JOB_MAX] = {0};
	if (w->stage != STAGE_JOB)
		return fail(w, LOG_E_USAGE, "the job comes first, once");
	size_t n = job_text(text, job);
	w->coming = n;
	if (n <= SHORT_JOB && by_deflater(w)) {
		deflater_in(w, text, n);
		deflater_out(w);
	} else {
		stream_add(w, text, n);
		stream_end(w);
	}
	w->coming = 0;
	w->names.offset = w->sink.at;
	w->stage = STAGE_NAMES;
	return w->error.code;
}

int log_write_name(struct log_writer *w, uint64_t id, const char *name)
{
	if (w->stage != STAGE_NAMES)
		return fail(w, LOG_E_USAGE, "names come after the job and before the modules");
	w->entry.used = 0;
	if (log_bytes_add(&w->entry, &id, sizeof id) < 0 || log_bytes_add(&w->entry, name, strlen(name) + 1) < 0)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	return deflater_in(w, w->entry.at, w->entry.used);
}

/* Ends the region that is being written. */
static int leave(struct log_writer *w)
{
	struct log_region *r = w->stage == STAGE_NAMES     ? &w->names
			       : w->stage == STAGE_MODULES ? &w->module[w->current]
							   : &w->accesses[w->current];
	if (w->stage < STAGE_NAMES || w->stage > STAGE_ACCESSES)
		return w->error.code;
	deflater_out(w);
	stream_end(w);
	r->length = w->sink.at - r->offset;
	return w->error.code;
}

int log_write_module(struct log_writer *w, int module, uint32_t version)
{
	bool first = w->stage == STAGE_NAMES;
	if (!first && w->stage != STAGE_MODULES)
		return fail(w, LOG_E_USAGE, "modules come after the names");
	if (module <= (first ? -1 : w->current) || module >= LOG_OWN_MODULES || !version)
		return fail(w, LOG_E_USAGE, "modules come in order of their ids");
	leave(w);
	w->stage = STAGE_MODULES;
	w->current = module;
	w->version[module] = version;
	w->module[module].offset = w->sink.at;
	return w->error.code;
}

static bool record_fits(int module, size_t size)
{
	const struct schema_module *m = module < LOG_MOD_COUNT ? &schema_modules[module] : NULL;
	if (m && m->layout == LAYOUT_PLAIN)
		return size == m->size;
	return size >= 16 && size <= RECORD_MAX;
}

int log_write_record(struct log_writer *w, const void *record, size_t size)
{
	if (w->stage != STAGE_MODULES)
		return fail(w, LOG_E_USAGE, "records belong to a module");
	if (!record_fits(w->current, size))
		return fail(w, LOG_E_USAGE, "record of a wrong size");
	return deflater_in(w, record, size);
}

int log_write_precompressed(struct log_writer *w, const void *streams, size_t size)
{
	if ((w->stage != STAGE_NAMES && w->stage != STAGE_MODULES) || w->compression == LOG_BZIP2)
		return fail(w, LOG_E_USAGE, "zlib streams belong to the names or to a module");
	deflater_out(w);
	return store(w, streams, size);
}

int log_write_room(struct log_writer *w, uint64_t size, uint64_t *at)
{
	if (w->stage < STAGE_NAMES || w->stage > STAGE_ACCESSES || w->compression == LOG_BZIP2)
		return fail(w, LOG_E_USAGE, "room belongs to the names, to a module or to accesses");
	deflater_out(w);
	*at = w->sink.at;
	return w->error.code ? w->error.code : sink_skip(&w->sink, size, &w->error);
}

int log_write_partial(struct log_writer *w, int module)
{
	if (module < 0 || module >= LOG_MAX_MODULES)
		return fail(w, LOG_E_USAGE, "no such module");
	w->partial |= 1ull << module;
	return w->error.code;
}

int log_write_accesses(struct log_writer *w, int module)
{
	bool first = w->stage == STAGE_NAMES || w->stage == STAGE_MODULES;
	if (!first && w->stage != STAGE_ACCESSES)
		return fail(w, LOG_E_USAGE, "accesses come after the modules and before the sections");
	if (module <= (first ? -1 : w->current) || module >= LOG_MAX_MODULES)
		return fail(w, LOG_E_USAGE, "accesses come in order of their modules");
	leave(w);
	w->stage = STAGE_ACCESSES;
	w->current = module;
	w->accesses[module].offset = w->sink.at;
	return w->error.code;
}

int log_write_bytes(struct log_writer *w, const void *data, size_t n)
{
	if (w->stage != STAGE_ACCESSES)
		return fail(w, LOG_E_USAGE, "bytes belong to accesses");
	return store(w, data, n);
}

/* Which areas there are, and of which modules of our own some accesses are missing. */
static int write_places(struct log_writer *w)
{
	struct trailer_section s;
	int code = section_begin(&s, ACCESS_SECTION, ACCESS_SCHEMA);
	for (int m = 0; code >= 0 && m < LOG_MOD_COUNT; m++) {
		const struct log_region *r = &w->accesses[m];
		bool incomplete = w->partial >> m & 1;
		if (!r->length && !(incomplete && m >= LOG_OWN_MODULES))
			continue;
		section_row(&s);
		section_set_text(&s, "module", 0, schema_modules[m].name);
		section_set_i64(&s, "offset", 0, (int64_t)r->offset);
		section_set_i64(&s, "stored", 0, (int64_t)r->length);
		code = section_set_i64(&s, "incomplete", 0, incomplete);
	}
	if (code < 0 || s.nrows)
		code = log_write_section(w, &s);
	section_free(&s);
	return code;
}

static int begin_section(struct log_writer *w, int failed)
{
	if (failed || w->stage == STAGE_JOB || w->stage >= STAGE_WHOLE)
		return fail(w, failed ? failed : LOG_E_USAGE, "trailer section could not be made");
	leave(w);
	w->stage = STAGE_SECTIONS;
	return w->error.code;
}

static int add_section(struct log_writer *w, const char *name, const struct compact_part *part, const void *stored)
{
	store(w, stored, part->stored);
	if (directory_add_section(&w->directory, name, part) < 0)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	return w->error.code;
}

int log_write_section(struct log_writer *w, const struct trailer_section *s)
{
	struct compact_part whole = {.rows = s->nrows, .raw = s->rows.used + s->heap.used};
	if (begin_section(w, s->failed) < 0)
		return w->error.code;
	if (directory_takes(s)) {
		int code = directory_add_table(&w->directory, s);
		return code < 0 ? fail(w, code, "trailer section could not be made") : w->error.code;
	}
	w->entry.used = 0;
	if (compact_write(&w->entry, s, &w->deflater) < 0)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	whole.stored = w->entry.used;
	whole.crc = log_crc32c(0, w->entry.at, w->entry.used);
	return add_section(w, s->name, &whole, w->entry.at);
}

int log_write_part(struct log_writer *w, const char *name, const struct compact_part *part, const void *stored)
{
	return begin_section(w, LOG_OK) < 0 ? w->error.code : add_section(w, name, part, stored);
}

static int write_directory(struct log_writer *w)
{
	w->entry.used = 0;
	if (directory_write(&w->directory, &w->entry) < 0)
		return fail(w, LOG_E_MEMORY, "not enough memory");
	return store(w, w->entry.at, w->entry.used);
}

static void put(uint8_t *header, size_t at, const void *value, size_t n)
{
	memcpy(header + at, value, n);
}

static int write_header(struct log_writer *w)
{
	uint8_t header[CONTAINER_HEADER] = {0};
	const int64_t magic = CONTAINER_MAGIC;
	put(header, 0, LOG_VERSION, 4);
	put(header, 8, &magic, sizeof magic);
	header[16] = (uint8_t)w->compression;
	const uint64_t partial = w->partial & ~OWN_MODULES;
	put(header, 24, &partial, sizeof partial);
	put(header, 32, &w->names, sizeof w->names);
	for (size_t i = 0; i < LOG_MAX_MODULES; i++)
		if (w->module[i].length)
			put(header, 48 + 16 * i, &w->module[i], sizeof w->module[i]);
	put(header, 1072, w->version, sizeof w->version);
	return sink_patch(&w->sink, 0, header, sizeof header, &w->error);
}

int log_writer_flush(struct log_writer *w)
{
	if (w->error.code || w->stage == STAGE_JOB || w->stage == STAGE_DONE)
		return fail(w, LOG_E_USAGE, "no job was written");
	if (w->stage == STAGE_WHOLE || leave(w) < 0 || write_places(w) < 0)
		return w->error.code;
	if (w->directory.count && write_directory(w) < 0)
		return w->error.code;
	w->stage = STAGE_WHOLE;
	bool small = w->sink.at == w->sink.memory.used; /* is written at once, with its header */
	return small ? LOG_OK : sink_flush(&w->sink, &w->error);
}

static int finish(struct log_writer *w)
{
	if (log_writer_flush(w) < 0 || write_header(w) < 0)
		return w->error.code;
	return sink_finish(&w->sink, &w->error);
}

int log_writer_compression(struct log_writer *w, enum log_compression compression)
{
	if (w->stage != STAGE_JOB || (compression != LOG_ZLIB && compression != LOG_BZIP2))
		return fail(w, LOG_E_USAGE, "compression is zlib or bzip2, and chosen before the job");
	if (compression == LOG_BZIP2 && !encoder_bzip2)
		return fail(w, LOG_E_UNSUPPORTED, "this build of iolens writes no bzip2");
	w->compression = compression;
	w->encoder = compression == LOG_BZIP2 ? encoder_bzip2 : NULL;
	return LOG_OK;
}

int log_writer_smallest(struct log_writer *w)
{
	if (w->stage != STAGE_JOB)
		return fail(w, LOG_E_USAGE, "how it is compressed is chosen before the job");
	if (!encoder_smallest)
		return fail(w, LOG_E_UNSUPPORTED, "this build of iolens is without libdeflate");
	w->compression = LOG_ZLIB;
	w->encoder = encoder_smallest;
	return LOG_OK;
}

void log_writer_by_zlib(struct log_writer *w)
{
	w->by_zlib = true;
}

int log_writer_share(struct log_writer *w, struct log_shared_file *out)
{
	out->path = w->sink.partial;
	int code = w->error.code ? w->error.code : sink_share(&w->sink, &out->inode, &out->changed, &w->error);
	return code;
}

void log_writer_durable(struct log_writer *w)
{
	w->sink.durable = true;
}

void log_writer_group_readable(struct log_writer *w)
{
	sink_mode(&w->sink, 0440);
}

int log_writer_finish(struct log_writer *w, struct log_error *err)
{
	int code = w->error.code ? w->error.code : finish(w);
	w->stage = STAGE_DONE;
	if (err)
		*err = w->error;
	return code;
}

void log_writer_error(const struct log_writer *w, struct log_error *err)
{
	*err = w->error;
}

bool log_writer_blame(const struct log_writer *w, struct log_error *err)
{
	if (w->error.code && err)
		*err = w->error;
	return w->error.code;
}

struct log_region log_writer_accesses(const struct log_writer *w, int module)
{
	return w->accesses[module];
}

uint64_t log_writer_partial(const struct log_writer *w)
{
	return w->partial;
}

const void *log_writer_data(const struct log_writer *w, size_t *size)
{
	*size = w->sink.memory.used;
	return w->sink.memory.at;
}

void log_writer_free(struct log_writer *w)
{
	if (!w)
		return;
	if (w->stream)
		w->encoder->close(w->stream);
	if (w->deflate_made)
		deflateEnd(&w->deflate);
	deflater_free(w->deflater);
	directory_free(&w->directory);
	log_bytes_free(&w->entry);
	sink_close(&w->sink);
	log_free(w->output);
	log_free(w);
}
