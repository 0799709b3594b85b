/* Operations that are counted by name, for all files together: those that no Darshan counter has. */
#ifndef IOLENS_OPERATION_H
#define IOLENS_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"
#include "self.h"

/* Adds one to a shard that is held (self_shard). */
static inline void operation_add(struct state_shard *shard, enum state_operation_id operation, bool failed,
				 int64_t bytes, double time)
{
	struct state_operation *o = &shard->operation[operation];
	o->count++;
	o->errors += failed;
	o->bytes += bytes;
	o->time += time;
}

/* Counts one in the calling thread's shard whose time is in the timeline already, as other calls'. Inside self_enter. */
void operation_count_only(enum state_operation_id operation, bool failed, int64_t bytes, double time);

/* By a thread that shares its shard. */
void operation_count_shared(enum state_operation_id operation, enum io_op op, bool failed, int64_t bytes, double start,
			    double end);

/* The same, and its time as one of a kind in the timeline. */
static inline void operation_count(enum state_operation_id operation, enum io_op op, bool failed, int64_t bytes,
				   double start, double end)
{
	if (__builtin_expect(self.shared, 0)) {
		operation_count_shared(operation, op, failed, bytes, start, end);
	} else {
		operation_add(self.shard, operation, failed, bytes, end - start);
		state_timeline_add(&self.shard->timeline, op, start, end);
	}
}

#endif
