#include "make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef HAVE_BZIP2
#include <bzlib.h>
#endif

#include "container.h"
#include "hash.h"
#include "unit.h"

static void must(int code)
{
	if (code < 0) {
		printf("test log cannot be made: %d\n", code);
		exit(1);
	}
}

/* Small, large and negative numbers, and doubles that look like seconds. */
static void randomize(void *record, const struct schema_module *m, uint64_t *seed)
{
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct schema_field *f = &m->fields[i];
		for (int k = 0; k < f->count; k++) {
			uint64_t r = unit_random(seed);
			int64_t whole = (int64_t)(r >> (r % 60));
			double seconds = (double)(r >> 20) * 0x1p-30;
			memcpy((uint8_t *)record + f->offset + 8 * k,
			       f->type == FIELD_F64 ? (void *)&seconds : (void *)&whole, 8);
		}
	}
}

void make_posix(struct posix_record *r, uint64_t *seed, uint64_t id, int64_t rank)
{
	randomize(r, &schema_modules[LOG_MOD_POSIX], seed);
	r->id = id;
	r->rank = rank;
}

void make_stdio(struct stdio_record *r, uint64_t *seed, uint64_t id, int64_t rank)
{
	randomize(r, &schema_modules[LOG_MOD_STDIO], seed);
	r->id = id;
	r->rank = rank;
}

size_t make_heatmap(struct made_heatmap *h, uint64_t *seed, uint64_t id, int64_t rank, int bins)
{
	h->head = (struct heatmap_record){.id = id, .rank = rank, .bin_width_seconds = 0.1, .nbins = bins};
	for (int i = 0; i < 2 * bins; i++)
		h->bins[i] = (int64_t)(unit_random(seed) >> 40);
	return sizeof h->head + 16 * (size_t)bins;
}

struct log_job_text make_job(int64_t nprocs)
{
	static const struct log_pair metadata[] = {{"h", "romio_no_indep_rw=true;cb_nodes=4"},
						   {"note", "made by a test"}};
	static const struct log_pair mounts[] = {{"/", "ext4"}, {"/data", "lustre"}, {"/data/fast", "nfs"}};
	return (struct log_job_text){
		.uid = 1000,
		.start = 1700000000,
		.start_ns = 250000000,
		.end = 1700000010,
		.end_ns = 750000000,
		.nprocs = nprocs,
		.id = 4711,
		.lib_ver = "3.5.0",
		.exe = "./program --with \"an argument\"",
		.metadata = metadata,
		.nmetadata = 2,
		.mounts = mounts,
		.nmounts = 3,
	};
}

void make_section(struct trailer_section *s, const char *name, int rows)
{
	must(section_begin(s, name,
			   "pid i64\nid u64\nstart f64 s\nhost str\ncalls i64[3] calls\ntag char[16]\nargs str[2]\n"));
	for (int i = 0; i < rows; i++) {
		char host[32];
		snprintf(host, sizeof host, "node%03d", i);
		section_row(s);
		section_set_i64(s, "pid", 0, 100 + i);
		section_set_i64(s, "id", 0, -1 - i);
		section_set_f64(s, "start", 0, 0.5 * i);
		section_set_text(s, "host", 0, host);
		for (uint32_t k = 0; k < 3; k++)
			section_set_i64(s, "calls", k, 10 * i + k);
		section_set_text(s, "tag", 0, "exactly16letters");
		section_set_text(s, "args", 1, "second");
	}
	must(s->failed);
}

static void write_modules(struct log_writer *w, int files)
{
	uint64_t seed = 1;
	struct posix_record p;
	struct stdio_record t;
	struct made_heatmap h;
	char name[64];
	log_write_module(w, LOG_MOD_POSIX, 4);
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof name, "/data/file-%d", i);
		make_posix(&p, &seed, log_id(name), i % 4 - 1);
		log_write_record(w, &p, sizeof p);
	}
	log_write_module(w, LOG_MOD_STDIO, 2);
	make_stdio(&t, &seed, log_id("<STDOUT>"), 0);
	log_write_record(w, &t, sizeof t);
	log_write_module(w, LOG_MOD_HEATMAP, 1);
	for (int rank = 0; rank < 3; rank++)
		log_write_record(w, &h, make_heatmap(&h, &seed, log_id("heatmap:POSIX"), rank, 7));
}

uint8_t *make_log(size_t *size)
{
	enum { FILES = 5 };
	struct log_writer *w;
	struct trailer_section s;
	char name[64];
	struct log_job_text job = make_job(4);
	must(log_writer_memory(&w, NULL));
	log_write_job(w, &job);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "/data/file-%d", i);
		log_write_name(w, log_id(name), name);
	}
	log_write_name(w, log_id("<STDOUT>"), "<STDOUT>");
	log_write_name(w, log_id("heatmap:POSIX"), "heatmap:POSIX");
	write_modules(w, FILES);
	log_write_partial(w, LOG_MOD_STDIO);
	make_section(&s, "process", 3);
	log_write_section(w, &s);
	section_free(&s);
	must(log_writer_finish(w, NULL));
	const void *data = log_writer_data(w, size);
	uint8_t *copy = malloc(*size);
	memcpy(copy, data, *size);
	log_writer_free(w);
	return copy;
}

