#include "live_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "bundle.h"
#include "cli.h"
#include "file_system.h"
#include "index.h"
#include "other_users.h"
#include "session_dir.h"
#include "snapshot.h"

struct looking {
	struct live_look *look;
	struct live_names *names;
	struct log_error *err;
	int code;
};

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_mine(uid_t owner)
{
	return geteuid() == 0 || owner == geteuid();
}

/* What another user could put there is no store of ours: a link, or another user's file. */
static bool is_store(int directory, const char *name, struct stat *s)
{
	size_t n = strlen(name);
	return n > 6 && !strcmp(name + n - 6, ".store") && fstatat(directory, name, s, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(s->st_mode) && is_mine(s->st_uid) && s->st_size > 0;
}

static void add_store(struct looking *l, const char *directory, const char *name, uid_t owner, bool here)
{
	struct live_look *look = l->look;
	char path[1024];
	struct log_error err;
	if ((size_t)snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name) >= sizeof path)
		return;
	struct live_store *s = live_look_add(look);
	if (!s) {
		l->code = log_fail(l->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
		return;
	}
	if (live_store_read(s, path, l->names, &err) < 0) {
		look->unreadable += err.code == LOG_E_VERSION; /* else it has just begun, or ended meanwhile */
		look->n--;
		return;
	}
	s->owner = owner;
	s->here = here;
	s->pid = s->process.end_reason ? 0 : snapshot_process_number(&s->process, here);
	s->state = s->pid ? snapshot_process_state(s->pid) : 0;
}

struct bundle_of {
	struct looking *l;
	uid_t owner;
	bool here;
};

static int add_entry(void *context, const char *entry)
{
	struct bundle_of *of = context;
	add_store(of->l, "", entry, of->owner, of->here);
	return of->l->code;
}

/* Processes that have ended and are looked at no less. */
static void add_bundle(struct looking *l, const char *directory, const char *name, bool here)
{
	char path[1024];
	struct stat s;
	if ((strcmp(name, SESSION_ENDED) != 0 && strcmp(name, SESSION_MOVED) != 0) ||
	    (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path || stat(path, &s) != 0 ||
	    !is_mine(s.st_uid))
		return;
	bundle_each(path, add_entry, &(struct bundle_of){l, s.st_uid, here});
}

/* A directory that is this user's alone, or that of root's sessions for other users. */
static void add_directory(struct looking *l, const char *path, bool private)
{
	struct stat s;
	struct statfs fs;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool good = fd >= 0 && fstat(fd, &s) == 0 && (!private || is_mine(s.st_uid));
	bool here = good && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
	DIR *dir = good ? fdopendir(fd) : NULL;
	for (struct dirent *e; dir && !l->code && (e = readdir(dir));)
		if (is_store(dirfd(dir), e->d_name, &s))
			add_store(l, path, e->d_name, s.st_uid, here);
		else if (private)
			add_bundle(l, path, e->d_name, here);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static void add_below(struct looking *l, const char *parent)
{
	char path[600], others[700];
	DIR *dir = opendir(parent);
	for (struct dirent *e; dir && !l->code && (e = readdir(dir));) {
		if (strncmp(e->d_name, "iolens-", 7) != 0 ||
		    (size_t)snprintf(path, sizeof path, "%s/%s", parent, e->d_name) >= sizeof path)
			continue;
		add_directory(l, path, true);
		if (geteuid() == 0 && other_users_find(others, sizeof others, path))
			add_directory(l, others, false);
	}
	if (dir)
		closedir(dir);
	add_directory(l, parent, false);
}

/*
 * The place for temporary files may be on a file system that does not answer: only those that were asked for are looked into
 * there. The kernel's table of mounts does not ask it.
 */
static bool is_far(const char *path)
{
	char line[4096];
	size_t best = 0;
	bool far = false;
	FILE *mounts = fopen("/proc/self/mounts", "re");
	while (mounts && fgets(line, sizeof line, mounts)) {
		char *rest = line;
		strsep(&rest, " ");
		const char *point = strsep(&rest, " "), *type = strsep(&rest, " ");
		size_t n = point ? strlen(point) : 0;
		n -= n == 1; /* the root */
		if (!type || n < best || strncmp(path, point, n) != 0 || (path[n] != '/' && path[n]))
			continue;
		best = n;
		far = strncmp(type, "fuse", 4) == 0 || file_system_is_served(type);
	}
	if (mounts)
		fclose(mounts);
	return far;
}

/* Takes out of the list what was not asked for and is far. */
static void keep_near(const char *parents[SESSION_PARENTS])
{
	enum { ASKED_FOR = 2 };
	for (size_t n = ASKED_FOR; n < SESSION_PARENTS; n++)
		if (parents[n] && is_far(parents[n]))
			parents[n] = NULL;
}

static bool seen_before(const char *const *parents, size_t n)
{
	struct stat a, b;
	if (!parents[n] || parents[n][0] != '/' || stat(parents[n], &a) != 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (parents[i] && stat(parents[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	return false;
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct live_store *)x)->path, ((const struct live_store *)y)->path);
}

struct live_store *live_look_add(struct live_look *l)
{
	if (!index_grow(&l->stores, l->n, sizeof *l->stores))
		return NULL;
	l->stores[l->n] = (struct live_store){0};
	return &l->stores[l->n++];
}

void live_look_sort(struct live_look *l)
{
	if (l->n)
		qsort(l->stores, l->n, sizeof *l->stores, by_path);
}

int live_look_take(struct live_look *l, struct live_names *names, struct log_error *err)
{
	struct looking looking = {.look = l, .names = names, .err = err};
	const char *parents[SESSION_PARENTS];
	*l = (struct live_look){.at = seconds(CLOCK_MONOTONIC), .now = seconds(CLOCK_REALTIME)};
	session_dir_parents(parents);
	keep_near(parents);
	for (size_t n = 0; n < SESSION_PARENTS; n++)
		if (!seen_before(parents, n))
			add_below(&looking, parents[n]);
	live_look_sort(l);
	if (looking.code < 0)
		live_look_free(l);
	return looking.code;
}

void live_look_free(struct live_look *l)
{
	for (size_t n = 0; n < l->n; n++)
		live_store_free(&l->stores[n]);
	log_free(l->stores);
	log_free(l->nodes);
	*l = (struct live_look){0};
}

const struct live_store *live_look_find(const struct live_look *l, const char *path)
{
	struct live_store key = {.path = (char *)path};
	return l->n ? bsearch(&key, l->stores, l->n, sizeof *l->stores, by_path) : NULL;
}

int live_look_missed(const char *command, const char *wanted)
{
	bool all = geteuid() == 0;
	return cli_fail(CLI_INPUT, "%s: %s: no observed program%s on this node belongs to it: iolens top lists %s",
			command, wanted, all ? "" : " of yours", all ? "all jobs" : "yours, as root all users' jobs");
}
