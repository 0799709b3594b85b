#include "node.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lock.h"
#include "session.h"
#include "sys.h"

enum { HEAD = 64, LINE = 800 };

/* The first bytes of the file. */
struct head {
	uint32_t come, gone;
	uint32_t outcome; /* enum node_outcome; waiting ranks wait for its change */
	uint32_t lacking; /* ranks whose store could not be made */
	uint32_t stores;  /* registered; the first waits for its change */
	uint32_t lines;   /* bytes behind this head that are taken */
};

/*
 * Used by one thread: the one that makes the job's log. The file is not kept open: its number would be the program's,
 * whose threads may run.
 */
static struct {
	char path[256];
	dev_t device;
	ino_t inode;
	struct head *head;
	bool crowded; /* more ranks than processors */
} node;

static bool ours(int fd)
{
	struct stat s;
	if (sys_fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || s.st_mode & 077)
		return false;
	if (node.head)
		return s.st_dev == node.device && s.st_ino == node.inode;
	node.device = s.st_dev;
	node.inode = s.st_ino;
	return true;
}

struct use {
	int flags;
	bool (*work)(int fd, void *context);
	void *context;
	bool done;
};

static void open_and_use(void *use)
{
	struct use *u = use;
	int fd = sys_open(node.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | u->flags, 0600);
	u->done = fd >= 0 && ours(fd) && u->work(fd, u->context);
	if (fd >= 0)
		sys_close(fd);
}

static bool use_file(int flags, bool (*work)(int fd, void *context), void *context)
{
	struct use u = {flags, work, context, false};
	alone_do_long(open_and_use, &u);
	return u.done;
}

