/* What the node is, into the store of one of its processes. */
#ifndef IOLENS_SURROUNDINGS_H
#define IOLENS_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The environment as the process was started with it, for as long as it lives: setenv() frees arrays, clearenv() leaves none, and
 * another thread may be in either.
 */
char **surroundings_keep(char **environment);

/* The command line, arguments as MASK_ARGS wants them, for as long as the process lives. */
const char *surroundings_command(int argc, char **argv);

/* Once in a process, before it records, on a stack of our own; it takes some tenths of a millisecond. */
void surroundings_describe(void *environment);

/* The number of the scheduler's job, 0 = there is none; `name`: the variable that holds it, NULL = the scheduler's own. */
int64_t surroundings_job(char **environment, const char *name);

/* Has the user said no (`iolens disable`)? Asked before the command line is kept, in whose room the path is. */
bool surroundings_opted_out(char **environment);

#endif
