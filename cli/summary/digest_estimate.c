/*
 * How long I/O took, of logs without measured time: that of the slowest rank in files of its own, and of the slowest rank in each
 * file that all ranks share, each where the program called it: at MPI-IO, where it opened the file there. How long ranks waited there for
 * one that came late. And how long HDF5 itself took.
 */
#include <string.h>

#include "alloc.h"
#include "digest.h"
#include "hdf5_time_thresholds.h"
#include "id_set.h"
#include "index.h"
#include "instead_thresholds.h"
#include "late_ranks_thresholds.h"
#include "records.h"
#include "reduce.h"

/* A file that all ranks shared: how long MPI-IO took of the slowest one, of the fastest, and of all others than that. */
struct shared_file {
	double slowest, fastest, others;
	double below; /* what POSIX took of any rank; negative: it has no record */
	int64_t fastest_rank;
};

/* A file that HDF5 opened, sums over ranks. The numbers stand in the metric hdf5_below, too. */
struct hdf5_file {
	uint64_t id;
	double data, others;  /* s in reads and writes of its datasets, and in other calls of HDF5 */
	double moving, below; /* s in reads and writes at POSIX, and in all calls there; below 0: it has no record */
	int64_t calls, moved; /* reads and writes of its datasets, and their bytes */
	int64_t read, once;   /* bytes that POSIX read, up to this offset */
	int64_t ranks;        /* processes that used it, and whether a record is of all */
	bool shared;
};

struct digest_estimate {
	struct index hdf5_ids;
	struct hdf5_file *hdf5;
	struct id_set of_mpiio; /* files */
	struct index ids;       /* of shared files */
	struct shared_file *file;
	struct index ranks;
	double *by_rank; /* s, by number of the rank */
	double shared;   /* s */
	double by_op[IO_OPS];
	bool any;
};

struct digest_estimate *digest_estimate_make(void)
{
	return log_alloc(sizeof(struct digest_estimate));
}

void digest_estimate_free(struct digest_estimate *e)
{
	if (!e)
		return;
	index_free(&e->hdf5_ids);
	log_free(e->hdf5);
	id_set_free(&e->of_mpiio);
	index_free(&e->ids);
	log_free(e->file);
	index_free(&e->ranks);
	log_free(e->by_rank);
	log_free(e);
}

static double seconds(const struct log_record *r, enum field_role role)
{
	double s = reduce_f64(r->schema, r->data, role);
	return s > 0 ? s : 0; /* -1 = not measured */
}

/* Of the slowest or fastest rank, where the record says that; else negative. */
static double extreme(struct log_records *records, const struct log_record *r, enum field_role role)
{
	const struct schema_field *f = schema_by_role(r->schema, role);
	double s = -1;
	while (f && f->type != FIELD_F64)
		f = schema_next(r->schema, f);
	if (f && r->rank < 0 && log_records_have(records, f))
		memcpy(&s, (const char *)r->data + f->offset, sizeof s);
	return s;
}

static int add_rank(struct digest_estimate *e, int64_t rank, double s)
{
	bool is_new = false;
	size_t n = index_number(&e->ranks, (uint64_t)rank, &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&e->by_rank, n, sizeof *e->by_rank)))
		return LOG_E_MEMORY;
	e->by_rank[n] = (is_new ? 0 : e->by_rank[n]) + s;
	return 0;
}

static int add_shared(struct digest_estimate *e, struct log_records *records, const struct log_record *r, double all)
{
	struct shared_file f = {extreme(records, r, ROLE_SLOWEST), extreme(records, r, ROLE_FASTEST), all, -1, 0};
	const struct schema_field *rank = schema_by_role(r->schema, ROLE_FASTEST);
	bool is_new = false;
	if (r->rank >= 0 || f.slowest < 0 || f.fastest < 0)
		return 0;
	size_t n = index_number(&e->ids, r->id, &is_new);
	if (n == SIZE_MAX || (is_new && !index_grow(&e->file, n, sizeof *e->file)))
		return LOG_E_MEMORY;
	memcpy(&f.fastest_rank, (const char *)r->data + rank->offset, sizeof f.fastest_rank);
	f.others -= f.fastest;
	e->file[n] = f;
	return 0;
}

