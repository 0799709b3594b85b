#include "record.h"

#include <fcntl.h>

#include "../heatmap/record.h"
#include "file.h"
#include "operation.h"

struct template_file {
	FILE_HEAD(struct template_record);
};

static const struct file_kind kind = {WRITTEN_TEMPLATE, sizeof(struct template_file), NULL};

/* NULL: excluded by a setting, or no room. */
static struct template_file *file_at(const char *name)
{
	struct path p;
	int module = LOG_MOD_NULL;
	return names_path(&p, AT_FDCWD, name) && !names_class(module, &p) ? file_of(&kind, &p) : NULL;
}

static void count_access(struct template_file *f, enum io_op how, int64_t moved, double start, double end)
{
	struct template_record *r = f->record;
	int64_t *most = &FILE_BY_OP(r, how, max_get, max_put);
	FILE_BY_OP(r, how, gets, puts)++;
	FILE_BY_OP(r, how, bytes_read, bytes_written) += moved;
	*most = moved > *most ? moved : *most;
	file_stamp(&FILE_BY_OP(r, how, read_start_timestamp, write_start_timestamp),
		   &FILE_BY_OP(r, how, read_end_timestamp, write_end_timestamp), start, end);
	FILE_TIME(f, how, start, end);
}

/* What all objects share: the heat map and the timeline of the calling thread. */
static void count_shared(enum io_op how, int64_t moved, double start, double end)
{
	struct state_shard *shard = self_shard();
	if (!shard)
		return;
	heatmap_add(shard, STATE_HEAT_TEMPLATE, how, moved, start, end);
	state_timeline_add(&shard->timeline, how, start, end);
	self_shard_done();
}

void template_on_access(struct span s, enum io_op how, const char *name, int64_t moved)
{
	if (!s.at || moved < 0)
		return;
	double end = clock_now();
	self_enter();
	struct template_file *f = file_at(name);
	if (f && lock_take(&f->lock)) {
		count_access(f, how, moved, s.start, end);
		lock_drop(&f->lock);
	}
	count_shared(how, moved, s.start, end);
	self_leave();
}

void template_on_sync(struct span s, const char *name, int result)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	struct template_file *f = result < 0 ? NULL : file_at(name);
	if (f && lock_take(&f->lock)) {
		f->record->syncs++;
		FILE_TIME(f, IO_META, s.start, end);
		lock_drop(&f->lock);
	}
	operation_count(STATE_OP_TEMPLATE_SYNC, IO_META, result < 0, 0, s.start, end);
	self_leave();
}
