#include "runs.h"

#include <string.h>

#include "alloc.h"
#include "index.h"
#include "sizes.h"
#include "trailer.h"

void runs_count(struct posix_record *r, enum io_op op, const struct state_run *run)
{
	bool reads = op == IO_READ;
	int64_t n = run->count, *largest = reads ? &r->max_byte_read : &r->max_byte_written;
	if (op == IO_META) {
		r->seeks += n;
		return;
	}
	*(reads ? &r->reads : &r->writes) += n;
	*(reads ? &r->bytes_read : &r->bytes_written) += n * run->bytes;
	(reads ? r->size_read : r->size_write)[sizes_class(run->bytes)] += n;
	*(reads ? &r->seq_reads : &r->seq_writes) += run->step > 0 ? n : 0;
	*(reads ? &r->consec_reads : &r->consec_writes) += run->step == 1 ? n : 0;
	r->mem_not_aligned += run->mem_not_aligned;
	r->file_not_aligned += run->file_not_aligned;
	*largest = run->end > *largest ? run->end : *largest;
}

/* ---- of a store ---- */

static int keep(struct runs *runs, const struct state_run *run, enum io_op op, struct log_error *err)
{
	if (run->count <= 0)
		return 0;
	if (!index_grow(&runs->each, runs->used, sizeof *runs->each))
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	runs->each[runs->used].run = *run;
	runs->each[runs->used++].op = op;
	return 0;
}

static int load_shard(struct runs *runs, struct trailer *t, const struct trailer_entry *e, uint64_t shard,
		      struct log_error *err)
{
	struct state_run run[IO_OPS][STATE_RUNS];
	uint64_t at = offsetof(struct process_state, shard) + shard * sizeof(struct state_shard) +
		      offsetof(struct state_shard, run);
	int code = trailer_read_row(t, e, at, run, sizeof run, err);
	if (code < 0)
		return 0;
	for (int op = 0; op < IO_OPS; op++)
		for (int n = 0; code >= 0 && n < STATE_RUNS; n++)
			code = keep(runs, &run[op][n], op, err);
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

/* As the process would: by frequency, of those that are shown. */
static void add_frequent(int64_t *shown, int64_t *count, int64_t value, int64_t n)
{
	enum { SHOWN = 4 };
	int at = 0;
	while (at < SHOWN && shown[at] && shown[at] != value)
		at++;
	if (!value || at == SHOWN)
		return;
	n += count[at];
	for (; at > 0 && (count[at - 1] < n || (count[at - 1] == n && shown[at - 1] < value)); at--) {
		shown[at] = shown[at - 1];
		count[at] = count[at - 1];
	}
	shown[at] = value;
	count[at] = n;
}

static struct posix_record *own_copy(struct runs *runs, struct log_record *r)
{
	if (r->data != &runs->record)
		memcpy(&runs->record, r->data, sizeof runs->record);
	r->data = (void *)&runs->record;
	return &runs->record;
}

/*
 * A thread that was stopped by the end of its process may have counted accesses and not their length. Where all lengths are shown,
 * what is missing tells it: one access has all of the bytes, several have a length that others had. Otherwise 0.
 */
static int64_t uncounted(const struct posix_record *r, int64_t *length)
{
	enum { SHOWN = 4 };
	int64_t n = r->reads + r->writes, bytes = r->bytes_read + r->bytes_written;
	if (r->access[SHOWN - 1])
		return 0;
	for (int at = 0; at < SHOWN; at++) {
		n -= r->access_count[at];
		bytes -= r->access[at] * r->access_count[at];
	}
	if (n <= 0 || bytes <= 0 || bytes % n)
		return 0;
	*length = bytes / n;
	bool known = n == 1;
	for (int at = 0; at < SHOWN; at++)
		known |= r->access[at] == *length;
	return known ? n : 0;
}

static void complete(struct runs *runs, struct log_record *r)
{
	struct posix_record now;
	int64_t length, n;
	memcpy(&now, r->data, sizeof now);
	n = uncounted(&now, &length);
	if (n)
		add_frequent(own_copy(runs, r)->access, runs->record.access_count, length, n);
}

void runs_add(struct runs *runs, struct log_record *r)
{
	for (size_t n = 0; n < runs->used; n++) {
		const struct state_run *run = &runs->each[n].run;
		enum io_op op = runs->each[n].op;
		if (run->file != r->id || r->size != sizeof runs->record)
			continue;
		runs_count(own_copy(runs, r), op, run);
		if (op == IO_META)
			continue;
		add_frequent(runs->record.access, runs->record.access_count, run->bytes, run->count);
		add_frequent(runs->record.stride, runs->record.stride_count, runs_stride(run), run->count);
	}
	if (runs->posix && r->size == sizeof runs->record)
		complete(runs, r);
}

void runs_free(struct runs *runs)
{
	log_free(runs->each);
	*runs = (struct runs){0};
}
