/* The records of a store: those of a log, and what threads have counted of them elsewhere (runs.h). */
#ifndef IOLENS_STORE_RECORDS_H
#define IOLENS_STORE_RECORDS_H

#include "log.h"
#include "runs.h"

struct store_records {
	struct log_records *records;
	struct runs runs;
};

/* As log_records_open, log_records_next and log_records_close. */
int store_records_open(struct store_records *s, struct log *store, int module, struct log_error *err);
int store_records_next(struct store_records *s, struct log_record *out, struct log_error *err);
void store_records_close(struct store_records *s);

#endif