/* What POSIX took of a file that MPI-IO opened. */
static void add_below(struct digest_estimate *e, uint64_t id, double s)
{
	size_t n = index_find(&e->ids, id);
	if (n != SIZE_MAX && s > e->file[n].below)
		e->file[n].below = s;
}

static double all_of(const struct log_record *r)
{
	return seconds(r, ROLE_READ_TIME) + seconds(r, ROLE_WRITE_TIME) + seconds(r, ROLE_META_TIME);
}

static int64_t count(const struct log_record *r, enum field_role role)
{
	int64_t n = reduce_i64(r->schema, r->data, role);
	return n > 0 ? n : 0;
}

/* Of a dataset the file that it is in; 0 = it is not known. */
static uint64_t file_of(const struct log_record *r)
{
	const struct schema_field *f = schema_by_name(r->schema, "file_rec_id");
	uint64_t id = r->id;
	if (f)
		memcpy(&id, (const char *)r->data + f->offset, sizeof id);
	return id;
}

/* A record of HDF5's files or datasets. */
static int add_hdf5(struct digest_estimate *e, const struct log_record *r)
{
	bool is_new = false;
	uint64_t id = file_of(r);
	size_t n = id ? index_number(&e->hdf5_ids, id, &is_new) : 0;
	if (n == SIZE_MAX || (is_new && !index_grow(&e->hdf5, n, sizeof *e->hdf5)))
		return LOG_E_MEMORY;
	if (!id)
		return 0;
	if (is_new)
		e->hdf5[n] = (struct hdf5_file){.id = id, .below = -1};
	struct hdf5_file *f = &e->hdf5[n];
	f->others += seconds(r, ROLE_META_TIME);
	if (strcmp(r->schema->key, "h5d") != 0)
		return 0;
	f->data += seconds(r, ROLE_READ_TIME) + seconds(r, ROLE_WRITE_TIME);
	f->calls += count(r, ROLE_READS) + count(r, ROLE_WRITES);
	f->moved += count(r, ROLE_BYTES_READ) + count(r, ROLE_BYTES_WRITTEN);
	return 0;
}

/* What POSIX did in a file that HDF5 opened. */
static void add_below_hdf5(struct digest_estimate *e, const struct log_record *r)
{
	size_t n = e->hdf5_ids.used ? index_find(&e->hdf5_ids, r->id) : SIZE_MAX;
	if (n == SIZE_MAX)
		return;
	struct hdf5_file *f = &e->hdf5[n];
	int64_t read = count(r, ROLE_BYTES_READ), once = count(r, ROLE_MAX_OFFSET_READ) + 1;
	f->ranks += r->rank >= 0;
	f->shared |= r->rank < 0;
	f->moving += seconds(r, ROLE_READ_TIME) + seconds(r, ROLE_WRITE_TIME);
	f->below = (f->below > 0 ? f->below : 0) + all_of(r);
	f->read += read;
	f->once = read && once > f->once ? once : f->once;
}

static bool is_library(const struct log_record *r)
{
	const struct schema_interface *i = r->schema->interface;
	return !i || (strcmp(i->level, "libc") != 0 && strcmp(i->level, "middleware") != 0);
}

