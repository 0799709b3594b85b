/*
 * A log written again: in the newest format, whole or in part, with other metadata, or anonymized. Every record is
 * decoded and encoded, whatever its version and byte order were.
 */
#ifndef IOLENS_REWRITE_H
#define IOLENS_REWRITE_H

#include "log.h"
#include "pseudonym.h"
#include "writer.h"

struct rewrite_range {
	int64_t from, to;
};

struct rewrite {
	uint64_t modules;    /* bit per module id; 0 = all */
	const uint64_t *ids; /* only these records and names; NULL = all */
	size_t nids;
	bool (*wants_name)(const void *context,
			   const char *name); /* only these names; NULL = any; its name may be NULL */
	const void *context;
	const struct rewrite_range *ranks; /* only records of these ranks, -1 = of all of them; NULL = any */
	size_t nranks;
	bool drop_trailer;
	enum log_compression compression; /* LOG_ZLIB or LOG_BZIP2 */
	bool smallest;                    /* that zlib's format allows */
	bool reset_metadata;
	const struct log_pair *annotations; /* appended to the metadata */
	size_t nannotations;
	const struct pseudonym_key *key; /* anonymize; NULL = not */
	/* Out: what could not be taken along. */
	int left_out; /* modules that this version does not decode */
};

/*
 * A part of a log says in its trailer which log it is a part of, so that parts can be put together again: section
 * "selection", field "source".
 */
uint64_t rewrite_source(struct log *log);

/* Writes everything into `w`, which the caller finishes. 0 or a negative code. */
int rewrite_log(struct rewrite *r, struct log *log, struct log_writer *w, struct log_error *err);

#endif
