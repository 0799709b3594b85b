/*
 * An epoch: the same instant on three clocks, from which all processes of a session count their time.
 * Its text form travels in IOLENS_EPOCH.
 */
#ifndef IOLENS_EPOCH_H
#define IOLENS_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct epoch {
	int64_t realtime;  /* ns since 1970 */
	int64_t monotonic; /* ns */
	uint64_t counter;  /* time stamp counter; 0 = no usable one */
	double per_tick;   /* s per counter tick; 0 = not measured yet */
};

enum { EPOCH_TEXT = 128 };

static inline uint64_t epoch_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

/* Now; the counter is filled in whether usable or not. */
struct epoch epoch_now(void);

/*
 * True when the kernel itself keeps time by the counter: it is then constant and equal on all CPUs. Whether this process may read
 * it at all (PR_GET_TSC) is for the caller to ask. `read_file` returns bytes, or -1.
 */
bool epoch_counter_usable(long (*read_file)(const char *path, char *to, size_t n));

void epoch_print(const struct epoch *e, const char *host, char text[EPOCH_TEXT]);

/*
 * The epoch in this machine's terms. On another host than the one that made it only the real time
 * holds: monotonic is derived from it and there is no counter.
 */
bool epoch_parse(struct epoch *out, const char *text, const char *host);

#endif