/* What moves data, and HDF5 above that. */
int digest_estimate_add(struct digest_estimate *e, struct log_records *records, const struct log_record *r)
{
	static const enum field_role roles[IO_OPS] = {
		[IO_READ] = ROLE_READ_TIME, [IO_WRITE] = ROLE_WRITE_TIME, [IO_META] = ROLE_META_TIME};
	const char *key = r->schema->key;
	if (is_library(r))
		return !strcmp(key, "h5d") || !strcmp(key, "h5f") ? add_hdf5(e, r) : 0;
	double all = all_of(r), most = extreme(records, r, ROLE_SLOWEST);
	bool mpiio = !strcmp(key, "mpiio");
	if (!strcmp(key, "posix"))
		add_below_hdf5(e, r);
	if (mpiio && (id_set_add(&e->of_mpiio, r->id) < 0 || add_shared(e, records, r, all) < 0))
		return LOG_E_MEMORY;
	if (!strcmp(key, "posix") && id_set_has(&e->of_mpiio, r->id)) {
		add_below(e, r->id, most >= 0 ? most : all);
		return 0;
	}
	for (int op = 0; op < IO_OPS; op++)
		e->by_op[op] += seconds(r, roles[op]);
	e->any = true;
	if (r->rank >= 0)
		return add_rank(e, r->rank, all);
	e->shared += most >= 0 ? most : all;
	return 0;
}

double digest_estimate_sum(const struct digest_estimate *e)
{
	double longest = 0;
	for (size_t n = 0; n < e->ranks.used; n++)
		longest = e->by_rank[n] > longest ? e->by_rank[n] : longest;
	return longest + e->shared;
}

bool digest_estimate_get(const struct digest_estimate *e, double run_time, struct interval_union *out)
{
	double all = 0;
	for (int op = 0; op < IO_OPS; op++)
		all += e->by_op[op];
	*out = (struct interval_union){.total = digest_estimate_sum(e)};
	out->total = out->total < run_time ? out->total : run_time;
	for (int op = 0; op < IO_OPS && all > 0; op++)
		out->by_op[op] = out->total * e->by_op[op] / all;
	return e->any;
}

/* The numbers stand in the metric that says the same: python/iolens/metrics/sql/late_ranks.sql. */
static bool is_late(const struct shared_file *f, int64_t ranks)
{
	return f->fastest <= (1 - LATE_RANKS_PART) * f->slowest &&
	       f->others >= LATE_RANKS_ALIKE * f->slowest * (double)(ranks - 1);
}

static struct digest_late find_late(const struct digest_estimate *e, int64_t ranks, double run_time)
{
	struct digest_late late = {.others = ranks - 1};
	double longest = 0;
	for (size_t n = 0; n < e->ids.used && ranks > 1; n++) {
		const struct shared_file *f = &e->file[n];
		double waited = f->slowest - f->fastest - (f->below > 0 ? f->below : 0);
		if (!is_late(f, ranks) || waited <= LATE_RANKS_SHARE * run_time)
			continue;
		if (f->below < 0)
			return (struct digest_late){0};
		late.waited += waited;
		late.rank = waited > longest ? f->fastest_rank : late.rank;
		longest = waited > longest ? waited : longest;
	}
	return late;
}

void digest_take_late(struct digest *d, const struct digest_estimate *e)
{
	struct digest_late late = find_late(e, d->job->nprocs, d->run_time);
	double whole = d->io.total;
	if (!d->processes || late.waited <= 0 || late.waited < LATE_RANKS_WAITED_FOR * d->run_time || whole <= 0)
		return;
	late.waited = late.waited < whole ? late.waited : whole;
	d->late = late;
	d->io.total -= late.waited;
	for (int op = 0; op < IO_OPS; op++)
		d->io.by_op[op] *= d->io.total / whole;
}

/* A sum over the processes with datasets, as s of the run: metrics/sql/time_basis.sql. */
static double hdf5_scale(const struct digest *d)
{
	const struct digest_hdf5 *h = &d->hdf5;
	if (d->processes && !d->mpi)
		return h->together > 0 ? h->together : 1;
	int64_t ranks = h->shared ? d->job->nprocs : (int64_t)h->ranks.used;
	return ranks > 1 ? 1 / (double)ranks : 1;
}

