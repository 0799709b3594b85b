#include "use.h"

#include <math.h>

/* As logs have them: time stamps in steps of 2^-20 s. */
static double stamp(double seconds)
{
	return floor(seconds * 0x1p20) * 0x1p-20;
}

static int size_class(int64_t size)
{
	static const int64_t most[] = {100,     1 << 10,  10 << 10,  100 << 10, 1 << 20,
				       4 << 20, 10 << 20, 100 << 20, 1 << 30};
	int at = 0;
	while (at < 9 && size > most[at])
		at++;
	return at;
}

static void set_common(int64_t access[4], int64_t count[4], const struct use *u)
{
	int n = 0;
	if (u->reads) {
		access[n] = u->read_size;
		count[n++] = u->reads;
	}
	if (u->writes && n && access[0] == u->write_size)
		count[0] += u->writes;
	else if (u->writes) {
		access[n] = u->write_size;
		count[n] = u->writes;
	}
	if (count[1] > count[0]) {
		int64_t a = access[0], c = count[0];
		access[0] = access[1];
		count[0] = count[1];
		access[1] = a;
		count[1] = c;
	}
}

/* The fields that POSIX, MPI-IO and STDIO have in common. */
#define SET_SHARED(r, u)                                                                                \
	do {                                                                                            \
		double each = ((u)->read_time + (u)->write_time + (u)->meta_time) / (double)(u)->ranks; \
		(r)->id = (u)->id;                                                                      \
		(r)->rank = (u)->rank;                                                                  \
		(r)->bytes_read = (u)->reads * (u)->read_size;                                          \
		(r)->bytes_written = (u)->writes * (u)->write_size;                                     \
		(r)->open_start_timestamp = stamp((u)->start);                                          \
		(r)->open_end_timestamp = stamp((u)->start + 4e-4);                                     \
		(r)->close_start_timestamp = stamp((u)->last + 1e-4);                                   \
		(r)->close_end_timestamp = stamp((u)->last + 9e-4);                                     \
		if ((u)->reads) {                                                                       \
			(r)->read_start_timestamp = stamp((u)->start + 5e-4);                           \
			(r)->read_end_timestamp = stamp((u)->last - 1e-4);                              \
		}                                                                                       \
		if ((u)->writes) {                                                                      \
			(r)->write_start_timestamp = stamp((u)->start + 6e-4);                          \
			(r)->write_end_timestamp = stamp((u)->last);                                    \
		}                                                                                       \
		(r)->read_time = stamp((u)->read_time);                                                 \
		(r)->write_time = stamp((u)->write_time);                                               \
		(r)->meta_time = stamp((u)->meta_time);                                                 \
		if ((u)->rank < 0) {                                                                    \
			(r)->fastest_rank = (int64_t)((u)->id % (uint64_t)(u)->ranks);                  \
			(r)->slowest_rank = (int64_t)((u)->id / 7 % (uint64_t)(u)->ranks);              \
			(r)->fastest_rank_bytes = ((r)->bytes_read + (r)->bytes_written) / (u)->ranks;  \
			(r)->slowest_rank_bytes = (r)->fastest_rank_bytes;                              \
			(r)->fastest_rank_time = stamp(each * 0.7);                                     \
			(r)->slowest_rank_time = stamp(each * 1.6);                                     \
			(r)->variance_rank_time = each * each * 0.04;                                   \
		}                                                                                       \
	} while (0)

struct posix_record use_posix(const struct use *u)
{
	struct posix_record r = {.opens = u->opens, .stats = u->stats, .reads = u->reads, .writes = u->writes};
	SET_SHARED(&r, u);
	r.mode = 0644;
	r.mem_alignment = 8;
	r.file_alignment = 1 << 20;
	r.seeks = u->random ? u->reads + u->writes : 0;
	r.max_byte_read = u->reads ? u->extent_read - 1 : 0;
	r.max_byte_written = u->writes ? u->extent_written - 1 : 0;
	r.size_read[size_class(u->read_size)] = u->reads;
	r.size_write[size_class(u->write_size)] = u->writes;
	int64_t own_reads = u->reads > u->ranks ? u->reads - u->ranks : 0;
	int64_t own_writes = u->writes > u->ranks ? u->writes - u->ranks : 0;
	r.seq_reads = u->random ? own_reads / 2 : own_reads;
	r.seq_writes = u->random ? own_writes / 2 : own_writes;
	r.consec_reads = u->random ? 0 : own_reads;
	r.consec_writes = u->random ? 0 : own_writes;
	if (u->read_size % r.file_alignment)
		r.file_not_aligned += own_reads;
	if (u->write_size % r.file_alignment)
		r.file_not_aligned += own_writes;
	set_common(r.access, r.access_count, u);
	if (u->reads) {
		r.max_read_time_size = u->read_size;
		r.max_read_time = stamp(u->read_time / (double)u->reads * 3);
	}
	if (u->writes) {
		r.max_write_time_size = u->write_size;
		r.max_write_time = stamp(u->write_time / (double)u->writes * 3);
	}
	return r;
}

struct mpiio_record use_mpiio(const struct use *u)
{
	struct mpiio_record r = {.mode = 37};
	SET_SHARED(&r, u);
	bool together = u->way == BY_COLLECTIVE || u->way == BY_HDF5;
	*(u->rank < 0 ? &r.coll_opens : &r.indep_opens) = u->opens;
	*(together ? &r.coll_reads : &r.indep_reads) = u->reads;
	*(together ? &r.coll_writes : &r.indep_writes) = u->writes;
	r.views = together ? u->ranks : 0;
	r.size_read_agg[size_class(u->read_size)] = u->reads;
	r.size_write_agg[size_class(u->write_size)] = u->writes;
	set_common(r.access, r.access_count, u);
	return r;
}

struct h5f_record use_h5f(const struct use *u)
{
	struct h5f_record r = {.id = u->id, .rank = u->rank, .opens = u->opens, .use_mpiio = 1};
	r.open_start_timestamp = stamp(u->start);
	r.open_end_timestamp = stamp(u->start + 1e-3);
	r.close_start_timestamp = stamp(u->last + 1e-4);
	r.close_end_timestamp = stamp(u->last + 2e-3);
	r.meta_time = stamp(u->meta_time);
	return r;
}

struct stdio_record use_stdio(const struct use *u)
{
	struct stdio_record r = {.opens = u->opens, .reads = u->reads, .writes = u->writes};
	SET_SHARED(&r, u);
	r.max_byte_read = u->reads ? u->extent_read - 1 : 0;
	r.max_byte_written = u->writes ? u->extent_written - 1 : 0;
	r.flushes = u->writes / 20;
	return r;
}