/* ---- other containers ---- */

struct store_reader {
	uint8_t at[65536];
	size_t used;
	const struct other_log *o;
};

static uint64_t turn(const struct store_reader *m, uint64_t v, size_t bytes)
{
	return m->o->swapped ? __builtin_bswap64(v) >> 8 * (8 - bytes) : v;
}

static void place(struct store_reader *m, size_t at, uint64_t v, size_t bytes)
{
	v = turn(m, v, bytes);
	memcpy(m->at + at, &v, bytes);
}

static void append_stream(struct store_reader *m, const void *data, size_t n)
{
	uLongf room = sizeof m->at - m->used;
	if (m->o->compression == LOG_ZLIB)
		compress(m->at + m->used, &room, data, n);
#ifdef HAVE_BZIP2
	unsigned bzip2_room = (unsigned)room;
	if (m->o->compression == LOG_BZIP2)
		BZ2_bzBuffToBuffCompress((char *)m->at + m->used, &bzip2_room, (char *)data, (unsigned)n, 9, 0, 0);
	if (m->o->compression == LOG_BZIP2)
		room = bzip2_room;
#endif
	if (m->o->compression == LOG_PLAIN)
		memcpy(m->at + m->used, data, room = n);
	m->used += room;
}

/* Two streams, cut within a record, as no writer does but readers must expect. */
static void append(struct store_reader *m, const void *data, size_t n)
{
	size_t first = n > 24 ? n / 2 - n / 2 % 8 + 4 : n;
	append_stream(m, data, first);
	if (first < n)
		append_stream(m, (const uint8_t *)data + first, n - first);
}

static void append_words(struct store_reader *m, const void *words, size_t n)
{
	uint64_t *copy = malloc(n + 8);
	memcpy(copy, words, n);
	for (size_t i = 0; i < n / 8; i++)
		copy[i] = turn(m, copy[i], 8);
	append(m, copy, n);
	free(copy);
}

static void append_job(struct store_reader *m)
{
	static const int64_t with_ns[] = {7, 1000, 500000000, 1100, 750000000, 4, 42};
	static const int64_t without[] = {7, 1000, 1100, 4, 42};
	bool ns = m->o->minor >= 41;
	size_t fixed = ns ? sizeof with_ns : sizeof without;
	uint8_t text[CONTAINER_JOB_MAX] = {0};
	for (size_t i = 0; i < fixed / 8; i++) {
		uint64_t v = turn(m, (uint64_t)(ns ? with_ns[i] : without[i]), 8);
		memcpy(text + 8 * i, &v, 8);
	}
	strcpy((char *)text + fixed, "lib_ver=3.1.4\nkey=a=b\n");
	strcpy((char *)text + fixed + 1024, "./prog arg\next4\t/\nlustre\t/data");
	append(m, text, m->o->compression == LOG_PLAIN ? sizeof text : fixed + 1024 + 40);
}

static void append_name(struct store_reader *m)
{
	static const char name[] = "/five";
	uint8_t entry[64];
	uint64_t id = turn(m, 5, 8), length = turn(m, strlen(name), 4);
	size_t head = m->o->minor ? 8 : 12;
	memcpy(entry, &id, 8);
	memcpy(entry + 8, &length, 4);
	memcpy(entry + head, name, sizeof name);
	append(m, entry, head + strlen(name) + (m->o->minor > 0));
}

static void region_at(struct store_reader *m, size_t map_at, size_t start)
{
	place(m, map_at, start, 8);
	place(m, map_at + 8, m->used - start, 8);
}

uint8_t *make_other_log(const struct other_log *o, size_t *size)
{
	static struct store_reader m;
	bool new = o->minor >= 41;
	memset(&m, 0, sizeof m);
	m.o = o;
	m.used = new ? 1328 : 360;
	snprintf((char *)m.at, 8, "3.%02d", o->minor);
	place(&m, 8, CONTAINER_MAGIC, 8);
	m.at[16] = (uint8_t)o->compression;
	place(&m, new ? 24 : 20, o->partial, new ? 8 : 4);
	append_job(&m);
	size_t start = m.used;
	append_name(&m);
	region_at(&m, new ? 32 : 24, start);
	for (int i = 0; i < o->regions; i++) {
		const struct other_region *r = &o->region[i];
		start = m.used;
		append_words(&m, r->data, r->size);
		region_at(&m, (new ? 48 : 40) + 16 * (size_t)r->module, start);
		place(&m, (new ? 1072 : 296) + 4 * (size_t)r->module, r->version, 4);
	}
	uint8_t *copy = malloc(m.used);
	memcpy(copy, m.at, m.used);
	*size = m.used;
	return copy;
}
