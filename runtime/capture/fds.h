/*
 * What every descriptor is. An entry is 0 (never seen), a state_class_id (only counted) or a pointer to
 * a struct fds_open. A descriptor that no wrapper saw being opened (inherited, passed over a
 * socket, opened before the library started) is classified at its first use.
 */
#ifndef IOLENS_FDS_H
#define IOLENS_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "self.h"

struct name;

/* Nearly all descriptors are near ones; memory for the others is taken in pieces, when the first of a piece comes. */
enum { FDS_MAX = 1 << 20, FDS_NEAR = 4096, FDS_PIECE = 4096 };

/* The head of a module's open file description. */
struct fds_open {
	struct name *name;
	uint64_t id; /* no other open of the process has it; 0 = it has none */
};

extern uintptr_t fds_near[FDS_NEAR] __attribute__((visibility("hidden")));

/* An operation that is being watched: `at` is the entry of its descriptor, 0 = do not record. */
struct span {
	uintptr_t at;
	double start; /* s */
	int fd;
	bool untimed; /* it takes no clock, at neither end (sampling.h) */
};

static inline bool span_tracked(struct span s)
{
	return s.at >= STATE_CLASS_COUNT;
}

struct stat;
uintptr_t fds_classify(int fd);

/* The class of what is no regular file. Inside self_enter. */
uintptr_t fds_class_of(int fd, const struct stat *s);
uintptr_t fds_get_far(int fd);

/* The end of a pipe, named or not. The kernel knows without asking a file system. */
bool fds_is_pipe(int fd);

/* Is it a named pipe that an open waited for? `took`: s of an open; a file that takes as long is asked, too. */
#define FDS_WAITED 0.5e-3 /* s */
static inline bool fds_waited_for_pipe(int fd, double took)
{
	return __builtin_expect(took > FDS_WAITED, 0) && fds_is_pipe(fd);
}

/* What is only counted has become something else: its class is looked up at the next use. */
void fds_unclassify(int fd);

/* Makes an entry for a regular file that no wrapper saw being opened; set by the module that owns descriptors. */
extern uintptr_t (*fds_adopt)(int fd);

/* An entry is not needed any more; set by that module, too. Inside self_enter. */
extern void (*fds_release)(uintptr_t at);

/*
 * A descriptor is closed or becomes something else, which may be a stream's. Both are set by the module that owns streams: all
 * descriptors that streams ever had are below the second, 0 = there are none. It only rises, atomic.
 */
extern void (*fds_stream_changed)(int fd);
extern unsigned fds_stream_end __attribute__((visibility("hidden")));

static inline void fds_changed(int fd)
{
	if (__builtin_expect((unsigned)fd < __atomic_load_n(&fds_stream_end, __ATOMIC_ACQUIRE), 0))
		fds_stream_changed(fd);
}

/* From the table. */
static inline uintptr_t fds_get_shared(int fd)
{
	if (__builtin_expect((unsigned)fd >= FDS_NEAR, 0))
		return fds_get_far(fd);
	uintptr_t at = __atomic_load_n(&fds_near[fd], __ATOMIC_ACQUIRE);
	if (__builtin_expect(at >= STATE_CLASS_COUNT, 1))
		return at;
	return at ? at : fds_classify(fd);
}

uintptr_t fds_get(int fd);

/* The entry of a descriptor, 0 where the thread may not record. Out of line: what fds_entry does not know. */
uintptr_t fds_asked(int fd);

/* The entry of a descriptor that has one near by, where the thread may record; 0 says nothing. Nothing is called. */
static inline uintptr_t fds_entry(int fd)
{
	bool near = __builtin_expect((unsigned)fd < FDS_NEAR, 1);
	return near && self.gate == self_pass() ? __atomic_load_n(&fds_near[fd], __ATOMIC_ACQUIRE) : 0;
}

/* The start of an operation on it. */
static inline struct span span_entry(int fd, uintptr_t at)
{
	struct span s = {.fd = fd, .at = __builtin_expect(!at, 0) ? fds_asked(fd) : at};
	if (span_tracked(s))
		s.start = clock_now();
	return s;
}

/* The start of an operation on a descriptor. */
static inline struct span span_fd(int fd)
{
	return span_entry(fd, fds_entry(fd));
}

/* The start of an operation that has no descriptor yet: an open, a stat. */
static inline struct span span_path(void)
{
	struct span s = {.fd = -1};
	if (self_ready()) {
		s.at = 1;
		s.start = clock_now();
	}
	return s;
}

uintptr_t fds_set_far(int fd, uintptr_t at);

/* Class ids are not reference-counted, and one thread races with none: a plain store suffices. */
static inline uintptr_t fds_replace(uintptr_t *entry, uintptr_t at)
{
	uintptr_t old = __atomic_load_n(entry, __ATOMIC_RELAXED);
	if (old >= STATE_CLASS_COUNT && !lock_is_needless())
		return __atomic_exchange_n(entry, at, __ATOMIC_ACQ_REL);
	__atomic_store_n(entry, at, __ATOMIC_RELEASE);
	return old;
}

/* Replaces an entry and returns the old one. Inside self_enter. */
static inline uintptr_t fds_set(int fd, uintptr_t at)
{
	bool near = __builtin_expect((unsigned)fd < FDS_NEAR, 1);
	return near ? fds_replace(&fds_near[fd], at) : fds_set_far(fd, at);
}

uintptr_t fds_peek_far(int fd);

/* An entry as it is: 0 for a descriptor that was never seen. */
static inline uintptr_t fds_peek(int fd)
{
	bool near = __builtin_expect((unsigned)fd < FDS_NEAR, 1);
	return near ? __atomic_load_n(&fds_near[fd], __ATOMIC_ACQUIRE) : fds_peek_far(fd);
}

/* The first descriptor from `fd` on that has an entry; -1 = there is none. */
int fds_next(int fd);

void fds_count_shared(enum state_class_id class, enum io_op op, int64_t got);

/* A read or write on a descriptor that is only counted. Each addition is one instruction: no signal handler gets between. */
static inline void fds_count(enum state_class_id class, enum io_op op, int64_t got)
{
	if (got < 0)
		return;
	if (__builtin_expect(self.shared, 0)) {
		fds_count_shared(class, op, got);
		return;
	}
	struct state_class *c = &self.shard->class[class];
	c->calls[op]++;
	c->bytes[op] += got;
}

/*
 * True in the child of a vfork, which shares our memory but not our descriptors, and in a thread that has left them: what
 * it closes and duplicates must not change the table.
 */
bool fds_is_foreign(void);
extern bool fds_shared_memory_children __attribute__((visibility("hidden")));

static inline bool fds_foreign(void)
{
	bool maybe = __atomic_load_n(&fds_shared_memory_children, __ATOMIC_RELAXED);
	return __builtin_expect(maybe, 0) && fds_is_foreign();
}

void fds_vfork_seen(void);

/* The calling thread goes by descriptors of its own: those that it has now, and changes from now on. */
void fds_part(bool for_good);

/* Where fds_foreign: replaces what the thread has at a number that is not the table's any more; returns what it had. */
uintptr_t fds_set_apart(int fd, uintptr_t at);

/* The same for all numbers from `first` to `last`, which it has closed. True. */
bool fds_left_apart(unsigned first, unsigned last);

#endif
