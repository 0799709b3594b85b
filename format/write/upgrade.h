/* How records and times are written, so that the tools that are released read them. */
#ifndef IOLENS_UPGRADE_H
#define IOLENS_UPGRADE_H

#include "accesses.h"
#include "log.h"
#include "writer.h"

/* Of the module's records: for traces the layout without thread handles. */
uint32_t newest_version(int module);

/* An access of a trace in that layout. */
struct newest_segment {
	int64_t offset, length;
	double start, end; /* s */
};

bool newest_is_trace(const struct schema_module *m);

/* A record as the format has it: some arrays have an element where their length says none. */
int newest_record(struct log_writer *w, const struct schema_module *m, const void *data, size_t size);

/* The segments of the record at hand, `shift` seconds later. */
int newest_segments(struct log_writer *w, struct log_records *records, double shift, struct log_error *err);

/* The same as a record of accesses with the head that `record` is, a struct dxt_posix_record. */
int newest_accesses(struct log_writer *w, struct access_writer *a, struct log_records *records, const void *record,
		    double shift, struct log_error *err);

/* End of a job. Before 3.41 it has whole seconds, and the last of them counts: here it is its last nanosecond. */
struct newest_end {
	int64_t seconds, ns;
};
struct newest_end newest_end(const struct log *log, const struct log_job *job);

#endif
