#include "fds.h"

#include <errno.h>
#include <fcntl.h>

#include "arena.h"
#include "thread.h"
#include "endpoint.h"
#include "sys.h"

enum { PIECES = FDS_MAX / FDS_PIECE };

/* Atomic: a description is whole before its entry says so. The thread that takes one out releases it. */
uintptr_t fds_near[FDS_NEAR];

uintptr_t (*fds_adopt)(int fd) AT_START;
void (*fds_release)(uintptr_t at) AT_START;
void (*fds_stream_changed)(int fd) AT_START;
unsigned fds_stream_end; /* atomic; it only rises */

/* Of the far descriptors: each is made once and stays. */
static uintptr_t *piece[PIECES];

_Static_assert((int)FDS_NEAR == (int)FDS_PIECE, "the near descriptors are the first piece");

bool fds_shared_memory_children; /* set once, before the first of them is made */

static uintptr_t *entries_of(int p)
{
	return p == 0 ? fds_near : __atomic_load_n(&piece[p], __ATOMIC_ACQUIRE);
}

static uintptr_t *entry_of(int fd)
{
	if ((unsigned)fd >= FDS_MAX)
		return NULL;
	uintptr_t *entries = entries_of(fd / FDS_PIECE);
	return entries ? &entries[fd % FDS_PIECE] : NULL;
}

