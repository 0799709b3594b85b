/* The stack of phases of each thread. */
#ifndef IOLENS_PHASES_RECORD_H
#define IOLENS_PHASES_RECORD_H

/* Both keep errno. `name` NULL at the end: the phase that began last. One that the thread is not in ends nothing. */
void phase_begin(const char *name);
void phase_end(const char *name);

#endif
