/*
 * Programs that the library cannot follow into: recognised by their file and their environment, before the exec. What they read
 * and write is in the kernel's count of the process that waits for them, and their names are in the log.
 */
#ifndef IOLENS_PROCESS_UNTRACED_H
#define IOLENS_PROCESS_UNTRACED_H

#include <alloca.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * `path` relative to `dir`, or with `path` NULL the open file `dir`; a name without a slash is looked for in $PATH if `search`.
 * True: its loader (of another C library, of another word size) would complain about the library or end the program over it, or
 * a filter of system calls would.
 */
bool untraced_record(int dir, const char *path, char *const *environment, int search);

/* For such a program: the same environment without the library in LD_PRELOAD, made in as many bytes as untraced_room says. */
size_t untraced_room(char *const *environment);
char *const *untraced_environment(char *const *environment, void *room, size_t bytes);
#define WITHOUT_US(given)                                            \
	({                                                           \
		size_t bytes_ = untraced_room(given);                \
		untraced_environment(given, alloca(bytes_), bytes_); \
	})

/* For the calls that give the program the caller's own environment. NULL after clearenv(). */
extern char **environ;

#endif
