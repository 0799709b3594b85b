#include "epoch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hash.h"

static int64_t nanoseconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A thread that loses its processor between two clocks asks again: they would not be of the same instant. */
struct epoch epoch_now(void)
{
	enum { TRIES = 4, TICKS = 20000 };
	struct epoch best = {.realtime = nanoseconds(CLOCK_REALTIME)};
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < TRIES && least > TICKS; i++) {
		uint64_t before = epoch_counter();
		int64_t monotonic = nanoseconds(CLOCK_MONOTONIC);
		uint64_t after = epoch_counter();
		if (after - before < least) {
			least = after - before;
			best.monotonic = monotonic;
			best.counter = before + least / 2;
		}
	}
	return best;
}

#if defined(__x86_64__)
/* The kernel compares the counters of all CPUs for as long as it runs; its verdict is the clock source. */
bool epoch_counter_usable(long (*read_file)(const char *path, char *to, size_t n))
{
	char source[16] = "";
	static const char current[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	return read_file(current, source, sizeof source - 1) >= 3 && memcmp(source, "tsc", 3) == 0;
}
#else
bool epoch_counter_usable(long (*read_file)(const char *path, char *to, size_t n))
{
	(void)read_file;
	return true;
}
#endif

static int64_t host_number(const char *host)
{
	return (int64_t)(log_id(host) >> 1);
}

void epoch_print(const struct epoch *e, const char *host, char text[EPOCH_TEXT])
{
	snprintf(text, EPOCH_TEXT, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRId64, host_number(host),
		 e->realtime, e->monotonic, e->counter, (int64_t)(e->per_tick * 1e18));
}

/* By hand: what the library of C has for it is on pages that many a program has no other use for. */
static bool number(const char **text, int64_t *out)
{
	const char *at = *text;
	bool negative = *at == '-';
	uint64_t sum = 0;
	at += negative;
	const char *digits = at;
	for (; *at >= '0' && *at <= '9'; at++)
		sum = sum * 10 + (uint64_t)(*at - '0');
	if (at == digits || (*at != ',' && *at != '\0'))
		return false;
	*out = (int64_t)(negative ? -sum : sum);
	*text = *at ? at + 1 : at;
	return true;
}

bool epoch_parse(struct epoch *out, const char *text, const char *host)
{
	int64_t field[5];
	for (int i = 0; i < 5; i++)
		if (!number(&text, &field[i]))
			return false;
	*out = (struct epoch){field[1], field[2], (uint64_t)field[3], (double)field[4] * 1e-18};
	if (field[0] == host_number(host))
		return true;
	struct epoch now = epoch_now();
	out->monotonic = now.monotonic - (now.realtime - out->realtime);
	out->counter = 0;
	return true;
}
