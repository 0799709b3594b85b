/* The names of logs, by Darshan's scheme: <user>_<program>_id<job>-<pid>_<month>-<day>-<second of the day>-<random>_<n>.darshan */
#ifndef IOLENS_LOGNAME_H
#define IOLENS_LOGNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The path of a new log of `program`, started at `start` (ns since 1970): below `root`, in its
 * year/month/day directory where there is one; root NULL = the current directory.
 */
void logname_make(char *path, size_t room, const char *root, const char *program, int64_t start, int64_t job,
		  int64_t pid);

/*
 * Days are from now on those of the node's time zone, which is read when a name is made; or of `given`, the value of TZ, as it is at
 * `start`: to look that up takes a lock of the C library that a child forked from a threaded process may find held for ever, as may a
 * handler that calls _exit.
 */
void logname_remember_zone(int64_t start, const char *given);

/* Instead of .darshan: a file that says why a program has left no log, a reason in each line. */
#define LOGNAME_UNOBSERVED ".unobserved"

/*
 * The file whose being there says that its user wants no logs but of iolens run. `config` and `home`: $XDG_CONFIG_HOME and $HOME,
 * or NULL. False: neither is an absolute path.
 */
bool logname_opt_out(const char *config, const char *home, char *path, size_t room);

#endif
