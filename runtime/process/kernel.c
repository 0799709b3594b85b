#include "kernel.h"

#include <string.h>
#include <sys/resource.h>

#include "lock.h"
#include "self.h"
#include "sys.h"

struct counts {
	const char *path;
	char text[512];
	ssize_t length;
};

static void read_counts(void *counts)
{
	struct counts *c = counts;
	int fd = sys_open(c->path, O_RDONLY | O_CLOEXEC, 0);
	c->length = fd >= 0 ? sys_read(fd, c->text, sizeof c->text - 1) : 0;
	if (fd >= 0)
		sys_close(fd);
}

static void get_counts(struct counts *c)
{
	if (lock_is_needless())
		read_counts(c);
	else
		alone_do(read_counts, c);
	c->text[c->length > 0 ? c->length : 0] = '\0';
}

static bool io_of(const char *path, int64_t out[STATE_IO_COUNT])
{
	struct counts c = {.path = path};
	int64_t own[] = {sys_own_read, sys_own_written};
	get_counts(&c);
	memset(out, 0, sizeof *out * STATE_IO_COUNT);
	const char *at = c.text;
	for (int i = 0; i < STATE_IO_COUNT && (at = strstr(at, ": ")); i++)
		for (at += 2; *at >= '0' && *at <= '9'; at++)
			out[i] = out[i] * 10 + (*at - '0');
	for (int k = 0; k < 2; k++)
		if (out[STATE_IO_READ + k] >= own[k])
			out[STATE_IO_READ + k] -= own[k];
	return c.length > 0;
}

void kernel_io(int64_t out[STATE_IO_COUNT])
{
	io_of("/proc/self/io", out);
}

bool kernel_io_of_children(int64_t out[STATE_IO_COUNT])
{
	int64_t own[STATE_IO_COUNT];
	bool known = io_of("/proc/thread-self/io", own);
	known = io_of("/proc/self/io", out) && known;
	for (int i = 0; i < STATE_IO_COUNT; i++)
		out[i] -= own[i];
	return known;
}

