#include "fds.h"

#include <errno.h>

#include "life.h"
#include "names.h"
#include "sys.h"

uintptr_t fds_table[FDS_MAX];
uintptr_t (*fds_adopt)(int fd);

static int highest;
bool fds_shared_memory_children __attribute__((visibility("hidden")));

uintptr_t fds_set(int fd, uintptr_t at)
{
	if ((unsigned)fd >= FDS_MAX)
		return 0;
	int seen = __atomic_load_n(&highest, __ATOMIC_RELAXED);
	while (fd > seen && !__atomic_compare_exchange_n(&highest, &seen, fd, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* What is only counted has no owner, and nobody must be told that it was replaced: a store is enough. */
	uintptr_t old = __atomic_load_n(&fds_table[fd], __ATOMIC_RELAXED);
	if (old >= LIVE_CLASS_COUNT)
		return __atomic_exchange_n(&fds_table[fd], at, __ATOMIC_ACQ_REL);
	__atomic_store_n(&fds_table[fd], at, __ATOMIC_RELEASE);
	return old;
}

int fds_end(void)
{
	return __atomic_load_n(&highest, __ATOMIC_RELAXED) + 1;
}

static uintptr_t class_of(int fd, const struct stat *s)
{
	if (S_ISREG(s->st_mode) && fds_adopt)
		return fds_adopt(fd);
	if (S_ISFIFO(s->st_mode))
		return LIVE_CLASS_PIPE;
	if (S_ISSOCK(s->st_mode))
		return LIVE_CLASS_SOCKET;
	bool terminal = S_ISCHR(s->st_mode) && s->st_rdev >> 8 >= 4 && s->st_rdev >> 8 <= 5;
	bool pseudo = S_ISCHR(s->st_mode) && s->st_rdev >> 8 >= 136 && s->st_rdev >> 8 <= 143;
	if (terminal || pseudo)
		return LIVE_CLASS_TERMINAL;
	return S_ISCHR(s->st_mode) ? LIVE_CLASS_DEVICE : LIVE_CLASS_SPECIAL;
}

uintptr_t fds_classify(int fd)
{
	struct stat s;
	if (fd < 0 || sys_fstat(fd, &s) != 0)
		return 0;
	self_enter();
	uintptr_t at = class_of(fd, &s);
	if (at && !fds_foreign())
		fds_set(fd, at);
	self_leave();
	return at;
}

const char *fds_name(int fd)
{
	if ((unsigned)fd >= FDS_MAX)
		return NULL;
	uintptr_t at = __atomic_load_n(&fds_table[fd], __ATOMIC_ACQUIRE);
	return at >= LIVE_CLASS_COUNT ? ((struct fds_open *)at)->name->text : NULL;
}

void fds_count_shared(enum live_class_id class, enum live_kind kind, int64_t got)
{
	self_enter();
	struct live_class *c = &self_shard()->class[class];
	c->calls[kind]++;
	c->bytes[kind] += got;
	self_shard_done();
	self_leave();
}

bool fds_foreign(void)
{
	return __builtin_expect(fds_shared_memory_children, 0) && sys_pid() != life_pid();
}

void fds_vfork_seen(void)
{
	fds_shared_memory_children = true;
}
