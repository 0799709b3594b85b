/*
 * libFuzzer target: sections and the directory of a trailer, behind the CRCs that keep the reader's target from them.
 * Input: rows (u16), bytes before (u16, times 16), then the section. Or parts of a table: bytes, rows and bytes before (times 16) of
 * each (u8), then the part.
 */
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "directory.h"
#include "writer.h"

enum { HEAD = 4, PART_HEAD = 3, UNIT = 16 };

static void read_section(const uint8_t *at, size_t size)
{
	uint16_t head[2];
	struct compact_table t = {0};
	memcpy(head, at, sizeof head);
	int code = compact_read(&t, at + HEAD, size - HEAD, head[0], (uint64_t)head[1] * UNIT);
	uint64_t sum = 0;
	for (size_t i = 0; code >= 0 && i < t.bytes.used; i++)
		sum += t.bytes.at[i];
	if (code >= 0 && t.bytes.used < head[0] * t.row_size + (sum == 1))
		abort();
	log_bytes_free(&t.bytes);
	log_free(t.fields);
}

static void read_tables(const struct directory_contents *c, const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct trailer_entry *e = &c->entries[i];
		struct compact_table t = {0};
		if (e->offset > size * (UNIT + 1) || strlen(e->name) >= TRAILER_NAME)
			abort();
		if (!(e->flags & TRAILER_SMALL))
			continue;
		if (e->offset < size * UNIT || e->stored > size * (UNIT + 1) - e->offset)
			abort();
		int code = directory_read_table(c, i, at + (e->offset - size * UNIT), &t);
		if (code >= 0 && t.bytes.used < e->rows * t.row_size)
			abort();
		log_bytes_free(&t.bytes);
		log_free(t.fields);
	}
}

static void read_directory(const uint8_t *at, size_t size)
{
	struct directory_contents now = {0}, before = {0};
	if (directory_read(&now, at, size, size * UNIT) >= 0)
		read_tables(&now, at, size);
	if (directory_read_old(&before, at, size, size * UNIT) >= 0)
		read_tables(&before, at, size);
	directory_contents_free(&now);
	directory_contents_free(&before);
}

/* A log whose table is several parts, each as long as its first byte says, with sound checksums. */
static void read_parts(const uint8_t *at, size_t size)
{
	static const struct log_job_text job = {.nprocs = 1, .lib_ver = "", .exe = "x"};
	struct log_writer *w;
	struct log *log;
	struct trailer *t = NULL;
	struct trailer_table *table = NULL;
	if (log_writer_memory(&w, NULL) < 0)
		return;
	log_write_job(w, &job);
	while (size > PART_HEAD) {
		size_t n = at[0] < size - PART_HEAD ? at[0] : size - PART_HEAD;
		struct compact_part part = {at[1], n, (uint64_t)at[2] * UNIT, log_crc32c(0, at + PART_HEAD, n), 0};
		log_write_part(w, "x", &part, at + PART_HEAD);
		at += PART_HEAD + n;
		size -= PART_HEAD + n;
	}
	if (log_writer_finish(w, NULL) >= 0) {
		size_t all;
		const void *data = log_writer_data(w, &all);
		if (log_open_memory(&log, data, all, NULL) < 0 || trailer_open(&t, log, NULL) < 0)
			abort();
		trailer_find(t, "x", &table, NULL);
		for (uint64_t row = 0; row < trailer_rows(table); row++)
			for (size_t f = 0, n; f < trailer_fields(table); f++)
				trailer_text(table, row, trailer_field_at(table, f), 0, &n);
		trailer_free(table);
		trailer_close(t);
		log_close(log);
	}
	log_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size)
{
	if (size < HEAD)
		return 0;
	read_section(at, size);
	read_directory(at, size);
	read_parts(at, size);
	return 0;
}
