/*
 * Batches of one table, one after another: from one log, or from many that are read by threads. No Python in here: the
 * consumer calls from whatever thread it likes.
 */
#ifndef IOLENS_STREAM_H
#define IOLENS_STREAM_H

#include "scan.h"

struct stream;

/* What a stream is made with. Texts are copied. */
struct stream_spec {
	const struct table_kind *kind;
	int module;
	const char *section;
	bool names, mounts;
	const char *const *selection;
	int64_t batch_rows;
};

int stream_of_log(struct stream **out, struct handle *h, const char *path, const struct stream_spec *spec,
		  struct log_error *err);
/*
 * logs: which, and how they are read; rows, view and form are of the stream.
 * form_logs: logs to take the columns from, for tables whose columns depend on them; may be none.
 * stop_on_error: the first failure in order of the logs ends the stream.
 */
int stream_of_logs(struct stream **out, const struct scan_spec *logs, struct form_logs *form_logs,
		   const struct stream_spec *spec, struct log_error *err);
/* Ends it: threads stop, what is waiting is dropped. Failures are still there. */
void stream_stop(struct stream *s);
void stream_drop(struct stream *s);

struct form *stream_form(const struct stream *s);
/* *out = NULL at the end. What a stream has failed with it fails with for ever. */
int stream_next(struct stream *s, struct table **out, struct log_error *err, const char **path);

/* Failures so far; more may come until the end. */
size_t stream_failures(struct stream *s, struct log_failure *out, size_t room);

/* A reference for Arrow, which stops the stream when it is released. */
void stream_export(struct stream *s, struct ArrowArrayStream *out);

#endif