static uintptr_t *make_entry(int fd)
{
	uintptr_t *there = entry_of(fd), *none = NULL;
	if (there || (unsigned)fd >= FDS_MAX)
		return there;
	uintptr_t *made = arena_take(FDS_PIECE * sizeof *made);
	if (made)
		__atomic_compare_exchange_n(&piece[fd / FDS_PIECE], &none, made, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	return entry_of(fd);
}

uintptr_t fds_peek_far(int fd)
{
	uintptr_t *entry = entry_of(fd);
	return entry ? __atomic_load_n(entry, __ATOMIC_ACQUIRE) : 0;
}

uintptr_t fds_get_far(int fd)
{
	uintptr_t at = fds_peek_far(fd);
	return at || (unsigned)fd >= FDS_MAX ? at : fds_classify(fd);
}

uintptr_t fds_set_far(int fd, uintptr_t at)
{
	uintptr_t *entry = at ? make_entry(fd) : entry_of(fd);
	return entry ? fds_replace(entry, at) : 0;
}

uintptr_t fds_asked(int fd)
{
	return self_ready() ? fds_get(fd) : 0;
}

static int next_in(const uintptr_t *entries, int first)
{
	while (first < FDS_PIECE && !__atomic_load_n(&entries[first], __ATOMIC_RELAXED))
		first++;
	return first;
}

int fds_next(int fd)
{
	int first = fd % FDS_PIECE;
	for (int p = fd / FDS_PIECE; fd >= 0 && p < PIECES; p++, first = 0) {
		uintptr_t *entries = entries_of(p);
		int at = entries ? next_in(entries, first) : FDS_PIECE;
		if (at < FDS_PIECE)
			return p * FDS_PIECE + at;
	}
	return -1;
}

uintptr_t fds_class_of(int fd, const struct stat *s)
{
	if (S_ISFIFO(s->st_mode))
		return STATE_CLASS_PIPE;
	if (S_ISSOCK(s->st_mode))
		return endpoint_of(fd);
	bool terminal = S_ISCHR(s->st_mode) && s->st_rdev >> 8 >= 4 && s->st_rdev >> 8 <= 5;
	bool pseudo = S_ISCHR(s->st_mode) && s->st_rdev >> 8 >= 136 && s->st_rdev >> 8 <= 143;
	if (terminal || pseudo)
		return STATE_CLASS_TERMINAL;
	return S_ISCHR(s->st_mode) ? STATE_CLASS_DEVICE : STATE_CLASS_SPECIAL;
}

bool fds_is_pipe(int fd)
{
	return sys_fcntl(fd, F_GETPIPE_SZ, 0) > 0;
}

static uintptr_t class_of(int fd, const struct stat *s)
{
	return S_ISREG(s->st_mode) && fds_adopt ? fds_adopt(fd) : fds_class_of(fd, s);
}

static uintptr_t classify_apart(int fd, const struct stat *s);

uintptr_t fds_classify(int fd)
{
	struct stat s;
	if (fd < 0 || sys_fstat(fd, &s) != 0)
		return 0;
	self_enter();
	bool own = self_apart();
	uintptr_t at = own ? classify_apart(fd, &s) : make_entry(fd) ? class_of(fd, &s) : STATE_CLASS_NO_ROOM;
	if (at && !own)
		fds_set(fd, at);
	self_leave();
	return at || !S_ISSOCK(s.st_mode) ? at : STATE_CLASS_SOCKET;
}

void fds_unclassify(int fd)
{
	uintptr_t at = self_ready() ? fds_get(fd) : 0;
	if (at && at < STATE_CLASS_COUNT && !fds_foreign())
		fds_set(fd, 0);
}

void fds_count_shared(enum state_class_id class, enum io_op op, int64_t got)
{
	self_enter();
	struct state_shard *shard = self_shard();
	if (shard) {
		shard->class[class].calls[op]++;
		shard->class[class].bytes[op] += got;
		self_shard_done();
	}
	self_leave();
}

bool fds_is_foreign(void)
{
	return self_apart() || !self_is_owner();
}

void fds_vfork_seen(void)
{
	__atomic_store_n(&fds_shared_memory_children, true, __ATOMIC_RELAXED);
}

/* ---- a thread with descriptors of its own ---- */

/*
 * What it has used or changed since it parted, at = 0: a free place. Most such threads redirect a few numbers and become another
 * program. Of one that finds no place here, only the kinds of its descriptors are known.
 */
enum { THREADS_APART = 2, KEPT_APART = 16 };
struct kept {
	uintptr_t at;
	int fd;
};
static struct apart {
	struct self *of; /* atomic; NULL: free. The rest is that thread's */
	struct kept kept[KEPT_APART];
} apart[THREADS_APART];

static struct apart *apart_of_thread(void)
{
	for (int i = 0; i < THREADS_APART; i++)
		if (__atomic_load_n(&apart[i].of, __ATOMIC_RELAXED) == &self)
			return &apart[i];
	return NULL;
}

static void apart_claim(void)
{
	bool claimed = apart_of_thread();
	for (int i = 0; i < THREADS_APART && !claimed; i++) {
		struct self *none = NULL;
		claimed = __atomic_compare_exchange_n(&apart[i].of, &none, &self, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_RELAXED);
	}
}

/* The place of a number, or a free one; NULL: there is none. */
static struct kept *place_of(int fd)
{
	struct apart *a = apart_of_thread();
	struct kept *place = NULL;
	for (int i = 0; a && i < KEPT_APART; i++) {
		if (a->kept[i].at && a->kept[i].fd == fd)
			return &a->kept[i];
		place = a->kept[i].at ? place : &a->kept[i];
	}
	return place;
}

/* What the thread had at these numbers. */
static void release_apart(struct apart *a, unsigned first, unsigned last)
{
	for (int i = 0; a && i < KEPT_APART; i++) {
		uintptr_t at = a->kept[i].at;
		if (!at || (unsigned)a->kept[i].fd - first > last - first)
			continue;
		a->kept[i].at = 0;
		fds_release(at);
	}
}

static void end_apart(void)
{
	struct apart *a = apart_of_thread();
	release_apart(a, 0, FDS_MAX - 1);
	if (a)
		__atomic_store_n(&a->of, NULL, __ATOMIC_RELEASE);
}

void fds_part(bool for_good)
{
	self_on_reunion = end_apart;
	if (for_good)
		fds_vfork_seen();
	apart_claim();
	self_part(for_good);
}

uintptr_t fds_set_apart(int fd, uintptr_t at)
{
	if (!self_apart())
		fds_part(false);
	struct kept *place = place_of(fd);
	if (!place)
		return at;
	uintptr_t old = place->at;
	*place = (struct kept){at, fd};
	return old;
}

bool fds_left_apart(unsigned first, unsigned last)
{
	self_enter();
	fds_part(self.parted);
	release_apart(apart_of_thread(), first, last);
	self_leave();
	return true;
}

static uintptr_t get_apart(int fd)
{
	const struct kept *place = place_of(fd);
	return place && place->at ? place->at : fds_classify(fd);
}

uintptr_t fds_get(int fd)
{
	return self_apart() ? get_apart(fd) : fds_get_shared(fd);
}

/* The entry of a number that has none. Inside self_enter. */
static uintptr_t classify_apart(int fd, const struct stat *s)
{
	bool kept = place_of(fd);
	uintptr_t at = kept || !S_ISREG(s->st_mode) ? class_of(fd, s) : STATE_CLASS_NO_ROOM;
	if (at && kept)
		fds_set_apart(fd, at);
	return at;
}
