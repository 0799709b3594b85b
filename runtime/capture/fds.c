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

uintptr_t fds_classify(int fd)
{
	struct stat s;
	if (fd < 0 || sys_fstat(fd, &s) != 0)
		return 0;
	self_enter();
	uintptr_t at = fds_foreign() || make_entry(fd) ? class_of(fd, &s) : STATE_CLASS_NO_ROOM;
	if (at && !fds_foreign())
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
	return !self_is_owner();
}

void fds_vfork_seen(void)
{
	__atomic_store_n(&fds_shared_memory_children, true, __ATOMIC_RELAXED);
}
