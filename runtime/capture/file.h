/*
 * A module's file: what it keeps in memory in addition to the record of one name. Finding, making and folding it, its times and its
 * stamps are the same for every module.
 *
 *	struct x_file {
 *		FILE_HEAD(struct x_record);
 *		... what only this module keeps ...
 *	};
 *	static const struct file_kind kind = {WRITTEN_X, sizeof(struct x_file), made};
 *	struct x_file *f = file_of(&kind, &path);
 */
#ifndef IOLENS_FILE_H
#define IOLENS_FILE_H

#include <stddef.h>

#include "process_state.h"
#include "lock.h"
#include "names.h"
#include "records.h"
#include "written.h"

struct trace;

#define FILE_FIELDS(record_type)                                                         \
	struct name *name;                                                               \
	record_type *record;                                                             \
	struct lock lock;        /* guards the record and what the module keeps */       \
	struct trace *trace;     /* what has been traced; NULL = nothing yet */          \
	struct state_site *site; /* where it was opened, in the store; NULL = not yet */ \
	double ended[IO_OPS]     /* end of the latest operation by kind */

struct file {
	FILE_FIELDS(void);
};

/* The first member of a module's file. */
#define FILE_HEAD(record_type)                    \
	union {                                   \
		struct file file;                 \
		struct {                          \
			FILE_FIELDS(record_type); \
		};                                \
	}

struct file_kind {
	enum written slot;
	size_t size;                  /* of the module's file, which is zeroed but for its head */
	void (*made)(struct file *f); /* what else a new one needs; may be NULL */
};

/*
 * The file of a path, its record made if need be; beyond the budget the one that all files of its mount share. NULL when there
 * is no memory, the module is off, or another thread holds the table of names.
 */
void *file_of(const struct file_kind *k, const struct path *p);

/* What an open counts as for which file_of was NULL just now, in this thread. */
enum state_class_id file_without_record(const struct file_kind *k);

/* Of a file without a record of its own, which has come to this weight by one open: its record, if that is enough. Or NULL. */
void *file_heavy(const struct file_kind *k, const struct path *p, uint64_t weight);

/*
 * One more access of an open whose file has no record of its own. A MiB weighs as much as an access. Returns the weight where it has
 * passed a power of two, from 64 on, and 0 otherwise.
 */
static inline uint64_t file_weigh(uint64_t *weight, int64_t moved)
{
	enum { HEAVY = 64, BYTES = 1 << 20 };
	uint64_t more = 1 + (moved > 0 ? (uint64_t)moved / BYTES : 0);
	uint64_t before = __atomic_fetch_add(weight, more, __ATOMIC_RELAXED), now = before + more;
	return now >= HEAVY && (now ^ before) > before ? now : 0;
}

/* The module's file of a name that is known, or NULL. No lock. */
static inline void *file_known(const struct file_kind *k, const struct name *n)
{
	return n ? __atomic_load_n(&n->file[k->slot], __ATOMIC_ACQUIRE) : NULL;
}

/* ---- counters that a record has once for reads and once for writes, and times that it has for metadata, too ---- */

#define FILE_STEP(record, from, to) \
	(((ptrdiff_t)offsetof(__typeof__(*(record)), to) - (ptrdiff_t)offsetof(__typeof__(*(record)), from)) / 8)

/* The counter `reads` or `writes`, wherever the record has them: one addition, no branch. */
#define FILE_BY_OP(record, op, reads, writes) ((&(record)->reads)[(ptrdiff_t)(op)*FILE_STEP(record, reads, writes)])

/* Seconds of operations of one kind, what overlaps with earlier ones only once. Holds the file's lock. */
#define FILE_TIME(f, op, start, end) FILE_TIME_SPREAD(f, op, start, end, (end) - (start))

/* The same of operations that are `busy` seconds long together and lie in [start, end]. */
#define FILE_TIME_SPREAD(f, op, start, end, busy)                                                                 \
	do {                                                                                                      \
		_Static_assert(FILE_STEP((f)->record, write_time, meta_time) ==                                   \
				       FILE_STEP((f)->record, read_time, write_time),                             \
			       "the three times of a record are equally far apart");                              \
		file_time_spread(&(f)->file, &FILE_BY_OP((f)->record, op, read_time, write_time), op, start, end, \
				 busy);                                                                           \
	} while (0)

static inline void file_time_spread(struct file *f, double *time, enum io_op op, double start, double end, double busy)
{
	double from = start > f->ended[op] ? start : f->ended[op];
	if (end <= from)
		return;
	*time += busy < end - from ? busy : end - from;
	f->ended[op] = end;
}

static inline void file_time(struct file *f, double *time, enum io_op op, double start, double end)
{
	file_time_spread(f, time, op, start, end, end - start);
}

/* The earliest start and the latest end of what a record has a pair of time stamps for. */
static inline void file_stamp(double *first, double *last, double start, double end)
{
	if (*first == 0 || *first > start)
		*first = start;
	*last = end;
}

/* What an access does to the times of a record: their sum, the first and the last, the longest and its bytes. Holds the file's lock. */
#define FILE_ACCESS_TIME(f, op, bytes, start, end)                                                         \
	do {                                                                                               \
		__typeof__((f)->record) record_ = (f)->record;                                             \
		double *longest_ = &FILE_BY_OP(record_, op, max_read_time, max_write_time);                \
		FILE_TIME(f, op, start, end);                                                              \
		file_stamp(&FILE_BY_OP(record_, op, read_start_timestamp, write_start_timestamp),          \
			   &FILE_BY_OP(record_, op, read_end_timestamp, write_end_timestamp), start, end); \
		if ((end) - (start) > *longest_) {                                                         \
			*longest_ = (end) - (start);                                                       \
			FILE_BY_OP(record_, op, max_read_time_size, max_write_time_size) = (bytes);        \
		}                                                                                          \
	} while (0)

#endif