/* Chunks are decoded again: each process reads the file over, and it is neither its calls nor the storage that take the time. */
static bool is_wasted(const struct hdf5_file *f, int64_t nprocs)
{
	double once = (double)f->once * (double)(f->shared ? nprocs : f->ranks);
	return once > 0 && (double)f->read >= HDF5_TIME_AGAIN * once &&
	       f->data - f->moving > HDF5_TIME_PART * f->data && (double)f->moved > HDF5_TIME_SIZE * (double)f->calls;
}

void digest_take_hdf5(struct digest *d, const struct digest_estimate *e)
{
	struct digest_hdf5 *h = &d->hdf5;
	for (size_t n = 0; n < e->hdf5_ids.used; n++) {
		const struct hdf5_file *f = &e->hdf5[n];
		double own = f->data + f->others - f->below;
		if (!f->calls || f->below < 0 || id_set_has(&e->of_mpiio, f->id))
			continue;
		h->calls += f->calls;
		h->all += own > 0 ? own : 0;
		h->wasted += own > 0 && is_wasted(f, d->job->nprocs) ? own : 0;
	}
	double scale = hdf5_scale(d);
	h->time = h->all * scale < d->run_time ? h->all * scale : d->run_time;
	h->wasted = h->wasted * scale < h->time ? h->wasted * scale : h->time;
}

/* ---- what moved in all, of it what is unexplained, and how long that whose time is not known can have taken ---- */

enum { MUCH_UNEXPLAINED = 1000000 }; /* bytes; loading programs takes as much */

int64_t digest_moved(const struct digest *d)
{
	int64_t sum = digest_unexplained(d);
	for (int i = 0; i < WRITTEN_COUNT; i++) /* upper layers move what they move through these */
		if (written_modules[i].descriptors)
			sum += d->interface[i].bytes_read + d->interface[i].bytes_written;
	for (size_t c = 0; c < d->nclasses; c++)
		sum += d->class[c].bytes_read + d->class[c].bytes_written;
	for (int w = 0; w < DIGEST_WAY_SOCKET; w++)
		for (int k = 0; k < 2; k++)
			sum += d->way[w].bytes[k] - d->way[w].recorded[k];
	return sum;
}

int64_t digest_unexplained(const struct digest *d)
{
	return d->unexplained_read + d->unexplained_written;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The slowest copy from the page cache, page faults of 4 KiB in it that take 1 us each, and the slowest storage that
 * programs are started from. Bytes/s. */
static const double CACHED = 1e9, MAPPED = 4e9, STORED = 50e6;

/* What mapped files brought from storage is in the estimate of page faults, where that holds nothing else. */
static bool faults_are_estimated(const struct digest *d)
{
	int64_t others = d->used.unknown;
	for (int w = DIGEST_WAY_LIBAIO; w < DIGEST_WAY_SOCKET; w++)
		others += w == DIGEST_WAY_MAPPED || w == DIGEST_WAY_LOADED ? 0 : d->way[w].bytes[IO_READ];
	return d->used.processes && !others && d->storage_read >= 0;
}

double digest_possible(const struct digest *d, int64_t copied, int64_t mapped)
{
	int64_t storage = d->storage_read >= 0 ? d->storage_read : copied + mapped;
	int64_t stored = smaller(storage, copied);
	int64_t paged = faults_are_estimated(d) ? 0 : smaller(storage - stored, mapped);
	return (double)(copied - stored) / CACHED + (double)(mapped - paged) / MAPPED +
	       (double)(stored + paged) / STORED;
}

bool digest_much_unexplained(const struct digest *d)
{
	int64_t unexplained = digest_unexplained(d);
	return unexplained >= MUCH_UNEXPLAINED && 20 * unexplained > digest_moved(d) &&
	       20 * digest_possible(d, unexplained, 0) > d->run_time;
}
