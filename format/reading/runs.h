/*
 * What threads have counted of accesses alike and not added to the file's record yet (struct state_run): of a process that
 * ended, or was killed, it is still there, and what reads a store's records adds it.
 */
#ifndef IOLENS_RUNS_H
#define IOLENS_RUNS_H

#include "log.h"
#include "process_state.h"
#include "records.h"

/*
 * Adds the counters of a run but for those of frequent values. Before the first one changes, `settling` has what all of them will be,
 * and `number`: whatever stops the thread, a reader can do the rest.
 */
void runs_settle(struct posix_record *r, enum io_op op, const struct state_run *run, struct state_settling *settling,
		 uint64_t number);

/* The rest of it, frequent values included, however far it came. */
void runs_finish(struct posix_record *r, enum io_op op, const struct state_run *run,
		 const struct state_settling *settling);

/* Bytes between two accesses of a run, as the record counts them. */
static inline int64_t runs_stride(const struct state_run *run)
{
	return run->step > 1 ? run->step - 1 : 0;
}

/* Of a store; none of a log. */
struct runs {
	struct {
		struct state_run run;
		struct state_settling settling; /* of one that was being added */
		enum io_op op;
	} * each;
	size_t used;
	bool posix;                 /* the records are of that module */
	struct posix_record record; /* the latest that something was added to */
};

/* Negative code when memory is short. What cannot be read has none. */
int runs_load(struct runs *runs, struct log *store, int module, struct log_error *err);

/* Adds to a record what is left of it, and the lengths of accesses that the end of the process kept from being counted; its data may be elsewhere afterwards, until the next one. */
void runs_add(struct runs *runs, struct log_record *r);

void runs_free(struct runs *runs);

#endif
