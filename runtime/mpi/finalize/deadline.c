#include "deadline.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "lock.h"
#include "session.h"
#include "sys.h"

/* A nap takes 50 us more than it asks for: most messages between nodes that are all there are quicker than the first one. */
enum { NAP_MIN = 20000, NAP_MAX = 4000000, SPIN = 200000, SPINS = 8, CHECK_EVERY = 32 };

struct deadline deadline_from_now(double seconds)
{
	uint64_t now = clock_monotonic();
	return (struct deadline){.begun = now, .until = now + (uint64_t)(seconds * 1e9)};
}

void deadline_again(struct deadline *p)
{
	p->begun = clock_monotonic();
	p->turn = 0;
}

bool deadline_rest(struct deadline *p)
{
	uint64_t now = clock_monotonic(), nap = (now - p->begun) / 8;
	struct timespec t = {.tv_nsec = (long)(nap < NAP_MIN ? NAP_MIN : nap > NAP_MAX ? NAP_MAX : nap)};
	if (now > p->until || (p->turn % CHECK_EVERY == CHECK_EVERY - 1 && deadline_given_up()))
		return false;
	if (p->turn++ < SPINS || now - p->begun < SPIN)
		sched_yield();
	else
		nanosleep(&t, NULL);
	return true;
}

static void mark_path(char *out, size_t room)
{
	snprintf(out, room, "%s/left", session_world_directory());
}

/* A job that was killed may have left its mark: it counts for some minutes only. */
enum { MARK_SECONDS = 600 };

/* Used by one thread: the one that makes the job's log, and then ends the process. */
static char shared_mark[1024];

/* "" = the place of the log is unknown. */
static void shared_mark_path(uint64_t world, char *out, size_t room)
{
	const char *log = config.logfile ? config.logfile : config.logpath;
	const char *slash = config.logfile ? strrchr(config.logfile, '/') : NULL;
	int n = slash ? (int)(slash - config.logfile) : log && !config.logfile ? (int)strlen(log) : 0;
	out[0] = '\0';
	if (n > 0 && (size_t)n + 64 < room)
		snprintf(out, room, "%.*s/.iolens-%u-%016llx.left", n, log, (unsigned)geteuid(),
			 (unsigned long long)world);
}

struct mark {
	const char *path;
	bool made;
};

static void make_file(void *mark)
{
	struct mark *m = mark;
	int fd = sys_open(m->path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		sys_close(fd);
	m->made = fd >= 0;
}

static bool make_mark(const char *path)
{
	struct mark m = {path, false};
	alone_do_long(make_file, &m);
	return m.made;
}

void deadline_give_up(uint64_t world)
{
	char path[512];
	mark_path(path, sizeof path);
	if (session_world_directory()[0])
		make_mark(path);
	if (!world)
		return;
	shared_mark_path(world, shared_mark, sizeof shared_mark);
	if (shared_mark[0] && !make_mark(shared_mark))
		shared_mark[0] = '\0';
}

bool deadline_given_up_elsewhere(uint64_t world)
{
	char path[sizeof shared_mark];
	struct stat s;
	shared_mark_path(world, path, sizeof path);
	return path[0] && sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) == 0 &&
	       s.st_uid == geteuid() && sys_nanoseconds(CLOCK_REALTIME) / 1000000000 - s.st_mtime < MARK_SECONDS;
}

void deadline_forget(void)
{
	if (shared_mark[0])
		sys_unlink_at(AT_FDCWD, shared_mark);
}

bool deadline_given_up(void)
{
	char path[512];
	mark_path(path, sizeof path);
	return sys_exists(path);
}
