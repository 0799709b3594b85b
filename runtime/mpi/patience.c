#include "patience.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "clock.h"
#include "session.h"
#include "sys.h"

enum { NAP_MIN = 20000, NAP_MAX = 4000000, SPINS = 8, CHECK_EVERY = 32 };

struct patience patience_from_now(double seconds)
{
	uint64_t now = clock_monotonic();
	return (struct patience){.begun = now, .until = now + (uint64_t)(seconds * 1e9)};
}

void patience_again(struct patience *p)
{
	p->begun = clock_monotonic();
	p->turn = 0;
}

bool patience_rest(struct patience *p)
{
	uint64_t now = clock_monotonic(), nap = (now - p->begun) / 8;
	struct timespec t = {.tv_nsec = (long)(nap < NAP_MIN ? NAP_MIN : nap > NAP_MAX ? NAP_MAX : nap)};
	if (now > p->until || (p->turn % CHECK_EVERY == CHECK_EVERY - 1 && patience_given_up()))
		return false;
	if (p->turn++ < SPINS)
		sched_yield();
	else
		nanosleep(&t, NULL);
	return true;
}

static void mark_path(char *out, size_t room)
{
	snprintf(out, room, "%s/left", session_world_directory());
}

void patience_give_up(void)
{
	char path[512];
	mark_path(path, sizeof path);
	int fd = session_world_directory()[0] ? sys_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		sys_close(fd);
}

bool patience_given_up(void)
{
	char path[512];
	mark_path(path, sizeof path);
	return sys_exists(path);
}