static int64_t microseconds(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

void kernel_used(int64_t out[STATE_USED_COUNT])
{
	struct rusage u = {0};
	if (sys_call(SYS_getrusage, RUSAGE_SELF, (long)&u, 0, 0, 0, 0) < 0)
		u = (struct rusage){0};
	out[STATE_USED_USER] = microseconds(u.ru_utime);
	out[STATE_USED_SYSTEM] = microseconds(u.ru_stime);
	out[STATE_USED_DELAY] = 0;
	out[STATE_USED_FAULTS] = u.ru_majflt;
	out[STATE_USED_WAITS] = u.ru_nvcsw;
}

/* ---- how long threads waited for a processor ---- */

struct threads {
	int directory, n;
	int number;          /* of the one that ends */
	int64_t ran, waited; /* ns */
	int own;             /* number of the calling one, 0 = it does not matter; of it: */
	int64_t own_ran, own_waited;
};

enum { THREADS = 512, /* that are asked, 5 us each */ TICKS_US = 20000, ASKED_NS = 10000000, ENDED = 16 };

/*
 * Of threads that have ended. The kernel forgets it: each says it itself, if it has recorded anything and used a processor for
 * longer than asking takes. The last ones may still be in /proc: they do not count twice. Atomic, each word for itself: added to by
 * threads that end, read when the process ends, emptied in a forked child, which has one thread.
 */
static struct {
	int64_t ran, waited; /* ns */
	int last[ENDED];
	unsigned n;
} ended;

static const char *read_number(const char *at, int64_t *n)
{
	for (*n = 0; *at >= '0' && *at <= '9'; at++)
		*n = *n * 10 + (*at - '0');
	return *at ? at + 1 : at;
}

/* The file has ns on a processor, ns waiting for one, and how often. */
static void add_schedule(struct threads *t, int directory, const char *path)
{
	char text[64];
	int64_t ran, waited;
	int fd = (int)sys_call(SYS_openat, directory, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	ssize_t n = fd >= 0 ? sys_read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		sys_close(fd);
	text[n > 0 ? n : 0] = '\0';
	read_number(read_number(text, &ran), &waited);
	t->ran += ran;
	t->waited += waited;
}

static bool has_said(const char *thread)
{
	int64_t number;
	read_number(thread, &number);
	for (int i = 0; i < ENDED; i++)
		if (number == __atomic_load_n(&ended.last[i], __ATOMIC_RELAXED))
			return true;
	return false;
}

static bool add_thread(void *threads, const char *name)
{
	static const char file[] = "/schedstat";
	struct threads *t = threads;
	char path[32];
	size_t n = strlen(name);
	if (*name == '.' || n > sizeof path - sizeof file || has_said(name))
		return true;
	memcpy(path, name, n);
	memcpy(path + n, file, sizeof file);
	int64_t number, ran = t->ran, waited = t->waited;
	add_schedule(t, t->directory, path);
	read_number(name, &number);
	if (number == t->own) {
		t->own_ran = t->ran - ran;
		t->own_waited = t->waited - waited;
	}
	return ++t->n < THREADS;
}

static void read_threads(void *threads)
{
	struct threads *t = threads;
	t->directory = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (t->directory < 0)
		return;
	sys_each_name(t->directory, add_thread, t);
	sys_close(t->directory);
}

static void read_thread(void *thread)
{
	struct threads *t = thread;
	char path[48] = "/proc/self/task/";
	memcpy(sys_decimal(path + strlen(path), (unsigned)t->number), "/schedstat", 11);
	add_schedule(t, AT_FDCWD, path);
}

void kernel_end_thread(void)
{
	struct timespec ran = {0};
	struct threads t = {.number = (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0)};
	if (sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&ran, 0, 0, 0, 0) < 0 ||
	    (ran.tv_sec == 0 && ran.tv_nsec < ASKED_NS))
		return;
	alone_do(read_thread, &t);
	unsigned n = __atomic_fetch_add(&ended.n, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ended.last[n % ENDED], t.number, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended.ran, t.ran, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended.waited, t.waited, __ATOMIC_RELAXED);
}

/*
 * Only the calling thread has recorded anything, and it has 19 of 20 parts of the `used` us of a processor and of the waits: the
 * others, such as those of an idle pool, do not matter. A pool that computes would make the waits of calls uncertain.
 */
static bool is_alone(const struct threads *t, int64_t used)
{
	return t->own && 20 * (t->own_ran / 1000) >= 19 * used && 20 * t->own_waited >= 19 * t->waited;
}

/* us; below 0: threads that have ended without a word used most of the `used` us of a processor. asked: threads that are in it. */
static int64_t delay(int64_t used, int64_t *asked)
{
	bool one = lock_is_needless() && !lock_is_shared;
	struct threads t = {.ran = __atomic_load_n(&ended.ran, __ATOMIC_RELAXED),
			    .waited = __atomic_load_n(&ended.waited, __ATOMIC_RELAXED)};
	if (!one && self_alone())
		t.own = (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	if (lock_is_needless())
		add_schedule(&t, AT_FDCWD, "/proc/self/schedstat");
	else
		alone_do(read_threads, &t);
	int64_t all = t.n + (int64_t)__atomic_load_n(&ended.n, __ATOMIC_RELAXED);
	*asked = one || is_alone(&t, used) ? 1 : all > 2 ? all : 2;
	return used > 2 * t.ran / 1000 + TICKS_US ? -1 : t.waited / 1000;
}

void kernel_begin(struct state_process *p)
{
	if (ended.n) /* a forked child's parent had them */
		memset(&ended, 0, sizeof ended);
	self_forget_threads();
	kernel_io(p->kernel_at_start);
	kernel_used(p->used_at_start);
	p->own_moved[IO_READ] = sys_own_read;
}

void kernel_account(struct state_process *p, bool short_lived)
{
	kernel_used(p->used_at_end);
	kernel_io(p->kernel_at_end);
	/* A short one, too, if it waited for storage: what it did not wait for a processor is then that. */
	if (!short_lived || p->kernel_at_end[STATE_IO_STORAGE_READ])
		p->used_at_end[STATE_USED_DELAY] =
			delay(p->used_at_end[STATE_USED_USER] + p->used_at_end[STATE_USED_SYSTEM], &p->asked_threads);
	p->own_moved[IO_READ] = sys_own_read;
	p->own_moved[IO_WRITE] = sys_own_written;
}

bool kernel_moved_much(const int64_t start[STATE_IO_COUNT], const int64_t end[STATE_IO_COUNT])
{
	enum { MUCH = 64 << 10 };
	return end[STATE_IO_READ] - start[STATE_IO_READ] + end[STATE_IO_WRITTEN] - start[STATE_IO_WRITTEN] > MUCH;
}

bool kernel_moved_much_since(const int64_t start[STATE_IO_COUNT])
{
	int64_t now[STATE_IO_COUNT];
	uint64_t saved = self_work();
	kernel_io(now);
	self.gate = saved;
	return kernel_moved_much(start, now);
}

int64_t kernel_pid_namespace(void)
{
	char text[64];
	int64_t number = 0;
	ssize_t n = sys_readlink("/proc/self/ns/pid", text, sizeof text); /* pid:[4026531836] */
	for (ssize_t i = 0; i < n; i++)
		if (text[i] >= '0' && text[i] <= '9')
			number = number * 10 + (text[i] - '0');
	return number;
}

static int64_t number_behind(const char *text, const char *label)
{
	int64_t number = 0;
	const char *at = strstr(text, label);
	for (at = at ? at + strlen(label) : ""; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (*at - '0');
	return number;
}

void kernel_outside(int64_t *pid, int64_t *parent)
{
	struct counts c = {.path = "/proc/self/status"};
	get_counts(&c);
	*parent = number_behind(c.text, "\nPPid:\t");
	*pid = *parent ? number_behind(c.text, "\nPid:\t") : 0;
}
