#include "ended_stores.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "bundle.h"
#include "index.h"
#include "other_users.h"
#include "snapshot.h"
#include "store_reader.h"
#include "storename.h"

enum {
	PLAIN_MOST = 256 << 10, /* bytes of stores that stay as they are: jobs of few processes have no bundle */
	NEAR_MOST = 384 << 10,  /* of the bundle in memory */
	DISK_LEAST = 64 << 20,  /* free there */
	BATCH = 4,              /* stores that were made since the last look */
	SOON_MS = 100,
	LATER_MS = 2000,
	REST = 9, /* times what looking took; not packing, which is over once */
};

struct bundle {
	int fd; /* -1 = there is none */
	int64_t used;
};

struct candidate {
	char name[BUNDLE_NAME];
	uint64_t made; /* ns of the monotonic clock */
	int64_t bytes;
};

static struct {
	const struct session_dir *session;
	struct bundle near, far; /* in the session's directory; on a disk */
	bool in_memory;          /* the session's directory */
	bool no_disk;
	int events, stop;
	bool runs;
	pthread_t thread;
	struct deflater *deflater;
	struct candidate *list;
	size_t n;
} ended = {.near = {-1, 0}, .far = {-1, 0}};

/* Of this thread alone: on a busy machine it waits for its turn, and has not worked. */
static int64_t work_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- the bundle on a disk ---- */

static bool is_memory(int fd)
{
	struct statfs s;
	return fstatfs(fd, &s) != 0 || s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC;
}

static bool has_room(int fd)
{
	struct statfs s;
	return fstatfs(fd, &s) == 0 && (double)s.f_bavail * (double)s.f_bsize >= DISK_LEAST;
}

/* The session has a link to it, by which it is found and removed. */
static bool make_far(const char *directory)
{
	char path[4096 + 64], link[512];
	if (!directory || directory[0] != '/' ||
	    (size_t)snprintf(path, sizeof path, "%s/.iolens-XXXXXX" BUNDLE_SUFFIX, directory) >= sizeof path)
		return false;
	int fd = mkostemps(path, sizeof BUNDLE_SUFFIX - 1, O_CLOEXEC);
	if (fd < 0)
		return false;
	snprintf(link, sizeof link, "%s/" SESSION_MOVED, ended.session->path);
	if (is_memory(fd) || !has_room(fd) || symlink(path, link) != 0) {
		close(fd);
		unlink(path);
		return false;
	}
	ended.far = (struct bundle){fd, 0};
	return true;
}

static bool have_far(void)
{
	const char *const places[] = {ended.session->logs, getenv("TMPDIR"), "/var/tmp", "/tmp"};
	for (size_t n = 0; ended.far.fd < 0 && !ended.no_disk && n < sizeof places / sizeof *places; n++)
		make_far(places[n]);
	ended.no_disk = ended.far.fd < 0;
	return !ended.no_disk;
}

static bool copy_near(int64_t to)
{
	char block[16384];
	for (int64_t at = 0; at < ended.near.used;) {
		ssize_t got = pread(ended.near.fd, block, sizeof block, at);
		if (got <= 0 || pwrite(ended.far.fd, block, (size_t)got, to + at) != got)
			return false;
		at += got;
	}
	return true;
}

/* On a disk that is full the bundle stays in memory, where it takes a fiftieth of what the stores took. */
static void move_near(void)
{
	if (!ended.in_memory || ended.near.used <= NEAR_MOST || !have_far())
		return;
	if (!copy_near(ended.far.used)) {
		ended.no_disk = ftruncate(ended.far.fd, ended.far.used) == 0;
		return;
	}
	ended.far.used += ended.near.used;
	if (ftruncate(ended.near.fd, 0) == 0)
		ended.near.used = 0;
}

/* ---- one store ---- */

static bool have_near(void)
{
	char path[512];
	snprintf(path, sizeof path, "%s/" SESSION_ENDED, ended.session->path);
	if (ended.near.fd < 0)
		ended.near.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return ended.near.fd >= 0;
}

/* A reader's lease is refused on a file that is open for writing, or mapped so. */
static bool is_written(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return errno == EAGAIN;
}

/*
 * After an exec the process runs, and has left this store for good. One of another machine cannot be looked up: it may be asleep,
 * and has nothing mapped.
 */
static bool is_over(const struct state_process *p, const char *store)
{
	if (p->observer == STATE_BY_KERNEL) /* until it has the end, another version of it comes */
		return p->ended;
	if (!snapshot_process_is_here(p, store))
		return p->end_reason != STATE_END_NONE && p->end_reason != STATE_END_EXEC;
	return p->end_reason == STATE_END_EXEC || !snapshot_process_runs(p, store);
}

static bool has_ended(const char *path)
{
	struct store_reader i;
	struct log_error err;
	bool good = store_reader_open_file(&i, path, &err) >= 0 && store_reader_load_state(&i, &err) >= 0;
	bool over = good && is_over(&i.state->process, path);
	store_reader_close(&i);
	return over;
}

static bool pack(int store, const struct candidate *c)
{
	bool large = c->bytes > PLAIN_MOST && ended.in_memory && have_far();
	struct bundle *to = large ? &ended.far : &ended.near;
	if (!large && !have_near())
		return false;
	int64_t end = bundle_append(to->fd, to->used, store, c->name, ended.deflater);
	if (end < 0)
		ended.no_disk |= ftruncate(to->fd, to->used) == 0 && large;
	else
		to->used = end;
	return end >= 0;
}

