/* What the kernel has counted for this process. */
#ifndef IOLENS_KERNEL_H
#define IOLENS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

/* Fills in /proc/self/io less what iolens itself has read and written; all zero where it cannot be read. */
void kernel_io(int64_t out[STATE_IO_COUNT]);

/* Between its start and its end more than programs read and write that are not said to do any I/O: libraries, locales, users' names. */
bool kernel_moved_much(const struct state_process *p);

/* A number for the process numbers' name space; 0 = unknown. */
int64_t kernel_pid_namespace(void);

#endif
