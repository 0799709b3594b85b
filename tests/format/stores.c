#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_store.h"
#include "runs.h"
#include "store_reader.h"
#include "trailer.h"
#include "unit.h"

/* Threads of a process that writes its own log go on meanwhile. */
TEST(a_thread_that_began_since_a_store_was_laid_out_is_left_out)
{
	char *directory = unit_directory(), path[300];
	struct log_error err = {0};
	struct store_reader i;
	struct stat s;
	snprintf(path, sizeof path, "%s/one.store", directory);
	make_store(path, 0, 1);
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && fstat(fd, &s) == 0);
	char *image = aligned_alloc(64, ((size_t)s.st_size + 63) / 64 * 64);
	EQUAL(read(fd, image, (size_t)s.st_size), s.st_size);
	struct trailer_entry *entry = (struct trailer_entry *)(image + s.st_size - sizeof(struct trailer_footer)) - 1;
	entry->row_size = offsetof(struct process_state, shard) + sizeof(struct state_shard);
	((struct process_state *)(image + entry->offset + entry->schema))->shards = 3;
	EQUAL(store_reader_open_own(&i, image, (size_t)s.st_size, &err), 0);
	EQUAL(store_reader_load_state(&i, &err), 0);
	EQUAL(i.shards, 1);
	store_reader_close(&i);
	free(image);
	close(fd);
	unit_remove(directory);
}

/* What a reader makes of a record with `calls` reads of `bytes` together, two of 100 and one of 30 of them counted by length. */
static struct posix_record read_back(int64_t calls, int64_t bytes, int64_t last, int64_t last_count)
{
	struct runs runs = {.posix = true};
	struct posix_record r = {.reads = calls,
				 .bytes_read = bytes,
				 .access = {100, 30, 0, last},
				 .access_count = {2, 1, 0, last_count}};
	struct log_record record = {.data = &r, .size = sizeof r};
	runs_add(&runs, &record);
	memcpy(&r, record.data, sizeof r);
	return r;
}

TEST(the_length_of_an_access_that_the_end_of_a_process_interrupted_is_told_by_the_bytes)
{
	struct posix_record r = read_back(3 + 1, 230 + 30, 0, 0);
	EQUAL(r.access[0], 100);
	EQUAL(r.access_count[0], 2);
	EQUAL(r.access[1], 30);
	EQUAL(r.access_count[1], 2);
	r = read_back(3 + 1, 230 + 7, 0, 0); /* the first one of its length */
	EQUAL(r.access[2], 7);
	EQUAL(r.access_count[2], 1);
	r = read_back(3 + 1, 230, 0, 0); /* of no bytes, which are never shown */
	EQUAL(r.access_count[0], 2);
	r = read_back(3 + 2, 230 + 100 + 30, 0, 0); /* no thread leaves two */
	EQUAL(r.access_count[0], 2);
	EQUAL(r.access_count[1], 1);
	r = read_back(4 + 1, 250 + 30, 20, 1); /* others may not be shown */
	EQUAL(r.access_count[1], 1);
}

static const struct posix_record before = {.reads = 20,
					   .bytes_read = 1000,
					   .size_read = {20},
					   .seq_reads = 19,
					   .max_byte_read = 4000,
					   .stride = {7, 100},
					   .stride_count = {10, 8},
					   .access = {40, 64},
					   .access_count = {11, 9}};
static const struct state_run run = {
	.count = 14, .bytes = 64, .step = 101, .end = 9000, .mem_not_aligned = 3, .file_not_aligned = 5};

static void is_added_once(const struct posix_record *r)
{
	EQUAL(r->reads, 34);
	EQUAL(r->bytes_read, 1000 + 14 * 64);
	EQUAL(r->size_read[0], 34);
	EQUAL(r->seq_reads, 33);
	EQUAL(r->consec_reads, 0);
	EQUAL(r->max_byte_read, 9000);
	EQUAL(r->mem_not_aligned, 3);
	EQUAL(r->file_not_aligned, 5);
	EQUAL(r->stride[0], 100);
	EQUAL(r->stride_count[0], 22);
	EQUAL(r->stride[1], 7);
	EQUAL(r->stride_count[1], 10);
	EQUAL(r->access[0], 64);
	EQUAL(r->access_count[0], 23);
	EQUAL(r->access[1], 40);
	EQUAL(r->access_count[1], 11);
}

TEST(a_run_that_was_being_added_is_added_once)
{
	struct posix_record after = before;
	struct state_settling settling;
	runs_settle(&after, IO_READ, &run, &settling, 1);
	EQUAL(settling.run, 1);
	for (size_t done = 0; done <= sizeof after; done += sizeof(int64_t)) {
		struct posix_record r = before;
		memcpy(&r, &after, done);
		runs_finish(&r, IO_READ, &run, &settling);
		is_added_once(&r);
	}
	/* Its values were moving up: one stands twice, with an old count; the other one has no name, or no new count yet. */
	after.access[1] = 40;
	runs_finish(&after, IO_READ, &run, &settling);
	is_added_once(&after);
	after.access[0] = 0;
	after.access_count[0] = 9;
	runs_finish(&after, IO_READ, &run, &settling);
	is_added_once(&after);
}

TEST(runs_are_added_behind_the_one_that_was_being_added)
{
	struct posix_record r = before;
	struct log_record record = {.data = &r, .size = sizeof r};
	struct runs runs = {.posix = true, .used = 2};
	__typeof__(*runs.each) each[2] = {{.run = run}, {.run = run}};
	runs_settle(&r, IO_READ, &run, &each[1].settling, 1);
	runs.each = each;
	runs_add(&runs, &record);
	memcpy(&r, record.data, sizeof r);
	EQUAL(r.reads, 20 + 2 * 14);
	EQUAL(r.access_count[0], 9 + 2 * 14);
	EQUAL(r.stride_count[0], 8 + 2 * 14);
}
