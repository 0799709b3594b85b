/* A stack of our own: the thread that runs us may have 16 KiB, or a guard page just below. */
#ifndef IOLENS_OWN_STACK_H
#define IOLENS_OWN_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Twice what making a log takes (51 KiB), and ten times what waking a process takes. A program that locks its memory locks all of it. */
enum { OWN_STACK_LOG = 3 << 15, OWN_STACK_WAKE = 1 << 15 };

/* Calls `work` on a stack of so many bytes, with the signals that our system calls may raise held back. False: no memory, not called. */
bool own_stack_call(size_t size, void (*work)(void *context), void *context);

#endif
