#include "bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "make_store.h"
#include "store_reader.h"
#include "unit.h"

enum { STORES = 3 };

struct bundled {
	char *directory, path[300], store[STORES][300];
	int64_t end[STORES];
	char entry[STORES][400];
	int entries;
};

static int note_entry(void *context, const char *entry)
{
	struct bundled *b = context;
	if (b->entries < STORES)
		snprintf(b->entry[b->entries], sizeof *b->entry, "%s", entry);
	b->entries++;
	return 0;
}

static void list(struct bundled *b)
{
	b->entries = 0;
	EQUAL(bundle_each(b->path, note_entry, b), 0);
}

/* Whatever the store's file has, with its holes. */
static bool same_bytes(const char *file, const char *entry)
{
	struct stat s, t;
	int a = store_open(file), b = store_open(entry);
	bool same = a >= 0 && b >= 0 && fstat(a, &s) == 0 && fstat(b, &t) == 0 && s.st_size == t.st_size;
	char x[4096], y[4096];
	for (off_t at = 0; same && at < s.st_size; at += sizeof x) {
		ssize_t n = pread(a, x, sizeof x, at);
		same = n > 0 && pread(b, y, sizeof y, at) == n && memcmp(x, y, (size_t)n) == 0;
	}
	close(a);
	close(b);
	return same;
}

static void make(struct bundled *b)
{
	struct deflater *deflater = deflater_make();
	*b = (struct bundled){.directory = unit_directory()};
	snprintf(b->path, sizeof b->path, "%s/ended" BUNDLE_SUFFIX, b->directory);
	int bundle = open(b->path, O_RDWR | O_CREAT, 0600);
	int64_t at = 0;
	for (int n = 0; n < STORES; n++) {
		char name[32];
		snprintf(name, sizeof name, "host.%d.4f.store", 1000 + n);
		snprintf(b->store[n], sizeof *b->store, "%s/%s", b->directory, name);
		make_store(b->store[n], n, STORES);
		CHECK(truncate(b->store[n], 64 << 20) == 0);
		int store = open(b->store[n], O_RDONLY);
		at = b->end[n] = bundle_append(bundle, at, store, name, deflater);
		CHECK(at > 0);
		close(store);
	}
	close(bundle);
	deflater_free(deflater);
	bundle_enable();
}

TEST(an_entry_of_a_bundle_is_the_store)
{
	struct bundled b;
	make(&b);
	list(&b);
	EQUAL(b.entries, STORES);
	for (int n = 0; n < STORES; n++) {
		CHECK(bundle_names(b.entry[n]) && !bundle_names(b.store[n]));
		CHECK(strcmp(strrchr(b.entry[n], '/'), strrchr(b.store[n], '/')) == 0);
		CHECK(same_bytes(b.store[n], b.entry[n]));
	}
	CHECK(!same_bytes(b.store[0], b.entry[1]));
	CHECK(b.end[STORES - 1] < STORES * 65536);
	unit_remove(b.directory);
}

/* As it is when `iolens run` is killed while it writes the last one. */
TEST(a_bundle_cut_short_has_the_entries_before)
{
	struct bundled b;
	make(&b);
	for (int64_t size = b.end[2] - 1; size >= b.end[1]; size -= size > b.end[1] + 300 ? 97 : 1) {
		CHECK(truncate(b.path, size) == 0);
		list(&b);
		EQUAL(b.entries, 2);
	}
	CHECK(same_bytes(b.store[1], b.entry[1]));
	unit_remove(b.directory);
}

/* A bit that changes nothing of what comes out is none: zeros may be copied from here or there. */
TEST(a_damaged_entry_is_an_error)
{
	struct bundled b;
	make(&b);
	list(&b);
	int fd = open(b.path, O_RDWR), refused = 0;
	for (int64_t at = b.end[0] + 300; at < b.end[1]; at += 199) {
		char was, flipped;
		CHECK(pread(fd, &was, 1, at) == 1);
		flipped = (char)(was ^ 0x10);
		CHECK(pwrite(fd, &flipped, 1, at) == 1);
		int got = store_open(b.entry[1]);
		refused += got < 0;
		CHECK(got < 0 || same_bytes(b.store[1], b.entry[1]));
		close(got);
		CHECK(pwrite(fd, &was, 1, at) == 1);
	}
	close(fd);
	CHECK(refused > 100);
	CHECK(same_bytes(b.store[1], b.entry[1]));
	unit_remove(b.directory);
}
