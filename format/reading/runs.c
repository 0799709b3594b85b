#include "runs.h"

#include <string.h>

#include "alloc.h"
#include "index.h"
#include "sizes.h"
#include "trailer.h"

enum { SHOWN = 4 }; /* frequent values of a record */

/* For each kind of operation apart. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ---- of a record ---- */

/* What a run adds to, but for frequent values. */
struct counters {
	int64_t *calls, *bytes, *size, *seq, *consec, *largest;
};

ALWAYS_INLINE struct counters counters_of(struct posix_record *r, enum io_op op, int64_t bytes)
{
	int class = sizes_class(bytes);
	if (op == IO_META)
		return (struct counters){.calls = &r->seeks};
	if (op == IO_READ)
		return (struct counters){&r->reads,     &r->bytes_read,   &r->size_read[class],
					 &r->seq_reads, &r->consec_reads, &r->max_byte_read};
	return (struct counters){&r->writes,     &r->bytes_written, &r->size_write[class],
				 &r->seq_writes, &r->consec_writes, &r->max_byte_written};
}

/* How often a value was met with `n` more; 0 = that is not shown. */
ALWAYS_INLINE int64_t shown_after(const int64_t *shown, const int64_t *count, int64_t value, int64_t n)
{
	for (int at = 0; at < SHOWN && value; at++)
		if (shown[at] == value)
			return count[at] + n;
	return 0;
}

ALWAYS_INLINE void put(struct posix_record *r, enum io_op op, struct counters c, const struct state_settling *s)
{
	*c.calls = s->calls;
	if (op == IO_META)
		return;
	*c.bytes = s->bytes;
	*c.size = s->size;
	*c.seq = s->seq;
	*c.consec = s->consec;
	*c.largest = s->largest;
	r->mem_not_aligned = s->mem_not_aligned;
	r->file_not_aligned = s->file_not_aligned;
}

