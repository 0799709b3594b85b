#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 16, LINE = 160 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t over;
	pthread_t painter;
	const char *what, *step;
	size_t done, total;
	bool runs, ends, shown;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static void put(const char *text, size_t n)
{
	while (write(STDERR_FILENO, text, n) < 0 && errno == EINTR)
		;
}

static void hide(void)
{
	if (progress.shown)
		put("\r\x1b[K", 4);
	progress.shown = false;
}

static void paint(int seconds)
{
	char line[LINE];
	int n = snprintf(line, sizeof line, "\r\x1b[Kiolens: %s", progress.what);
	if (progress.step && *progress.step)
		n += snprintf(line + n, sizeof line - (size_t)n, ": %s", progress.step);
	if (progress.total)
		n += snprintf(line + n, sizeof line - (size_t)n, ": %zu of %zu", progress.done, progress.total);
	n += snprintf(line + n, sizeof line - (size_t)n, ", %d s", seconds);
	put(line, (size_t)n);
	progress.shown = true;
}

/* A second each; the work itself need not look at a clock. */
static void *paint_each_second(void *unused)
{
	struct timespec next;
	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&progress.lock);
	for (int seconds = 0; !progress.ends;) {
		next.tv_sec++;
		while (!progress.ends && pthread_cond_timedwait(&progress.over, &progress.lock, &next) != ETIMEDOUT)
			;
		if (!progress.ends)
			paint(++seconds);
	}
	hide();
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

void progress_begin(const char *what, size_t total)
{
	pthread_attr_t small;
	if (!isatty(STDERR_FILENO) || progress.runs)
		return;
	progress.what = what;
	progress.step = NULL;
	progress.total = total;
	progress.done = 0;
	progress.ends = false;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	progress.runs = !pthread_create(&progress.painter, &small, paint_each_second, NULL);
	pthread_attr_destroy(&small);
}

void progress_advance(void)
{
	pthread_mutex_lock(&progress.lock);
	progress.done++;
	pthread_mutex_unlock(&progress.lock);
}

void progress_step(const char *step, size_t done, size_t total)
{
	pthread_mutex_lock(&progress.lock);
	progress.step = step;
	progress.done = done;
	progress.total = total;
	pthread_mutex_unlock(&progress.lock);
}

void progress_hide(void)
{
	pthread_mutex_lock(&progress.lock);
	hide();
	pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
	if (!progress.runs)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.ends = true;
	pthread_cond_signal(&progress.over);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.painter, NULL);
	progress.runs = false;
}
