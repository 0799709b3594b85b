/*
 * Logs of Darshan 1.x and 2.x: one gzip or bzip2 stream of a job record and an array of file records. They look like any
 * other log to the caller of log_open: the records of modules are made from theirs as cp.toml says.
 *
 * Linked only where it is wanted (log_enable_old): the runtime has no use for it.
 */
#ifndef IOLENS_OLD_H
#define IOLENS_OLD_H

#include "decode.h"

struct old_reader {
	/* r->log and r->map are set. */
	int (*records)(struct log_records *r, struct log_error *err);
	int (*next)(struct log_records *r, struct log_record *out, struct log_error *err);
	const struct schema_map *(*map_of)(int module);
};

extern const struct old_reader *old_reader; /* NULL until log_enable_old */

#endif
