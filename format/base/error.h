/*
 * Errors of the log library: functions return 0 or a negative code and, where the caller wants it, fill a
 * struct log_error with what is wrong and at which byte. The text says what is wrong, not what to do about it.
 */
#ifndef IOLENS_ERROR_H
#define IOLENS_ERROR_H

#include <stdint.h>

enum log_code {
	LOG_OK = 0,
	LOG_E_IO = -1,          /* the system refused: see `system` */
	LOG_E_NOT_LOG = -2,     /* no Darshan log at all */
	LOG_E_UNFINISHED = -3,  /* header never written */
	LOG_E_OLD = -4,         /* log of Darshan 1.x or 2.x */
	LOG_E_VERSION = -5,     /* container of an unknown version */
	LOG_E_TRUNCATED = -6,   /* the file ends too early */
	LOG_E_DAMAGED = -7,     /* contents contradict the format */
	LOG_E_UNSUPPORTED = -8, /* valid, but not decoded by this version */
	LOG_E_MEMORY = -9,
	LOG_E_EXISTS = -10, /* would overwrite a file */
	LOG_E_USAGE = -11,  /* caller's mistake, such as modules out of order */
	LOG_E_BUDGET = -12, /* unpacks to more than is allowed: budget.h */
};

struct log_error {
	int code;        /* enum log_code */
	int system;      /* errno, 0 = none */
	uint64_t offset; /* byte in the file, LOG_NOWHERE = none in particular */
	char message[160];
};

#define LOG_NOWHERE UINT64_MAX

/* Fills err (may be NULL) with the joined strings and returns code. */
#define log_fail(err, code, offset, ...) log_fail_parts(err, code, offset, (const char *const[]){__VA_ARGS__, 0})

int log_fail_parts(struct log_error *err, int code, uint64_t offset, const char *const *parts);

/* The same with errno kept. */
int log_fail_system(struct log_error *err, const char *what);

#endif
