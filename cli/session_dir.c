#include "session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "preload.h"

enum { ROOM = 16 << 20 }; /* bytes */
enum {
	CALIBRATION_NS = 1000000
}; /* two clock readings of 50 ns error each: 1e-4, refined by every process as it runs */

static void calibrate(struct epoch *e)
{
	struct epoch now;
	if (!epoch_counter_usable()) {
		e->counter = 0;
		return;
	}
	do
		now = epoch_now();
	while (now.monotonic - e->monotonic < CALIBRATION_NS);
	e->per_tick = (double)(now.monotonic - e->monotonic) * 1e-9 / (double)(now.counter - e->counter);
}

/* A few hundred processes; the containers' default of 64 MiB passes, a crowded one does not. */
static bool has_room(const char *directory)
{
	struct statvfs s;
	return statvfs(directory, &s) == 0 && (double)s.f_bavail * (double)s.f_frsize >= ROOM;
}

static int make_below(struct session_dir *s, const char *parent)
{
	if (!parent || parent[0] != '/' || strlen(parent) > 200)
		return -1;
	if (!has_room(parent)) {
		errno = ENOSPC;
		return -1;
	}
	snprintf(s->path, sizeof s->path, "%s/iolens-XXXXXX", parent);
	return mkdtemp(s->path) ? 0 : -1;
}

static int make_somewhere(struct session_dir *s)
{
	const char *const parents[] = {getenv("IOLENS_TMPDIR"), getenv("DARSHAN_MMAP_LOGPATH"), "/dev/shm",
				       getenv("TMPDIR"), "/tmp"};
	for (size_t i = 0; i < sizeof parents / sizeof *parents; i++)
		if (make_below(s, parents[i]) == 0)
			return 0;
	return cli_fail(CLI_INPUT, "run: no directory for the stores: %s: set IOLENS_TMPDIR to one that is writable",
			strerror(errno));
}

/* The dynamic loader ends a name at these, or replaces what follows. */
static bool loadable(const char *path)
{
	return !strpbrk(path, " :;$");
}

/* A link of the session stands for an installation below a name that the loader would take apart. */
static int link_preload(struct session_dir *s)
{
	char link[sizeof s->path + 32];
	if (loadable(s->preload))
		return 0;
	snprintf(link, sizeof link, "%s/libiolens.so", s->path);
	if (!loadable(link) || symlink(s->preload, link) != 0) {
		session_dir_remove(s);
		return cli_fail(CLI_INPUT,
				"run: %s: LD_PRELOAD cannot name this: set IOLENS_TMPDIR to a directory without blanks",
				s->preload);
	}
	strcpy(s->preload, link);
	return 0;
}

int session_dir_make(struct session_dir *s)
{
	struct utsname u;
	s->epoch = epoch_now();
	if (!preload_find(s->preload, sizeof s->preload))
		return cli_fail(CLI_INPUT,
				"run: libiolens.so not found beside this program: set IOLENS_PRELOAD to its path");
	int code = make_somewhere(s);
	if (code == 0)
		code = link_preload(s);
	uname(&u);
	snprintf(s->host, sizeof s->host, "%.64s", u.nodename);
	calibrate(&s->epoch);
	return code;
}

/* In front of what the caller preloads; in a session within a session it is there already. */
static void add_preload(const char *ours)
{
	char value[8192];
	const char *others = getenv("LD_PRELOAD");
	size_t n = strlen(ours);
	if (others && strncmp(others, ours, n) == 0 && (!others[n] || strchr(" :", others[n])))
		return;
	if (!others || !*others)
		setenv("LD_PRELOAD", ours, 1);
	else if ((size_t)snprintf(value, sizeof value, "%s:%s", ours, others) < sizeof value)
		setenv("LD_PRELOAD", value, 1);
}

void session_dir_environment(const struct session_dir *s)
{
	char text[EPOCH_TEXT];
	epoch_print(&s->epoch, s->host, text);
	setenv("IOLENS_SESSION", s->path, 1);
	setenv("IOLENS_EPOCH", text, 1);
	add_preload(s->preload);
}

bool session_dir_empty(const struct session_dir *s)
{
	DIR *dir = opendir(s->path);
	struct dirent *entry;
	bool empty = true;
	while (dir && empty && (entry = readdir(dir)))
		empty = !strstr(entry->d_name, ".store");
	if (dir)
		closedir(dir);
	return empty;
}

void session_dir_remove(const struct session_dir *s)
{
	DIR *dir = opendir(s->path);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(s->path);
}