ALWAYS_INLINE void settle(struct posix_record *r, enum io_op op, const struct state_run *run, struct state_settling *s,
			  uint64_t number)
{
	struct counters c = counters_of(r, op, run->bytes);
	int64_t n = run->count;
	s->calls = *c.calls + n;
	if (op != IO_META) {
		s->bytes = *c.bytes + n * run->bytes;
		s->size = *c.size + n;
		s->seq = *c.seq + (run->step > 0 ? n : 0);
		s->consec = *c.consec + (run->step == 1 ? n : 0);
		s->mem_not_aligned = r->mem_not_aligned + run->mem_not_aligned;
		s->file_not_aligned = r->file_not_aligned + run->file_not_aligned;
		s->largest = run->end > *c.largest ? run->end : *c.largest;
		s->access = shown_after(r->access, r->access_count, run->bytes, n);
		s->stride = shown_after(r->stride, r->stride_count, runs_stride(run), n);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->run = number;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	put(r, op, c, s);
}

void runs_settle(struct posix_record *r, enum io_op op, const struct state_run *run, struct state_settling *s,
		 uint64_t number)
{
	if (op == IO_READ)
		settle(r, IO_READ, run, s, number);
	else if (op == IO_WRITE)
		settle(r, IO_WRITE, run, s, number);
	else
		settle(r, IO_META, run, s, number);
}

/* Of values that may have been moved half-way: one that stands twice is right where it stands first. */
static void set_frequent(int64_t *shown, int64_t *count, int64_t value, int64_t n)
{
	int64_t v[SHOWN] = {0}, times[SHOWN] = {0};
	int used = 0;
	for (int at = 0; at < SHOWN; at++) {
		bool other = shown[at] && shown[at] != value;
		for (int before = 0; before < used; before++)
			other &= shown[at] != v[before];
		if (!other)
			continue;
		v[used] = shown[at];
		times[used++] = count[at];
	}
	if (used == SHOWN) /* the least frequent makes room */
		used--;
	for (; used > 0 && (times[used - 1] < n || (times[used - 1] == n && v[used - 1] < value)); used--) {
		v[used] = v[used - 1];
		times[used] = times[used - 1];
	}
	v[used] = value;
	times[used] = n;
	memcpy(shown, v, sizeof v);
	memcpy(count, times, sizeof times);
}

void runs_finish(struct posix_record *r, enum io_op op, const struct state_run *run, const struct state_settling *s)
{
	put(r, op, counters_of(r, op, run->bytes), s);
	if (op != IO_META && s->access)
		set_frequent(r->access, r->access_count, run->bytes, s->access);
	if (op != IO_META && s->stride)
		set_frequent(r->stride, r->stride_count, runs_stride(run), s->stride);
}

/* ---- of a store ---- */

/* Of a shard, as they lie in the store. */
struct of_shard {
	struct state_run run[IO_OPS][STATE_RUNS];
	struct state_settling settling;
};

_Static_assert(offsetof(struct state_shard, settling) - offsetof(struct state_shard, run) ==
		       offsetof(struct of_shard, settling),
	       "they are read at once");

static int keep(struct runs *runs, const struct of_shard *all, enum io_op op, uint64_t n, struct log_error *err)
{
	bool settling = all->settling.run == 1 + op * STATE_RUNS + n;
	if (all->run[op][n].count <= 0 && !settling)
		return 0;
	if (!index_grow(&runs->each, runs->used, sizeof *runs->each))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	runs->each[runs->used].run = all->run[op][n];
	runs->each[runs->used].settling = settling ? all->settling : (struct state_settling){0};
	runs->each[runs->used++].op = op;
	return 0;
}

static int load_shard(struct runs *runs, struct trailer *t, const struct trailer_entry *e, uint64_t shard,
		      struct log_error *err)
{
	struct of_shard all;
	uint64_t at = offsetof(struct process_state, shard) + shard * sizeof(struct state_shard) +
		      offsetof(struct state_shard, run);
	int code = trailer_read_row(t, e, at, &all, sizeof all, err);
	if (code < 0)
		return 0;
	for (enum io_op op = 0; op < IO_OPS; op++)
		for (uint64_t n = 0; code >= 0 && n < STATE_RUNS; n++)
			code = keep(runs, &all, op, n, err);
	return code;
}

int runs_load(struct runs *runs, struct log *store, int module, struct log_error *err)
{
	struct trailer *t = NULL;
	struct log_error ignored;
	struct {
		uint64_t version, size, shards;
	} head;
	*runs = (struct runs){.posix = module == LOG_MOD_POSIX};
	if (module != LOG_MOD_POSIX || !log_container(store)->module[module].length ||
	    trailer_open(&t, store, &ignored) < 0)
		return 0;
	int code = 0;
	const struct trailer_entry *e = trailer_entry_named(t, "live");
	if (e && trailer_read_row(t, e, 0, &head, sizeof head, &ignored) >= 0 && head.version == STATE_VERSION &&
	    head.size == sizeof(struct process_state))
		for (uint64_t s = 0; code >= 0 && s < head.shards && s < STATE_SHARDS; s++)
			code = load_shard(runs, t, e, s, err);
	if (t)
		trailer_close(t);
	return code;
}

static struct posix_record *own_copy(struct runs *runs, struct log_record *r)
{
	if (r->data != &runs->record)
		memcpy(&runs->record, r->data, sizeof runs->record);
	r->data = (void *)&runs->record;
	return &runs->record;
}

/*
 * An access that the end of the process interrupted may be counted, and not its length. Where all lengths of a file are shown, the
 * missing bytes are this one's.
 */
static void complete(struct runs *runs, struct log_record *r)
{
	struct posix_record now;
	memcpy(&now, r->data, sizeof now);
	int64_t n = now.reads + now.writes, bytes = now.bytes_read + now.bytes_written;
	for (int at = 0; at < SHOWN; at++) {
		n -= now.access_count[at];
		bytes -= now.access[at] * now.access_count[at];
	}
	int64_t times = shown_after(now.access, now.access_count, bytes, 1);
	if (n == 1 && bytes > 0 && !now.access[SHOWN - 1])
		set_frequent(own_copy(runs, r)->access, runs->record.access_count, bytes, times ? times : 1);
}

static void add(struct runs *runs, struct log_record *r, bool begun)
{
	for (size_t n = 0; n < runs->used; n++) {
		const struct state_run *run = &runs->each[n].run;
		struct state_settling *s = &runs->each[n].settling;
		if (run->file != r->id || (s->run != 0) != begun)
			continue;
		own_copy(runs, r);
		if (!begun)
			runs_settle(&runs->record, runs->each[n].op, run, s, 0);
		runs_finish(&runs->record, runs->each[n].op, run, s);
	}
}

void runs_add(struct runs *runs, struct log_record *r)
{
	if (!runs->posix || r->size != sizeof runs->record)
		return;
	add(runs, r, true); /* first: its numbers are those of the record without the others */
	add(runs, r, false);
	complete(runs, r);
}

void runs_free(struct runs *runs)
{
	log_free(runs->each);
	*runs = (struct runs){0};
}
