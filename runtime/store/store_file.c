#include "store_file.h"

#include <string.h>
#include <sys/resource.h>

#include "lock.h"
#include "store_limit.h"
#include "thread.h"
#include "sys.h"

enum { TMPFS = 0x01021994, HUGE = 1 << 20 };

/* Device and inode tell it from another one of its name. Set by the one thread that makes the store. */
static struct {
	const char *path;
	dev_t device;
	ino_t inode;
	bool ahead;                            /* its file system reads ahead */
	bool huge;                             /* its file system would spend huge pages */
	const struct store_region *first_rare; /* the lowest */
} file AT_START;

void store_region_place(struct store_region *r, const struct placed *at, size_t piece_size)
{
	r->offset = at->offset;
	r->capacity = at->length;
	r->piece_size = piece_size;
	r->used = r->touched = 0;
}

static size_t piece_end(const struct store_region *r, int k)
{
	size_t end = (size_t)(k + 1) * r->piece_size + (r->piece_size < r->capacity ? STORE_OVERLAP : 0);
	return end < r->capacity ? end : r->capacity;
}

static size_t piece_length(const struct store_region *r, int k)
{
	return piece_end(r, k) - (size_t)k * r->piece_size;
}

/*
 * A page of a store is read because it is about to be written, and what surrounds it is empty: read ahead (8 MiB here
 * and there), those would be cleared and kept for nothing.
 */
static void advise(char *at, size_t n)
{
	if (file.ahead)
		sys_call(SYS_madvise, (long)at, (long)n, MADV_RANDOM, 0, 0, 0);
	if (file.huge)
		sys_call(SYS_madvise, (long)at, (long)n, MADV_NOHUGEPAGE, 0, 0, 0);
}

/* `at`: where the same part of another file is mapped, which this takes the place of; or NULL. */
static char *map_part(uint64_t offset, size_t n, char *at, int fd)
{
	long got = sys_call(SYS_mmap, (long)at, (long)n, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd,
			    (long)offset);
	if (got < 0 && got > -4096)
		return NULL;
	advise((char *)got, n);
	return (char *)got;
}

static char *map_piece(const struct store_region *r, int k, int fd)
{
	return map_part(r->offset + (uint64_t)k * r->piece_size, piece_length(r, k), k < r->pieces ? r->piece[k] : NULL,
			fd);
}

static bool map_region(struct store_region *r, int fd)
{
	bool shown = r->late && (!r->rare || r == file.first_rare);
	if (shown && !(r->first_page = map_part(r->offset, STORE_PAGE, r->first_page, fd)))
		return false;
	int pieces = r->pieces || r->late ? r->pieces : 1;
	for (int k = 0; k < pieces; k++) {
		char *at = map_piece(r, k, fd);
		if (!at)
			return false;
		r->piece[k] = at;
		r->pieces = r->pieces > k ? r->pieces : k + 1;
	}
	return true;
}

bool store_file_may_reach(uint64_t end)
{
	struct rlimit limit;
	return sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 && end <= limit.rlim_cur;
}

static bool learn(int fd)
{
	struct stat s;
	struct statfs of;
	if (sys_fstat(fd, &s) != 0)
		return false;
	file.device = s.st_dev;
	file.inode = s.st_ino;
	file.huge = s.st_blksize >= HUGE;
	file.ahead = sys_call(SYS_fstatfs, fd, (long)&of, 0, 0, 0, 0) != 0 || of.f_type != TMPFS;
	return true;
}

int store_file_create(int dir, const char *path, size_t size)
{
	const char *name = strrchr(path, '/') + 1;
	int fd = sys_open_at(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && store_file_may_reach(size) && sys_truncate(fd, (int64_t)size) == 0 && store_limit_begin(dir))
		return fd;
	if (fd >= 0) {
		sys_close(fd);
		sys_unlink_at(dir, name);
	}
	return -1;
}

