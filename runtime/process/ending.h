/*
 * Several threads may end the process, or replace its program, at once. The first records the end. A thread that comes before
 * an exec returns relies on that record: it is undone only when the exec of every one of them has failed.
 */
#ifndef IOLENS_ENDING_H
#define IOLENS_ENDING_H

#include <stdbool.h>

enum ending {
	ENDING_BUSY,  /* another thread records the end, and takes long; or a handler has interrupted this one in it */
	ENDING_FIRST, /* the caller is to record it, and calls ending_recorded */
	ENDING_JOINED /* it is recorded */
};

enum ending ending_begin(void);
void ending_recorded(void);

/*
 * After ENDING_JOINED: what is recorded is to be recorded once more. One thread at a time: it looks again whether that is needed,
 * and calls ending_recorded. False: as ENDING_BUSY.
 */
bool ending_begin_anew(void);

/* The calling thread's exec has failed. True: it was the last to rely on what is recorded, and calls ending_none when that is undone. */
bool ending_take_back(void);

/* No thread ends the process; the same in a forked child. */
void ending_none(void);

#endif
