#include "record.h"

#include "../heatmap/record.h"
#include "config.h"
#include "operation.h"
#include "clock.h"
#include "mpi/mpi.h"
#include "mpi/types.h"
#include "self.h"
#include "sizes.h"
#include "state.h"
#include "trace.h"

static int64_t *calls(struct mpiio_record *r, enum access_mode mode, enum io_op op)
{
	_Static_assert(FILE_STEP(r, indep_reads, coll_reads) == 2 * ACCESS_MODE_COLLECTIVE &&
			       FILE_STEP(r, indep_reads, split_reads) == 2 * ACCESS_MODE_SPLIT &&
			       FILE_STEP(r, indep_reads, nb_reads) == 2 * ACCESS_MODE_NONBLOCKING &&
			       FILE_STEP(r, nb_reads, nb_writes) == IO_WRITE,
		       "the counters of calls are in the order of their modes");
	return &(&r->indep_reads)[2 * (int)mode + (int)op];
}

static void count_access(struct mpiio_file *f, enum io_op op, int64_t size, int class)
{
	struct mpiio_record *r = f->record;
	FILE_BY_OP(r, op, bytes_read, bytes_written) += size;
	(op == IO_READ ? r->size_read_agg : r->size_write_agg)[class]++;
	r->rw_switches += f->last_op >= 0 && f->last_op != (int)op;
	f->last_op = (int)op;
	frequent_add(&f->access, size, r->access, r->access_count);
}

static void count_shard(struct state_shard *shard, enum access_mode mode, enum io_op op, int64_t size, int class,
			double start, double end)
{
	shard->sizes[mode][op].count[class]++;
	shard->sizes[mode][op].bytes[class] += size;
	heatmap_add(shard, STATE_HEAT_MPIIO, op, size, start, end);
	state_timeline_add(&shard->timeline, op, start, end);
	self.outer++;
}

/* Where this thread's access begins, asked before the call: afterwards the file pointer is elsewhere. */
static __thread int64_t located __attribute__((tls_model("initial-exec")));

enum { NOWHERE = -1 };

void mpiio_forget_offset(void)
{
	located = NOWHERE;
}

void mpiio_ask_offset(struct mpiio_span s, uintptr_t handle, const int64_t *at)
{
	const struct mpi_backend *mpi = s.open && config_traced(LOG_MOD_DXT_MPIIO) ? mpi_backend() : NULL;
	located = mpi ? mpi->file_offset(handle, at) : NOWHERE;
}

/* Inside self_enter. */
static void record_access(struct mpiio_open *o, enum access_mode mode, enum io_op op, int64_t size, double start,
			  double end)
{
	struct mpiio_file *f = o->file;
	int class = sizes_class(size);
	bool special = self.special;
	if (lock_take(&f->lock)) {
		++*calls(f->record, mode, op);
		count_access(f, op, size, class);
		FILE_ACCESS_TIME(f, op, size, start, end);
		if (mode == ACCESS_MODE_SPLIT)
			o->split = (struct mpiio_begun){true, op, size, start};
		if (__builtin_expect(special, 0))
			trace_access(&f->file, TRACE_MPIIO, op, located, size, start, end);
		lock_drop(&f->lock);
	}
	struct state_shard *shard = __builtin_expect(special, 0) ? self_shard() : self.shard;
	if (!shard)
		return;
	count_shard(shard, mode, op, size, class, start, end);
	if (__builtin_expect(special, 0))
		self_shard_done();
}

void mpiio_access(struct mpiio_span s, enum access_mode mode, enum io_op op, int64_t count, uintptr_t type)
{
	double end = clock_now();
	int64_t size = mpi_bytes(count, type);
	self_enter();
	record_access(s.open, mode, op, size, s.start, end);
	self_leave();
}

void mpiio_on_post(struct mpiio_span s, enum io_op op, int64_t count, uintptr_t type, const void *request, int code)
{
	if (!s.open || code)
		return;
	double end = clock_now();
	int64_t size = mpi_bytes(count, type);
	self_enter();
	record_access(s.open, ACCESS_MODE_NONBLOCKING, op, size, s.start, end);
	mpiio_request_add(request, (struct mpiio_begun){true, op, size, s.start});
	self_leave();
}

/* ---- operations without a record's counter, second halves ---- */

double mpiio_on_operation(struct mpiio_span s, enum state_operation_id operation, int64_t bytes, int code)
{
	if (!s.on)
		return 0;
	double end = clock_now();
	self_enter();
	operation_count(operation, IO_META, code, code ? 0 : bytes, s.start, end);
	self_leave();
	return end;
}

void *mpiio_status(struct mpiio_span s, int64_t *room, void *status)
{
	const struct mpi_backend *mpi = mpi_backend();
	if (!s.open || !mpi || !mpi->statuses_ignored(status))
		return status;
	mpi->statuses_prepare(room, 1);
	return room;
}

void mpiio_on_end(struct mpiio_span s, const void *status, int code)
{
	if (!s.open)
		return;
	double end = clock_now();
	self_enter();
	struct mpiio_file *f = s.open->file;
	struct mpiio_begun begun = {.on = false};
	if (lock_take(&f->lock)) {
		begun = s.open->split;
		s.open->split.on = false;
		lock_drop(&f->lock);
	}
	if (begun.on) {
		int64_t moved = mpi_backend()->status_moved(code, status, 0);
		mpiio_complete(ACCESS_MODE_SPLIT, &begun, moved, end - s.start, end);
		mpiio_timeline(begun.op, s.start, end);
	}
	self_leave();
}
