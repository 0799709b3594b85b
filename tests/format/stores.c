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

TEST(lengths_that_the_end_of_a_process_kept_from_being_counted_are_told_by_the_bytes)
{
	struct posix_record r = read_back(3 + 14, 230 + 14 * 30, 0, 0); /* a run of 14 */
	EQUAL(r.access[0], 30);
	EQUAL(r.access_count[0], 15);
	EQUAL(r.access[1], 100);
	EQUAL(r.access_count[1], 2);
	r = read_back(3 + 1, 230 + 7, 0, 0); /* the first one of its length */
	EQUAL(r.access[2], 7);
	EQUAL(r.access_count[2], 1);
	r = read_back(3 + 5, 230, 0, 0); /* five of no bytes, which are never shown */
	EQUAL(r.access_count[0], 2);
	r = read_back(3 + 2, 230 + 100 + 30, 0, 0); /* of two lengths: nothing is known */
	EQUAL(r.access_count[0], 2);
	EQUAL(r.access_count[1], 1);
	r = read_back(4 + 1, 250 + 30, 20, 1); /* others may not be shown */
	EQUAL(r.access_count[1], 1);
}
