/*
 * A log written again: in the newest format, whole or in part, with other metadata, or anonymized. Every record is
 * decoded and encoded, whatever its version and byte order were.
 */
#ifndef IOLENS_REWRITE_H
#define IOLENS_REWRITE_H

#include "log.h"
#include "pseudonym.h"
#include "writer.h"

struct rewrite {
	uint64_t modules;    /* bit per module id; 0 = all */
	const uint64_t *ids; /* only these records and names; NULL = all */
	size_t nids;
	bool drop_trailer;
	bool reset_metadata;
	const struct log_pair *annotations; /* appended to the metadata */
	size_t nannotations;
	const struct pseudonym_key *key; /* anonymize; NULL = not */
	/* Out: what could not be taken along. */
	int left_out; /* modules that this version does not decode */
};

/* Writes everything into `w`, which the caller finishes. 0 or a negative code. */
int rewrite_log(struct rewrite *r, struct log *log, struct log_writer *w, struct log_error *err);

#endif
