#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_store.h"
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