static void take(int directory, const char *path, const struct candidate *c)
{
	char whole[1024];
	struct stat s, now;
	snprintf(whole, sizeof whole, "%s/%s", path, c->name);
	int fd = openat(directory, c->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && !is_written(fd) && has_ended(whole);
	good = good && fstatat(directory, c->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == s.st_ino;
	if (good && pack(fd, c)) {
		unlinkat(directory, c->name, 0);
		move_near();
	}
	if (fd >= 0)
		close(fd);
}

/* ---- all of them ---- */

static uint64_t made_at(const char *name)
{
	const char *end = strrchr(name, '.');
	while (end && end > name && end[-1] != '.')
		end--;
	return end ? strtoull(end, NULL, 16) : 0;
}

static void list_one(const char *name)
{
	size_t n = strlen(name);
	if (!storename_pid(name) || n >= BUNDLE_NAME || !index_grow(&ended.list, ended.n, sizeof *ended.list))
		return;
	struct candidate *c = &ended.list[ended.n++];
	*c = (struct candidate){.made = made_at(name)};
	memcpy(c->name, name, n + 1);
}

static int by_process(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int64_t p = storename_pid(a->name), q = storename_pid(b->name);
	if (p != q)
		return p < q ? -1 : 1;
	return (a->made > b->made) - (a->made < b->made);
}

static int by_time(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	return (a->made > b->made) - (a->made < b->made);
}

/* Its process is gone, by its number, or has made another store since. The number may be one of another name space. */
static bool may_have_ended(size_t n)
{
	int64_t pid = storename_pid(ended.list[n].name);
	bool again = n + 1 < ended.n && storename_pid(ended.list[n + 1].name) == pid;
	return again || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

static int64_t keep_candidates(int directory)
{
	struct stat s;
	size_t kept = 0;
	int64_t bytes = 0;
	log_sort(ended.list, ended.n, sizeof *ended.list, by_process);
	for (size_t n = 0; n < ended.n; n++) {
		if (!may_have_ended(n) || fstatat(directory, ended.list[n].name, &s, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		ended.list[n].bytes = (int64_t)s.st_blocks * 512;
		bytes += ended.list[n].bytes;
		ended.list[kept++] = ended.list[n];
	}
	ended.n = kept;
	return bytes;
}

static bool stopped(int ms)
{
	struct pollfd stop = {.fd = ended.stop, .events = POLLIN};
	return poll(&stop, 1, ms) > 0;
}

/* Returns what it took to find them, ns. */
static int64_t look(const char *path)
{
	int64_t began = work_time();
	DIR *dir = *path ? opendir(path) : NULL;
	ended.n = 0;
	for (struct dirent *e; dir && (e = readdir(dir));)
		list_one(e->d_name);
	int64_t bytes = dir ? keep_candidates(dirfd(dir)) : 0;
	if (bytes > PLAIN_MOST)
		log_sort(ended.list, ended.n, sizeof *ended.list, by_time);
	else
		ended.n = 0;
	int64_t took = work_time() - began;
	for (size_t n = 0; n < ended.n && bytes > PLAIN_MOST / 2 && !stopped(0); n++) {
		take(dirfd(dir), path, &ended.list[n]);
		bytes -= ended.list[n].bytes;
	}
	if (dir)
		closedir(dir);
	return took;
}

/* ---- when ---- */

static size_t count_made(void)
{
	char events[4096] __attribute__((aligned(8)));
	size_t made = 0;
	for (ssize_t got; (got = read(ended.events, events, sizeof events)) > 0;)
		for (ssize_t at = 0; at < got; made++)
			at += (ssize_t)(sizeof(struct inotify_event) + ((struct inotify_event *)(events + at))->len);
	return made;
}

/* After each BATCH stores that are made, a while after fewer, and now and then, since processes end that made theirs long ago. */
static void *work(void *nothing)
{
	size_t made = 0;
	for (;;) {
		struct pollfd of[] = {{.fd = ended.stop, .events = POLLIN}, {.fd = ended.events, .events = POLLIN}};
		int got = poll(of, 2, made || ended.events < 0 ? SOON_MS : LATER_MS);
		if (of[0].revents || (got < 0 && errno != EINTR))
			return nothing;
		made += of[1].revents ? count_made() : 0;
		if (got && made < BATCH)
			continue;
		int64_t took = look(ended.session->path) + look(ended.session->others);
		made = 0;
		if (stopped((int)(REST * took / 1000000)))
			return nothing;
	}
}

static void watch(const char *directory)
{
	if (*directory && inotify_add_watch(ended.events, directory, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
		close(ended.events);
		ended.events = -1;
	}
}

static bool start(void)
{
	enum { STACK = 256 << 10 };
	pthread_attr_t how;
	bool good = pthread_attr_init(&how) == 0 && pthread_attr_setstacksize(&how, STACK) == 0 &&
		    pthread_create(&ended.thread, &how, work, NULL) == 0;
	pthread_attr_destroy(&how);
	return good;
}

void ended_stores_begin(const struct session_dir *s)
{
	ended.session = s;
	ended.in_memory = s->lock >= 0 && is_memory(s->lock);
	ended.deflater = deflater_make();
	ended.stop = eventfd(0, EFD_CLOEXEC);
	ended.events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (ended.events >= 0)
		watch(s->path);
	if (ended.events >= 0)
		watch(s->others);
	ended.runs = ended.deflater && ended.stop >= 0 && start();
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ended_stores_end(void)
{
	if (ended.runs && write(ended.stop, &(uint64_t){1}, sizeof(uint64_t)) == sizeof(uint64_t))
		pthread_join(ended.thread, NULL);
	ended.runs = false;
	close_one(&ended.stop);
	close_one(&ended.events);
	close_one(&ended.near.fd);
	close_one(&ended.far.fd);
	deflater_free(ended.deflater);
	log_free(ended.list);
}
