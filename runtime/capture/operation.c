#include "operation.h"

void operation_count_only(enum state_operation_id operation, bool failed, int64_t bytes, double time)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	operation_add(shard, operation, failed, bytes, time);
	self_shard_done();
}

void operation_count_shared(enum state_operation_id operation, enum io_op op, bool failed, int64_t bytes, double start,
			    double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	operation_add(shard, operation, failed, bytes, end - start);
	state_timeline_add(&shard->timeline, op, start, end);
	self_shard_done();
}
