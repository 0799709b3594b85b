#include "session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "preload.h"

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

static int make_below(struct session_dir *s, const char *parent)
{
	if (!parent || parent[0] != '/' || strlen(parent) > sizeof s->path - 32)
		return -1;
	snprintf(s->path, sizeof s->path, "%.200s/iolens-XXXXXX", parent);
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

int session_dir_make(struct session_dir *s)
{
	struct utsname u;
	s->epoch = epoch_now();
	if (!preload_find(s->preload, sizeof s->preload))
		return cli_fail(CLI_INPUT,
				"run: libiolens.so not found beside this program: set IOLENS_PRELOAD to its path");
	int code = make_somewhere(s);
	uname(&u);
	snprintf(s->host, sizeof s->host, "%.64s", u.nodename);
	calibrate(&s->epoch);
	return code;
}

void session_dir_environment(const struct session_dir *s)
{
	char text[EPOCH_TEXT], preload[8192];
	const char *others = getenv("LD_PRELOAD");
	epoch_print(&s->epoch, s->host, text);
	snprintf(preload, sizeof preload, "%s%s%s", s->preload, others && *others ? ":" : "", others ? others : "");
	setenv("IOLENS_SESSION", s->path, 1);
	setenv("IOLENS_EPOCH", text, 1);
	setenv("LD_PRELOAD", preload, 1);
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
