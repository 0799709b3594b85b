#include "record.h"

#include "../heatmap/record.h"
#include "clock.h"
#include "mpi/mpi.h"
#include "self.h"
#include "sizes.h"
#include "state.h"

/* Read and write counters are neighbours in the record: READ first. */
#define BY_KIND(record, field) ((&(record)->field)[kind])

void mpiio_stamp(double *first, double *last, double start, double end)
{
	if (*first == 0 || *first > start)
		*first = start;
	*last = end;
}

void mpiio_time(struct mpiio_file *f, enum live_kind kind, double start, double end)
{
	double from = start > f->ended[kind] ? start : f->ended[kind];
	if (end <= from)
		return;
	(&f->record->read_time)[kind] += end - from;
	f->ended[kind] = end;
}

static int64_t *calls(struct mpiio_record *r, enum live_way way, enum live_kind kind)
{
	int64_t *reads[LIVE_WAY_COUNT] = {&r->indep_reads, &r->coll_reads, &r->split_reads, &r->nb_reads};
	return &reads[way][kind];
}

static void count_access(struct mpiio_file *f, enum live_kind kind, int64_t size, int class)
{
	struct mpiio_record *r = f->record;
	BY_KIND(r, bytes_read) += size;
	(kind == LIVE_READ ? r->size_read_agg : r->size_write_agg)[class]++;
	r->rw_switches += f->last_kind >= 0 && f->last_kind != (int)kind;
	f->last_kind = (int)kind;
	frequent_add(&f->access, size, r->access, r->access_count);
}

static void count_time(struct mpiio_file *f, enum live_kind kind, int64_t size, double start, double end)
{
	struct mpiio_record *r = f->record;
	mpiio_time(f, kind, start, end);
	mpiio_stamp(&BY_KIND(r, read_start_timestamp), &BY_KIND(r, read_end_timestamp), start, end);
	if (end - start > BY_KIND(r, max_read_time)) {
		BY_KIND(r, max_read_time) = end - start;
		BY_KIND(r, max_read_time_size) = size;
	}
}

static void access_shard(enum live_way way, enum live_kind kind, int64_t size, int class, double start, double end)
{
	struct live_shard *shard = self_shard();
	shard->sizes[way][kind].count[class]++;
	shard->sizes[way][kind].bytes[class] += size;
	heatmap_add(shard, LIVE_HEAT_MPIIO, kind, size, start, end);
	live_timeline_add(&shard->timeline, kind, start, end);
	self_shard_done();
}

/* Inside self_enter. */
static void record_access(struct mpiio_open *o, enum live_way way, enum live_kind kind, int64_t size, double start,
			  double end)
{
	struct mpiio_file *f = o->file;
	int class = sizes_class(size);
	lock_take(&f->lock);
	++*calls(f->record, way, kind);
	count_access(f, kind, size, class);
	count_time(f, kind, size, start, end);
	if (way == LIVE_WAY_SPLIT)
		o->split = (struct mpiio_begun){true, kind, size, start};
	lock_drop(&f->lock);
	access_shard(way, kind, size, class, start, end);
}

/* Bytes that a call asks for: asked of the MPI each time, because a freed type's handle may be used again. */
static int64_t size_of(int64_t count, uintptr_t type)
{
	const struct mpi_backend *mpi = mpi_backend();
	int64_t element = mpi ? mpi->type_size(type) : 0;
	return count > 0 && element > 0 ? count * element : 0;
}

void mpiio_access(struct mpiio_span s, enum live_way way, enum live_kind kind, int64_t count, uintptr_t type)
{
	double end = clock_now();
	int64_t size = size_of(count, type);
	self_enter();
	record_access(s.open, way, kind, size, s.start, end);
	self_leave();
}

void mpiio_on_post(struct mpiio_span s, enum live_kind kind, int64_t count, uintptr_t type, const void *request,
		   int code)
{
	if (!s.open || code)
		return;
	double end = clock_now();
	int64_t size = size_of(count, type);
	self_enter();
	record_access(s.open, LIVE_WAY_NONBLOCKING, kind, size, s.start, end);
	mpiio_request_add(request, (struct mpiio_begun){true, kind, size, s.start});
	self_leave();
}

/* ---- operations without a record's counter, second halves ---- */

void mpiio_count_operation(enum live_operation_id operation, bool failed, int64_t bytes, double time)
{
	struct live_operation *o = &self_shard()->operation[operation];
	o->count++;
	o->errors += failed;
	o->bytes += bytes;
	o->time += time;
	self_shard_done();
}

void mpiio_timeline(enum live_kind kind, double start, double end)
{
	live_timeline_add(&self_shard()->timeline, kind, start, end);
	self_shard_done();
}

void mpiio_on_operation(struct mpiio_span s, enum live_operation_id operation, int64_t bytes, int code)
{
	if (!s.on)
		return;
	double end = clock_now();
	self_enter();
	mpiio_count_operation(operation, code, code ? 0 : bytes, end - s.start);
	mpiio_timeline(LIVE_META, s.start, end);
	self_leave();
}

void mpiio_complete(enum live_way way, const struct mpiio_begun *b, int64_t moved, double wait, double end)
{
	struct live_completion *c = &self_shard()->completion[way][b->kind];
	bool failed = moved == MPI_MOVED_FAILED;
	c->count++;
	c->errors += failed;
	c->bytes += moved >= 0 ? moved : failed ? 0 : b->size;
	c->wait += wait;
	c->span += end - b->start;
	self_shard_done();
}

void *mpiio_status(struct mpiio_span s, int64_t *room, void *status)
{
	const struct mpi_backend *mpi = mpi_backend();
	if (!s.open || !mpi->statuses_ignored(status))
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
	lock_take(&s.open->file->lock);
	struct mpiio_begun begun = s.open->split;
	s.open->split.on = false;
	lock_drop(&s.open->file->lock);
	if (begun.on) {
		int64_t moved = mpi_backend()->status_moved(code, status, 0);
		mpiio_complete(LIVE_WAY_SPLIT, &begun, moved, end - s.start, end);
		mpiio_timeline(begun.kind, s.start, end);
	}
	self_leave();
}
