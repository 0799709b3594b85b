/*
 * Memory of the log library inside an observed process: never the program's malloc, which may be what is being interrupted. Blocks
 * are used again, for a page that is touched the first time costs as much as a thousand instructions.
 */
#ifndef IOLENS_SCRATCH_H
#define IOLENS_SCRATCH_H

/* From here on log_memory is this. */
void scratch_use(void);

/* In a forked child: the parent may have been in the middle of it. */
void scratch_reset(void);

#endif
