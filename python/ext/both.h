/* Two halves of a piece of work at once, where there is a second processor. */
#ifndef IOLENS_BOTH_H
#define IOLENS_BOTH_H

/* Calls work(arg, 0) and work(arg, 1), which must not depend on each other. */
void both_halves(void (*work)(void *arg, int half), void *arg);

#endif
