/* What the kernel has counted for this process. */
#ifndef IOLENS_KERNEL_H
#define IOLENS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

/* Fills in /proc/self/io less what iolens itself has read and written; all zero where it cannot be read. */
void kernel_io(int64_t out[STATE_IO_COUNT]);

/*
 * What the children that it has waited for have moved, by a process with one thread: the kernel adds it to the count of the process,
 * and not to that of the thread. False: it is not known.
 */
bool kernel_io_of_children(int64_t out[STATE_IO_COUNT]);

/* Fills in what the process has used so far, all of its threads together; all zero where that is not known. */
void kernel_used(int64_t out[STATE_USED_COUNT]);

/* All that it has moved and used when it begins. */
void kernel_begin(struct state_process *p);

/* A thread of it ends that has recorded something: how long it waited for a processor is not lost with it. */
void kernel_end_thread(void);

/*
 * All of it at the end of a process. Of a short-lived one that read nothing from storage it is not asked how long its threads
 * waited for a processor.
 */
void kernel_account(struct state_process *p, bool short_lived);

/* Between two counts: more than programs read and write that are not said to do any I/O: libraries, locales, users' names. */
bool kernel_moved_much(const int64_t start[STATE_IO_COUNT], const int64_t end[STATE_IO_COUNT]);

/* From that count until now. */
bool kernel_moved_much_since(const int64_t start[STATE_IO_COUNT]);

/* A number for the process numbers' name space; 0 = unknown. */
int64_t kernel_pid_namespace(void);

/*
 * Of a process whose parent is outside of its name space: the numbers of both there. /proc is that one's, too, unless it was
 * mounted anew: 0 then.
 */
void kernel_outside(int64_t *pid, int64_t *parent);

#endif