bool store_file_make(int dir, const char *path, size_t size, bool laid_down, struct store_region *const *regions, int n)
{
	const char *name = strrchr(path, '/') + 1;
	file.path = path;
	file.first_rare = NULL;
	for (int i = n; i--;)
		if (regions[i]->rare)
			file.first_rare = regions[i];
	int fd = laid_down ? sys_open_at(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
			   : store_file_create(dir, path, size);
	if (fd < 0)
		return false;
	bool good = learn(fd);
	for (int i = 0; good && i < n; i++)
		good = map_region(regions[i], fd);
	sys_close(fd);
	if (!good && !laid_down)
		sys_unlink_at(dir, name);
	return good;
}

/* ---- growing ---- */

struct named_piece {
	const struct store_region *region;
	int k;
	char *at;
};

static void map_named(void *piece)
{
	struct stat s;
	struct named_piece *p = piece;
	int fd = sys_open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sys_fstat(fd, &s) == 0 && s.st_dev == file.device && s.st_ino == file.inode)
		p->at = map_piece(p->region, p->k, fd);
	sys_close(fd);
}

/* By its name, for tools in which a mapping cannot be had twice. */
static char *map_by_name(const struct store_region *r, int k)
{
	struct named_piece piece = {r, k, NULL};
	alone_do(map_named, &piece);
	return piece.at;
}

/*
 * The kernel maps pages of a shared mapping a second time when it is asked to move none of them; so the file need not be open,
 * and may be beyond reach by now.
 */
static char *map_again(const char *mapped, size_t n)
{
	long at = mapped ? sys_call(SYS_mremap, (long)mapped, 0, (long)n, MREMAP_MAYMOVE, 0, 0) : -1;
	return at < 0 && at > -4096 ? NULL : (char *)at;
}

/* From the first page of the lowest one, for a moment with all that lies between: where the file is beyond reach. */
static char *begin_rare(const struct store_region *r)
{
	char *at = map_by_name(r, 0);
	size_t between = r->offset - file.first_rare->offset;
	if (at || !(at = map_again(file.first_rare->first_page, between + piece_length(r, 0))))
		return at;
	sys_unmap(at, between);
	return at + between;
}

/* The piece before begins to overlap where the new one begins; a late region's first page is where its first piece begins. */
static bool grow(struct store_region *r)
{
	int k = r->pieces;
	char *mapped = k ? r->piece[k - 1] + r->piece_size : r->first_page;
	if (k == STORE_PIECES || (!mapped && !r->rare))
		return false;
	r->piece[k] = mapped ? map_again(mapped, piece_length(r, k)) : begin_rare(r);
	if (!r->piece[k] && mapped)
		r->piece[k] = map_by_name(r, k);
	if (!r->piece[k])
		return false;
	__atomic_store_n(&r->pieces, k + 1, __ATOMIC_RELEASE);
	return true;
}

char *store_region_at(struct store_region *r, size_t at)
{
	size_t k = at / r->piece_size;
	while ((size_t)r->pieces <= k)
		if (!grow(r))
			return NULL;
	return r->piece[k] + at % r->piece_size;
}

/* The kernel's copy to user memory reports a page that cannot be had; a store of ours would be SIGBUS. */
static bool touch_page(char *page)
{
	if (sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)page, 0, 0, 0, 0) != 0)
		return false;
	memset(page, 0, sizeof(struct timespec));
	return true;
}

bool store_region_reach(struct store_region *r, size_t end)
{
	if (end > r->capacity)
		return false;
	for (; r->touched < end; r->touched += STORE_PAGE) {
		char *page = store_region_at(r, r->touched);
		if (!page || !touch_page(page))
			return false;
	}
	return true;
}

bool store_region_touch(struct store_region *r, size_t from, size_t end)
{
	for (size_t at = from & ~(size_t)(STORE_PAGE - 1); at < end; at += STORE_PAGE) {
		char *page = store_region_at(r, at);
		if (!page || !touch_page(page))
			return false;
	}
	return end <= r->capacity;
}

/* ---- as a whole ---- */

static bool copy_piece(const char *from, char *to, size_t n)
{
	if (!sys_map(to, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1))
		return false;
	memcpy(to, from, n);
	return true;
}

static bool show_piece(const char *from, char *to, size_t n)
{
	n = store_pages(n);
	return sys_call(SYS_mremap, (long)from, 0, (long)n, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0) == (long)to ||
	       copy_piece(from, to, n);
}

bool store_region_show(const struct store_region *r, char *to, size_t n)
{
	bool good = true;
	for (size_t at = 0; good && at < n; at += r->piece_size)
		good = show_piece(r->piece[at / r->piece_size], to + at,
				  n - at < r->piece_size ? n - at : r->piece_size);
	return good;
}
