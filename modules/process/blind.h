/*
 * Programs that the library cannot follow into: told by their file and their environment, before the exec. What they read
 * and write is in the kernel's count of the process that waits for them, and their names are in the log.
 */
#ifndef IOLENS_PROCESS_BLIND_H
#define IOLENS_PROCESS_BLIND_H

/* `path` relative to `dir`, or with `path` NULL the open file `dir`; a name without a slash is looked for in $PATH if `search`. */
void blind_note(int dir, const char *path, char *const *environment, int search);

/* For the calls that give the program the caller's own environment. */
extern char **environ;

#endif
