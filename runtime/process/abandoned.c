#include "abandoned.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "assemble.h"
#include "config.h"
#include "logname.h"
#include "own_stack.h"
#include "scratch.h"
#include "store_reader.h"
#include "storename.h"
#include "sys.h"

enum { LOOKS = 12, EXTRA = 2 << 20, PLENTY = 64 << 20 };

struct collection {
	const char *directory;
	int dir;
	int most; /* to deal with */
	int looks;
	int64_t until;
	bool remove; /* without a log */
	bool logs;
	char path[512];
};

/* The process with the lock handles the store, unless another process did while this one opened it. */
static bool is_ours(int fd, struct stat *s)
{
	return sys_call(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0) == 0 && sys_fstat(fd, s) == 0 && s->st_nlink &&
	       S_ISREG(s->st_mode);
}

/* A file system in memory is small, or it is large and others need not fear for their half of it. */
static bool crowded(int dir)
{
	struct statfs s;
	return sys_call(SYS_fstatfs, dir, (long)&s, 0, 0, 0, 0) == 0 && s.f_bavail < s.f_blocks / 2 &&
	       s.f_bavail < PLENTY / (uint64_t)s.f_bsize;
}

/* Where the log of the dead process would have gone. */
static void name_log(const struct store_reader *i, char *path, size_t room)
{
	const struct log_job *job;
	const struct state_process *p = &i->state->process;
	struct log_error err;
	char beside[sizeof p->directory + 4096];
	const char *root = config.logpath;
	if (!root) {
		snprintf(beside, sizeof beside, "%s", config.logfile ? config.logfile : p->directory);
		char *end = config.logfile ? strrchr(beside, '/') : beside + strlen(beside);
		if (end)
			*end = '\0';
		root = end && end > beside ? beside : NULL;
	}
	logname_make(path, room, root, p->exe, p->started, log_job(i->log, &job, &err) >= 0 ? job->id : 0, p->pid);
}

/* Nothing can have been recorded in a store whose making was cut short. */
static bool is_empty(const struct log_error *err)
{
	return err->code == LOG_E_NOT_LOG || err->code == LOG_E_UNFINISHED || err->code == LOG_E_TRUNCATED ||
	       err->code == LOG_E_DAMAGED;
}

/* True when the store has nothing that a log lacks. */
static bool make_log(const char *store)
{
	char log[4096 + 512];
	struct store_reader i;
	struct log_error err = {0};
	struct assemble_job job = {0};
	bool good = store_reader_open_file(&i, store, &err) >= 0 && store_reader_load_state(&i, &err) >= 0;
	bool done = good && i.state->process.end_reason == STATE_END_LOGGED;
	if (good && !done)
		name_log(&i, log, sizeof log);
	store_reader_close(&i);
	if (!good)
		return is_empty(&err);
	return done || assemble_stores(&job, &store, 1, log, &err) == 1;
}

static void deal_with(void *context)
{
	struct collection *c = context;
	scratch_use();
	if (c->remove || (c->logs && make_log(c->path)) || crowded(c->dir))
		sys_unlink_at(AT_FDCWD, c->path);
}

/* Of a process that seems to run, the number may be another's by now: a few of those are looked at, too. */
static bool worth_a_look(const char *name)
{
	int64_t pid = storename_pid(name);
	return storename_is(name) && (!pid || sys_call(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH ||
				      (sys_nanoseconds(CLOCK_MONOTONIC) >> 8) % 8 == 0);
}

static bool look_at(void *context, const char *name)
{
	struct collection *c = context;
	struct stat s;
	size_t n = strlen(c->directory), more = strlen(name) + 1;
	if (!worth_a_look(name) || n + 1 + more > sizeof c->path)
		return true;
	memcpy(c->path, c->directory, n);
	c->path[n] = '/';
	memcpy(c->path + n + 1, name, more);
	int fd = sys_open_at(c->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return true;
	/* Where the file system has no leases, everything counts as live. One that is larger than ours may become takes longer than we may: it is left to those of its size. */
	if (is_ours(fd, &s) && s.st_blocks * 512 <= config.budget + EXTRA && sys_writer_of(fd) == SYS_UNWRITTEN) {
		own_stack_call(OWN_STACK_LOG, deal_with, c);
		c->most--;
	}
	sys_close(fd);
	return --c->looks > 0 && c->most > 0 && sys_nanoseconds(CLOCK_MONOTONIC) < c->until;
}

void abandoned_collect(const char *directory, int most, int64_t nanoseconds, bool logs)
{
	int error = errno, dir = strcmp(config.abandoned, "keep") != 0 ? sys_open_private(directory) : -1;
	if (dir < 0)
		return;
	struct collection c = {
		.directory = directory,
		.dir = dir,
		.most = most,
		.looks = LOOKS + 2 * most,
		.until = sys_nanoseconds(CLOCK_MONOTONIC) + nanoseconds,
		.logs = logs,
		.remove = strcmp(config.abandoned, "remove") == 0,
	};
	if (logs || c.remove || crowded(dir))
		sys_each_name(dir, look_at, &c);
	sys_close(dir);
	errno = error;
}
