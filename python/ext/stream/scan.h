/*
 * Many logs as one stream. Threads take runs of consecutive logs; batches come out in order of the logs, and a thread
 * that is ahead waits, so that memory is bounded whatever the logs are.
 */
#ifndef IOLENS_SCAN_H
#define IOLENS_SCAN_H

#include "rows.h"

/* A log of a scan that could not be read, or not to its end. */
struct log_failure {
	size_t log; /* its number; 0 for a single log */
	struct log_error error;
};

struct scan;

struct scan_spec {
	const char *const *paths;
	struct handle *const *handles; /* the same logs, open already; or NULL */
	size_t npaths;
	int threads;
	bool stop_on_error;
	int64_t batch_rows;
	const struct view *view; /* this and the form must stay */
	struct form *form;
};

int scan_open(struct scan **out, const struct scan_spec *spec, struct log_error *err);
void scan_stop(struct scan *s);
void scan_close(struct scan *s);
/* *out = NULL and LOG_OK at the end. */
int scan_next(struct scan *s, struct table **out, struct log_error *err, const char **path);
size_t scan_failures(struct scan *s, struct log_failure *out, size_t room);

#endif
