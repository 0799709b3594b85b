/*
 * The fuzzers' starting points: writes small logs into a directory, or with --trailer sections and a directory of a trailer, or
 * with --accesses records of accesses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accesses.h"
#include "directory.h"
#include "make.h"

static void save(const char *directory, int number, uint8_t *data, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/seed-%02d", directory, number);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(1);
	}
	free(data);
}

/* As trailer.c takes them. */
static void save_sections(const char *to)
{
	static const int rows[] = {1, 2, 7, 300};
	struct deflater *deflater = NULL;
	struct directory directory = {0};
	struct log_bytes out = {0};
	int n = 0;
	for (; n < (int)(sizeof rows / sizeof *rows); n++) {
		struct trailer_section s;
		make_section(&s, "process", rows[n]);
		const uint16_t head[] = {(uint16_t)rows[n], (uint16_t)((s.rows.used + s.heap.used) / 16 + 1)};
		out = (struct log_bytes){0};
		log_bytes_add(&out, head, sizeof head);
		compact_write(&out, &s, &deflater);
		if (directory_takes(&s))
			directory_add_table(&directory, &s);
		section_free(&s);
		save(to, n, out.at, out.used);
	}
	out = (struct log_bytes){0};
	directory_add_section(&directory, "no known word", &(struct compact_part){1, 9, 8, 0, 0});
	directory_write(&directory, &out);
	directory_free(&directory);
	save(to, n, out.at, out.used - sizeof(struct compact_footer));
	deflater_free(deflater);
}

/* As accesses.c takes them: without what stands in front of a record. */
static void save_accesses(const char *directory)
{
	static const int counts[] = {1, 3, 100, ACCESS_BLOCK + 10};
	struct access_writer *w = access_writer_make();
	for (int n = 0; n < (int)(sizeof counts / sizeof *counts); n++) {
		struct access_head head = {.id = 5, .rank = n - 1, .host = "node"};
		struct log_bytes out = {0};
		for (int64_t i = 0; i < counts[n]; i++) {
			struct logged_access a = {i * 4096, 4096 + i % (n + 1), i * 100, i * 100 + 30 + i % 7,
						  1 + i % 2};
			a.offset = n % 2 ? a.offset : i * 7919 % 1003 * 512;
			access_add(w, i % 3 ? ACCESS_WRITES : ACCESS_READS, &a);
		}
		access_end(w, &head, &out);
		size_t front = sizeof(uint32_t);
		while (out.at[front - sizeof(uint32_t)] & 0x80)
			front++;
		front++;
		memmove(out.at, out.at + front, out.used - front);
		save(directory, n, out.at, out.used - front);
	}
	access_writer_free(w);
}

int main(int argc, char **argv)
{
	static const int minors[] = {0, 10, 21, 41};
	uint64_t seed = 1, heat[14] = {9, 0, 0, 4};
	struct posix_record p;
	size_t size;
	int n = 0;
	if (argc == 3 && !strcmp(argv[1], "--trailer")) {
		save_sections(argv[2]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "--accesses")) {
		save_accesses(argv[2]);
		return 0;
	}
	if (argc != 2)
		return 2;
	uint8_t *log = make_log(&size);
	save(argv[1], n++, log, size);
	make_posix(&p, &seed, 5, 2);
	for (int i = 0; i < 4; i++) {
		for (int swapped = 0; swapped < 2; swapped++) {
			struct other_log o = {.minor = minors[i], .swapped = swapped, .compression = LOG_PLAIN};
			o.region[o.regions++] = (struct other_region){1, i + 1, &p, sizeof p};
			if (minors[i] == 41)
				o.region[o.regions++] = (struct other_region){15, 1, heat, sizeof heat};
			log = make_other_log(&o, &size);
			save(argv[1], n++, log, size);
		}
	}
	return 0;
}
