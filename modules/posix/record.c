#include "record.h"

#include <fcntl.h>
#include <string.h>

#include "../heatmap/record.h"
#include "config.h"
#include "sizes.h"
#include "state.h"
#include "sys.h"

/* Read and write counters are neighbours in the record: READ first. */
#define BY_KIND(record, field) ((&(record)->field)[kind])

void posix_time(struct posix_file *f, enum live_kind kind, double start, double end)
{
	double from = start > f->ended[kind] ? start : f->ended[kind];
	if (end <= from)
		return;
	(&f->record->read_time)[kind] += end - from;
	f->ended[kind] = end;
}

/* The offset of an access at the cursor; moves the cursor. */
static int64_t cursor(struct posix_open *o, enum live_kind kind, int fd, int64_t got)
{
	if (o->shared || (o->append && kind == LIVE_WRITE))
		o->offset = sys_seek(fd, 0, SEEK_CUR) - got;
	int64_t at = o->offset;
	o->offset += got;
	return at;
}

/* O_APPEND makes even pwrite write at the end. */
static int64_t end_of_file(int fd, int64_t got)
{
	struct stat s;
	return sys_fstat(fd, &s) == 0 ? s.st_size - got : 0;
}

static void count_pattern(struct posix_file *f, struct posix_open *o, enum live_kind kind, int64_t at, int64_t got)
{
	struct posix_record *r = f->record;
	int64_t last = o->last[kind], end = at + got - 1;
	int64_t stride = 0;
	if (at > last) {
		BY_KIND(r, seq_reads)++;
		if (at > 0 && last != 0)
			stride = at - last - 1;
	}
	BY_KIND(r, consec_reads) += at == last + 1;
	o->last[kind] = end;
	if (end > BY_KIND(r, max_byte_read))
		BY_KIND(r, max_byte_read) = end;
	r->rw_switches += f->last_kind >= 0 && f->last_kind != (int)kind;
	f->last_kind = (int)kind;
	frequent_add(&f->stride, stride, r->stride, r->stride_count);
	frequent_add(&f->access, got, r->access, r->access_count);
}

static void count_time(struct posix_file *f, enum live_kind kind, int64_t got, double start, double end)
{
	struct posix_record *r = f->record;
	posix_time(f, kind, start, end);
	double *first = &BY_KIND(r, read_start_timestamp);
	if (*first == 0 || *first > start)
		*first = start;
	BY_KIND(r, read_end_timestamp) = end;
	if (end - start > BY_KIND(r, max_read_time)) {
		BY_KIND(r, max_read_time) = end - start;
		BY_KIND(r, max_read_time_size) = got;
	}
}

static bool unaligned(int64_t at, int64_t alignment)
{
	if (!(alignment & (alignment - 1)))
		return at & (alignment - 1);
	return at % alignment != 0;
}

static void count_access(struct posix_file *f, enum live_kind kind, const void *buffer, int64_t at, int64_t got)
{
	struct posix_record *r = f->record;
	BY_KIND(r, reads)++;
	BY_KIND(r, bytes_read) += got;
	(kind == LIVE_READ ? r->size_read : r->size_write)[sizes_class(got)]++;
	r->mem_not_aligned += buffer && unaligned((int64_t)(uintptr_t)buffer, r->mem_alignment);
	r->file_not_aligned += r->file_alignment > 0 && unaligned(at, r->file_alignment);
}

static void access_shard(enum live_kind kind, int64_t got, double start, double end)
{
	struct live_shard *shard = self_shard();
	heatmap_add(shard, LIVE_HEAT_POSIX, kind, got, start, end);
	live_timeline_add(&shard->timeline, kind, start, end);
	self_shard_done();
}

void posix_access(struct span s, enum live_kind kind, const void *buffer, int64_t at, int64_t got)
{
	if (got >= 0)
		posix_access_until(s, kind, buffer, at, got, clock_now());
}

void posix_access_until(struct span s, enum live_kind kind, const void *buffer, int64_t at, int64_t got, double end)
{
	struct posix_open *o = posix_open_of(s);
	struct posix_file *f = o->file;
	self_enter();
	lock_take(&f->lock);
	if (at == AT_CURSOR)
		at = cursor(o, kind, s.fd, got);
	else if (o->append && kind == LIVE_WRITE)
		at = end_of_file(s.fd, got);
	count_access(f, kind, buffer, at, got);
	count_pattern(f, o, kind, at, got);
	count_time(f, kind, got, s.start, end);
	lock_drop(&f->lock);
	access_shard(kind, got, s.start, end);
	self_leave();
}

const void *posix_vector_buffer(const struct iovec *vector, int count)
{
	for (int i = 0; i < count; i++)
		if (unaligned((int64_t)(uintptr_t)vector[i].iov_base, config.alignment))
			return vector[i].iov_base;
	return count > 0 ? vector[0].iov_base : NULL;
}
