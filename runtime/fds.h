/*
 * What every descriptor is. An entry is 0 (never seen), a live_class_id (only counted) or a pointer to
 * a struct fds_open. A descriptor that nobody opened before our eyes (inherited, passed over a
 * socket, opened before we started) is classified at its first use.
 */
#ifndef IOLENS_FDS_H
#define IOLENS_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "self.h"

struct name;

enum { FDS_MAX = 1 << 20 };

/* The head of a module's open file description. */
struct fds_open {
	struct name *name;
};

extern uintptr_t fds_table[FDS_MAX] __attribute__((visibility("hidden")));

/* An operation that is being watched: `at` is the entry of its descriptor, 0 = do not record. */
struct span {
	uintptr_t at;
	double start; /* s */
	int fd;
};

static inline bool span_tracked(struct span s)
{
	return s.at >= LIVE_CLASS_COUNT;
}

uintptr_t fds_classify(int fd);

/* Makes an entry for a regular file that was opened out of our sight; set by the module that owns descriptors. */
extern uintptr_t (*fds_adopt)(int fd);

static inline uintptr_t fds_get(int fd)
{
	if (__builtin_expect((unsigned)fd >= FDS_MAX, 0))
		return 0;
	uintptr_t at = __atomic_load_n(&fds_table[fd], __ATOMIC_ACQUIRE);
	return __builtin_expect(at != 0, 1) ? at : fds_classify(fd);
}

/* The start of an operation on a descriptor. */
static inline struct span span_fd(int fd)
{
	struct span s = {0, 0, fd};
	if (!self_ready())
		return s;
	s.at = fds_get(fd);
	if (span_tracked(s))
		s.start = clock_now();
	return s;
}

/* The start of an operation that has no descriptor yet: an open, a stat. */
static inline struct span span_path(void)
{
	struct span s = {0, 0, -1};
	if (self_ready()) {
		s.at = 1;
		s.start = clock_now();
	}
	return s;
}

/* Replaces an entry and returns the old one. */
uintptr_t fds_set(int fd, uintptr_t at);

/* Descriptors below this may have an entry. */
int fds_end(void);

/* The name of the file that a tracked descriptor is open on, or NULL. */
const char *fds_name(int fd);

void fds_count_shared(enum live_class_id class, enum live_kind kind, int64_t got);

/* A read or write on a descriptor that is only counted. Each addition is one instruction: no signal handler gets between. */
static inline void fds_count(enum live_class_id class, enum live_kind kind, int64_t got)
{
	if (got < 0)
		return;
	if (__builtin_expect(self.shared, 0)) {
		fds_count_shared(class, kind, got);
		return;
	}
	struct live_class *c = &self.shard->class[class];
	c->calls[kind]++;
	c->bytes[kind] += got;
}

/*
 * True in the child of a vfork: it shares our memory but not our descriptors, so what it closes and
 * duplicates must not change the table.
 */
bool fds_foreign(void);

void fds_vfork_seen(void);

#endif
