/* Preloaded: the clock of the day steps back and forth, by up to two weeks, a hundred readings a step. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 86400, READINGS = 100 };

static atomic_uint readings;

static long step(void)
{
	static const long days[] = {0, -14, 9, -1, 14, -7, 3};
	unsigned n = atomic_fetch_add(&readings, 1) / READINGS + (unsigned)getpid();
	return days[n % (sizeof days / sizeof *days)] * DAY;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int code = (int)syscall(SYS_clock_gettime, clock, now);
	if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += step();
	return code;
}

int gettimeofday(struct timeval *now, void *zone)
{
	struct timespec at;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &at);
	now->tv_sec = at.tv_sec;
	now->tv_usec = at.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *to)
{
	struct timespec at;
	clock_gettime(CLOCK_REALTIME, &at);
	if (to)
		*to = at.tv_sec;
	return at.tv_sec;
}
