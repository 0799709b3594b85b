/* Before a process gives up system calls, ours with them. */
#ifndef IOLENS_CONFINED_H
#define IOLENS_CONFINED_H

/*
 * What can only be had by asking the kernel is had now: how much was moved, the working directory, and room for the threads and
 * files that are still to come, of which some are the most that can be recorded.
 */
void confined_prepare(void);

#endif
