/* Why a task of a job will leave no log, and a file that says so. */
#ifndef IOLENS_REASON_H
#define IOLENS_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REASON_TEXT = 512 };

struct reason_task {
	const char *program, *path; /* argv[0], and the PATH where it is looked for */
	const char *logs, *user, *home, *config;
	const char *library;
	int64_t job;
	bool off;      /* the option says so */
	bool disabled; /* a variable does */
};

/* Can the loader take it? */
bool reason_usable(const char *library);

/* Its loader would complain about the library, or end the program over it. */
bool reason_foreign(const struct reason_task *of);

/* False: it can be observed, as far as an outsider can see. */
bool reason_find(const struct reason_task *of, char *why, size_t room);

/* By a process of its own, for which at most a second is waited: the directory may be of a file system that hangs. */
void reason_leave(const struct reason_task *of, const char *logs, const char *why);

#endif
