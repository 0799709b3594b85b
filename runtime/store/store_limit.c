#include "store_limit.h"

#include <stdint.h>
#include <string.h>

#include "lock.h"
#include "storename.h"
#include "sys.h"
#include "thread.h"

enum {
	SHARE = 4, /* of what is free besides; with what a grant and pages of the process itself may add, a quarter of all */
	MANY = 16,  /* stores that grow one after the other stay below their share if each takes so little */
	ENTRY = 20, /* bytes that a directory in memory has for each of its files */
};

struct sum {
	int directory;
	uint64_t bytes, stores;
	uint64_t empty; /* of them: their processes still look whether they may have one */
};

static bool add(void *context, const char *name)
{
	struct sum *sum = context;
	struct stat s;
	if (storename_pid(name) &&
	    sys_call(SYS_newfstatat, sum->directory, (long)name, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) == 0) {
		uint64_t bytes = (uint64_t)s.st_blocks * 512; /* one that begins will have more */
		sum->bytes += bytes > STORE_LEAST ? bytes : STORE_LEAST;
		sum->stores++;
		sum->empty += bytes == 0;
	}
	return true;
}

static uint64_t free_bytes(const struct statfs *fs)
{
	return (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize;
}

static uint64_t stores_at_most(const struct stat *directory)
{
	return (uint64_t)directory->st_size / ENTRY + 1;
}

/* Hence nothing needs to be opened, but where room is short. */
static bool plenty(const struct statfs *fs, const struct stat *directory, size_t all)
{
	return all <= free_bytes(fs) / MANY / stores_at_most(directory);
}

static struct sum sum_of(int directory)
{
	static char names[2048] __attribute__((aligned(8)));
	struct sum sum = {.directory = directory};
	sys_each_name_in(directory, names, sizeof names, add, &sum);
	return sum;
}

/* As if each of the others took as much now. */
static bool fits_with(uint64_t bytes, uint64_t stores, uint64_t most, size_t more)
{
	return bytes < most && more <= (most - bytes) / (stores / 2 + 1);
}

static bool fits(const struct statfs *fs, int directory, size_t more)
{
	struct sum sum = sum_of(directory);
	return fits_with(sum.bytes, sum.stores, free_bytes(fs) / SHARE, more);
}

/*
 * All together have room, the new one and other empty ones included. Those are not counted a second time as stores that grow: some of
 * them are about to go.
 */
static bool fits_another(const struct statfs *fs, int directory)
{
	struct sum sum = sum_of(directory);
	uint64_t most = free_bytes(fs) / SHARE;
	return sum.bytes <= most &&
	       fits_with(sum.bytes - sum.empty * STORE_LEAST, sum.stores - sum.empty, most, STORE_LEAST);
}

bool store_limit_begin(int directory)
{
	struct statfs fs;
	struct stat s;
	if (sys_call(SYS_fstatfs, directory, (long)&fs, 0, 0, 0, 0) != 0 || sys_fstat(directory, &s) != 0)
		return true;
	return plenty(&fs, &s, STORE_LEAST) || fits_another(&fs, directory);
}

struct growth {
	const char *directory;
	const struct statfs *fs;
	size_t more;
	bool read, fits;
};

static void look_whether_it_fits(void *growth)
{
	struct growth *g = growth;
	int directory = sys_open(g->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (directory < 0)
		return;
	g->fits = fits(g->fs, directory, g->more);
	g->read = true;
	sys_close(directory);
}

/* Of a directory that cannot be read (no descriptor is left) the others count as much as this store. */
static bool fits_alike(const struct statfs *fs, const struct stat *directory, size_t all)
{
	return all <= free_bytes(fs) / SHARE / stores_at_most(directory);
}

/* What cannot be asked refuses nothing: the store has its budget all the same. */
bool store_limit_grow(const char *store, size_t own, size_t more)
{
	static char path[512];
	struct statfs fs;
	struct stat s;
	size_t n = (size_t)(strrchr(store, '/') - store);
	if (n >= sizeof path)
		return true;
	memcpy(path, store, n);
	path[n] = '\0';
	if (sys_statfs(path, &fs) != 0 || sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, 0, 0, 0) != 0)
		return true;
	if (plenty(&fs, &s, own + more))
		return true;
	struct growth g = {path, &fs, more, false, false};
	alone_do(look_whether_it_fits, &g);
	return g.read ? g.fits : fits_alike(&fs, &s, own + more);
}