/* A full file system must refuse here: in the mapping it would be a signal. */
static bool map_head(int fd, void *nothing)
{
	(void)nothing;
	if (sys_call(SYS_pwrite64, fd, (long)"", 1, HEAD - 1, 0, 0) == 1)
		node.head = sys_map(NULL, HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	return node.head;
}

bool node_enter(uint64_t meeting)
{
	session_meeting_path(meeting, node.path, sizeof node.path);
	return use_file(O_CREAT, map_head, NULL);
}

static void wake(const uint32_t *word)
{
	sys_call(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

struct lines {
	char *text;
	size_t n, at; /* bytes, and where in the file */
};

static bool put_lines(int fd, void *lines)
{
	const struct lines *l = lines;
	return sys_call(SYS_pwrite64, fd, (long)l->text, (long)l->n, HEAD + (long)l->at, 0, 0) == (long)l->n;
}

static bool read_lines(int fd, void *lines)
{
	struct lines *l = lines;
	return sys_call(SYS_pread64, fd, (long)l->text, (long)l->n, HEAD + (long)l->at, 0, 0) == (long)l->n;
}

bool node_register_store(const char *path, uint32_t *order)
{
	char line[LINE];
	int n = snprintf(line, sizeof line, "%s\n", path);
	if (n >= LINE)
		return false;
	struct lines mine = {line, (size_t)n, __atomic_fetch_add(&node.head->lines, (uint32_t)n, __ATOMIC_ACQ_REL)};
	*order = mine.at > 0;
	if (!use_file(0, put_lines, &mine))
		return false;
	if (__atomic_fetch_add(&node.head->stores, 1, __ATOMIC_ACQ_REL) == 1)
		wake(&node.head->stores);
	return true;
}

void node_store(uint32_t order, char *path, size_t room)
{
	char text[2 * LINE] = "";
	use_file(0, read_lines, &(struct lines){text, sizeof text - 1, 0});
	char *at = text, *end = strchr(text, '\n');
	for (; end && order; order--) {
		at = end + 1;
		end = strchr(at, '\n');
	}
	snprintf(path, room, "%.*s", end ? (int)(end - at) : 0, at);
}

void node_lack_store(void)
{
	__atomic_add_fetch(&node.head->lacking, 1, __ATOMIC_ACQ_REL);
}

uint32_t node_lacking(void)
{
	return __atomic_load_n(&node.head->lacking, __ATOMIC_ACQUIRE);
}

static int64_t processors(void)
{
	uint64_t mask[128] = {0};
	int64_t n = 0;
	sys_call(SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
	for (size_t k = 0; k < sizeof mask / sizeof *mask; k++)
		n += __builtin_popcountll(mask[k]);
	return n;
}

bool node_come(int64_t ranks)
{
	uint32_t open = NODE_OPEN;
	node.crowded = processors() < ranks;
	bool last = __atomic_add_fetch(&node.head->come, 1, __ATOMIC_ACQ_REL) == ranks;
	return last && __atomic_compare_exchange_n(&node.head->outcome, &open, NODE_MAKING, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE);
}

static bool read_all_lines(int fd, void *lines)
{
	struct lines *l = lines;
	struct stat s;
	if (sys_fstat(fd, &s) != 0 || s.st_size < HEAD)
		return false;
	l->n = (size_t)(s.st_size - HEAD);
	l->text = malloc(l->n + 1);
	if (!l->text || !read_lines(fd, l))
		return false;
	l->text[l->n] = '\0';
	return true;
}

char **node_stores(size_t *n)
{
	struct lines l = {0};
	char **paths = NULL;
	*n = 0;
	if (use_file(0, read_all_lines, &l)) {
		for (char *c = l.text; (c = strchr(c, '\n')); c++)
			++*n;
		paths = calloc(*n + 1, sizeof *paths);
		char *rest = l.text;
		for (size_t k = 0; paths && k < *n; k++)
			paths[k] = strdup(strsep(&rest, "\n"));
	}
	free(l.text);
	return paths;
}

void node_forget_stores(char **paths, size_t n)
{
	for (size_t k = 0; paths && k < n; k++)
		free(paths[k]);
	free(paths);
}

static void wake_all(void)
{
	wake(&node.head->outcome);
	wake(&node.head->come);
	wake(&node.head->stores);
}

void node_settle(enum node_outcome outcome)
{
	__atomic_store_n(&node.head->outcome, outcome, __ATOMIC_RELEASE);
	wake_all();
}

bool node_give_up(void)
{
	uint32_t open = NODE_OPEN;
	bool first = __atomic_compare_exchange_n(&node.head->outcome, &open, NODE_LEFT, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE);
	if (first)
		wake_all();
	return first;
}

/* At most a second at a time: it costs nothing to look again. */
static void sleep_on(const uint32_t *word, uint32_t value, uint64_t until)
{
	uint64_t now = clock_monotonic(), most = UINT64_C(1000000000);
	uint64_t left = until > now ? until - now : 1;
	struct timespec t = {.tv_sec = left >= most, .tv_nsec = left >= most ? 0 : (long)left};
	sys_call(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&t, 0, 0);
}

bool node_await_second(const struct deadline *p)
{
	for (;;) {
		uint32_t stores = __atomic_load_n(&node.head->stores, __ATOMIC_ACQUIRE);
		if (stores > 1)
			return true;
		if (__atomic_load_n(&node.head->outcome, __ATOMIC_ACQUIRE) != NODE_OPEN || clock_monotonic() > p->until)
			return false;
		sleep_on(&node.head->stores, stores, p->until);
	}
}

/* To be woken takes as long as a small log. */
enum { LOOK_NS = 3000000 };

static void look(void)
{
	uint64_t until = clock_monotonic() + LOOK_NS;
	while (!node.crowded && __atomic_load_n(&node.head->outcome, __ATOMIC_ACQUIRE) <= NODE_MAKING &&
	       clock_monotonic() < until)
		sched_yield();
}

enum node_outcome node_await(const struct deadline *p, bool *first_to_leave)
{
	look();
	for (*first_to_leave = false;;) {
		uint32_t now = __atomic_load_n(&node.head->outcome, __ATOMIC_ACQUIRE);
		if (now != NODE_OPEN && now != NODE_MAKING)
			return (enum node_outcome)now;
		if (clock_monotonic() < p->until) {
			sleep_on(&node.head->outcome, now, p->until);
			continue;
		}
		if (now == NODE_MAKING)
			return NODE_KEPT; /* or written a little later: the rank that writes it reports that */
		*first_to_leave = node_give_up();
	}
}

bool node_await_all(const struct deadline *p)
{
	for (;;) {
		uint32_t come = __atomic_load_n(&node.head->come, __ATOMIC_ACQUIRE);
		uint32_t now = __atomic_load_n(&node.head->outcome, __ATOMIC_ACQUIRE);
		if (now != NODE_OPEN)
			return now == NODE_MAKING;
		if (clock_monotonic() < p->until)
			sleep_on(&node.head->come, come, p->until);
		else
			node_give_up();
	}
}

void node_call(void)
{
	wake(&node.head->come);
}

static void forget(void)
{
	sys_unmap(node.head, HEAD);
	node.head = NULL;
}

void node_leave(void)
{
	uint32_t gone = __atomic_add_fetch(&node.head->gone, 1, __ATOMIC_ACQ_REL);
	if (gone == __atomic_load_n(&node.head->come, __ATOMIC_ACQUIRE))
		sys_unlink_at(AT_FDCWD, node.path);
	forget();
}

void node_pass(bool done)
{
	if (done)
		sys_unlink_at(AT_FDCWD, node.path);
	forget();
}

void node_abandon(void)
{
	node_settle(NODE_LEFT);
	sys_unlink_at(AT_FDCWD, node.path);
	forget();
}
