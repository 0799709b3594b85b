/* A stack of our own: the thread that runs us may have 16 KiB, or a guard page just below. */
#ifndef IOLENS_OWN_STACK_H
#define IOLENS_OWN_STACK_H

/* Calls `work` on a stack of a megabyte, with the signals that our system calls may raise held back; not at all without memory. */
void own_stack_call(void (*work)(void *context), void *context);

#endif
