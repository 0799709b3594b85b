/*
 * The screen of iolens top: jobs, one job, one process or file of it, on any terminal that knows ANSI's sequences. It takes the
 * whole terminal and gives it back as it was, whatever ends it.
 */
#ifndef IOLENS_LIVE_SCREEN_H
#define IOLENS_LIVE_SCREEN_H

#include "live_job.h"

/* Takes another look; an exit code, the reason told. */
typedef int live_screen_look(void *context, struct live *l);

/* Until the user ends it, or a signal. `wanted`: the job that it begins with; NULL = the list of all. An exit code. */
int live_screen_run(const char *wanted, double every, live_screen_look *look, void *context);

/* There is a terminal that it can be drawn on. */
bool live_screen_possible(void);

#endif
