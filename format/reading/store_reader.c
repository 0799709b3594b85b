#include "store_reader.h"

#include <fcntl.h>
#include <string.h>

#include "alloc.h"
#include "descriptor.h"
#include "reader.h"

/* What few processes have lies in the midst of a row, and is left out where it is not there. */
static int read_row(struct store_reader *i, const struct trailer_entry *e, uint64_t has, struct process_state *row,
		    size_t n, struct log_error *err)
{
	size_t before = offsetof(struct process_state, optional), after = offsetof(struct process_state, shard);
	if (has)
		return trailer_read_row(i->trailer, e, 0, row, n, err);
	memset(&row->optional, 0, sizeof row->optional);
	int code = trailer_read_row(i->trailer, e, 0, row, before, err);
	return code < 0 || n == after ? code
				      : trailer_read_row(i->trailer, e, after, (char *)row + after, n - after, err);
}

/*
 * A row of `n` bytes, or NULL. Never on the stack: it may be a megabyte, and the thread that calls exit a small one. It is
 * aligned as in the store, which is more than an allocator promises.
 */
static struct process_state *load_row(struct store_reader *i, const struct trailer_entry *e, uint64_t has, size_t n,
				      struct log_error *err)
{
	const size_t align = _Alignof(struct process_state);
	i->row = log_memory.alloc(n + align);
	struct process_state *row = (struct process_state *)(((uintptr_t)i->row + align - 1) / align * align);
	if (!i->row)
		log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return i->row && read_row(i, e, has, row, n, err) >= 0 ? row : NULL;
}

/* Of a damaged store any bits may be a time: what no job can have lived through is none. */
static void mend_time(double *t)
{
	if (!(*t > -1e9 && *t < 1e9))
		*t = 0;
}

static void mend_shard(struct state_shard *s)
{
	mend_time(&s->timeline.gap);
	for (uint32_t k = 0; k < s->timeline.used && k < STATE_SEGMENTS; k++) {
		struct state_segment *segment = &s->timeline.segment[k];
		mend_time(&segment->start);
		mend_time(&segment->end);
		for (int op = 0; op < IO_OPS; op++)
			mend_time(&segment->busy[op]);
	}
	for (int h = 0; h < STATE_HEAT_COUNT; h++)
		mend_time(&s->heat[h].width);
}

static void mend_times(struct process_state *state, size_t shards)
{
	struct state_process *p = &state->process;
	double *const times[] = {&p->start, &p->end, &p->mpi_start, &p->mpi_end};
	for (size_t n = 0; n < sizeof times / sizeof *times; n++)
		mend_time(times[n]);
	for (size_t n = 0; n < shards; n++)
		mend_shard(&state->shard[n]);
}

static void mend_communication(struct state_communication *c)
{
	mend_time(&c->ended);
	for (struct state_call *call = c->call; call < c->call + STATE_CALL_COUNT; call++) {
		mend_time(&call->time);
		mend_time(&call->shortest);
		mend_time(&call->longest);
		mend_time(&call->synchronized);
	}
}

/* As much of it as the store says and has. */
static int load_communication(struct store_reader *i, struct log_error *err)
{
	const size_t size = sizeof(struct state_communication);
	const struct trailer_entry *e = trailer_entry_named(i->trailer, COMMUNICATION_SECTION);
	uint64_t n = i->state->communicating < STATE_SHARDS ? i->state->communicating : STATE_SHARDS;
	if (e && e->stored / size < n)
		n = e->stored / size;
	if (!n || !e)
		return 0;
	i->communication = log_alloc(n * size);
	if (!i->communication)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = source_read(&i->log->source, e->offset, i->communication, n * size, err);
	i->communicating = code < 0 ? 0 : n;
	for (size_t k = 0; k < i->communicating; k++)
		mend_communication(&i->communication[k]);
	return code;
}

/* Of this process's own store some may have come since it was laid out to be read. */
static int load_sites(struct store_reader *i, struct log_error *err)
{
	const struct trailer_entry *e = trailer_entry_named(i->trailer, SITES_SECTION);
	uint64_t n = __atomic_load_n(&i->state->sites, __ATOMIC_ACQUIRE);
	n = e && e->stored < n ? e->stored : n;
	if (!e || n <= SITE_HEAD)
		return 0;
	i->sites = log_alloc(n);
	if (!i->sites)
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	int code = source_read(&i->log->source, e->offset, i->sites, n, err);
	i->sites_size = code < 0 ? 0 : n;
	return code;
}

/* The shards that were used, after what lies before them. */
static int load_used(struct store_reader *i, const struct trailer_entry *e, struct log_error *err)
{
	struct {
		uint64_t version, size, shards, has;
	} head;
	_Static_assert(offsetof(struct process_state, process) == sizeof head, "what a row begins with");
	int code = trailer_read_row(i->trailer, e, 0, &head, sizeof head, err);
	if (code < 0)
		return code;
	i->shards = head.shards < STATE_SHARDS ? head.shards : STATE_SHARDS;
	if (head.version != STATE_VERSION || head.size != sizeof(struct process_state))
		return log_fail(err, LOG_E_VERSION, LOG_NOWHERE, "store of another version of iolens");
	if (i->own) { /* threads may have begun since it was laid out: theirs are beyond the row */
		size_t before = offsetof(struct process_state, shard);
		size_t shards = e->row_size < before ? 0 : (e->row_size - before) / sizeof(struct state_shard);
		i->shards = i->shards < shards ? i->shards : shards;
		if (e->row_size < before)
			return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "image of a store is damaged");
		i->state = (const struct process_state *)(i->log->source.memory + e->offset + e->schema);
		return 0;
	}
	struct process_state *state = load_row(
		i, e, head.has, offsetof(struct process_state, shard) + i->shards * sizeof(struct state_shard), err);
	if (state)
		mend_times(state, i->shards);
	i->state = state;
	return state ? 0 : err->code;
}

int store_reader_load_state(struct store_reader *i, struct log_error *err)
{
	int code = i->trailer ? 0 : trailer_open(&i->trailer, i->log, err);
	const struct trailer_entry *e = code < 0 ? NULL : trailer_entry_named(i->trailer, "live");
	if (code < 0)
		return code;
	if (!e || (e->row_size != sizeof(struct process_state) && !i->own))
		return log_fail(err, LOG_E_DAMAGED, LOG_NOWHERE, "no store of this version of iolens");
	code = load_used(i, e, err);
	if (code >= 0)
		code = load_communication(i, err);
	return code < 0 ? code : load_sites(i, err);
}

int (*store_open_bundled)(const char *path);

int store_open(const char *path)
{
	int fd = store_open_bundled ? store_open_bundled(path) : STORE_NOT_BUNDLED;
	return fd == STORE_NOT_BUNDLED ? descriptor_open(path, O_RDONLY | O_NONBLOCK, 0) : fd;
}

int store_reader_open_file(struct store_reader *i, const char *path, struct log_error *err)
{
	*i = (struct store_reader){0};
	return log_open_descriptor(&i->log, store_open(path), err);
}

int store_reader_open_memory(struct store_reader *i, const void *data, size_t size, struct log_error *err)
{
	*i = (struct store_reader){0};
	return log_open_memory(&i->log, data, size, err);
}

int store_reader_open_own(struct store_reader *i, const void *store, size_t size, struct log_error *err)
{
	int code = store_reader_open_memory(i, store, size, err);
	i->own = true;
	return code;
}

void store_reader_drop_state(struct store_reader *i)
{
	log_free(i->row);
	log_free(i->communication);
	log_free(i->sites);
	i->row = NULL;
	i->communication = NULL;
	i->communicating = 0;
	i->sites = NULL;
	i->sites_size = 0;
	i->state = NULL;
}

void store_reader_close(struct store_reader *i)
{
	store_reader_drop_state(i);
	if (i->trailer)
		trailer_close(i->trailer);
	if (i->log)
		log_close(i->log);
	*i = (struct store_reader){0};
}

#define EACH_SHARD(i, s) for (const struct state_shard *s = (i)->state->shard; s < (i)->state->shard + (i)->shards; s++)

struct state_class store_reader_class(const struct store_reader *i, int class)
{
	struct state_class sum = {0};
	EACH_SHARD(i, s) {
		sum.opens += s->class[class].opens;
		for (int k = 0; k < 2; k++) {
			sum.calls[k] += s->class[class].calls[k];
			sum.bytes[k] += s->class[class].bytes[k];
		}
	}
	return sum;
}

struct state_operation store_reader_operation(const struct store_reader *i, int operation)
{
	struct state_operation sum = {0};
	EACH_SHARD(i, s) {
		sum.count += s->operation[operation].count;
		sum.errors += s->operation[operation].errors;
		sum.bytes += s->operation[operation].bytes;
		sum.time += s->operation[operation].time;
	}
	return sum;
}

struct state_sizes store_reader_sizes(const struct store_reader *i, int way, int op)
{
	struct state_sizes sum = {0};
	EACH_SHARD(i, s)
		for (int c = 0; c < STATE_SIZES; c++) {
			sum.count[c] += s->sizes[way][op].count[c];
			sum.bytes[c] += s->sizes[way][op].bytes[c];
		}
	return sum;
}

struct state_completion store_reader_completion(const struct store_reader *i, int way, int op)
{
	struct state_completion sum = {0};
	EACH_SHARD(i, s) {
		const struct state_completion *c = &s->completion[way][op];
		sum.count += c->count;
		sum.errors += c->errors;
		sum.bytes += c->bytes;
		sum.wait += c->wait;
		sum.span += c->span;
	}
	return sum;
}

struct state_requests store_reader_requests(const struct store_reader *i, int interface, int op)
{
	struct state_requests sum = {0};
	EACH_SHARD(i, s) {
		const struct state_requests *r = &s->requests[interface][op];
		sum.count += r->count;
		sum.errors += r->errors;
		sum.bytes += r->bytes;
		sum.recorded += r->recorded;
		sum.untimed += r->untimed;
		sum.estimated += r->estimated;
		sum.fixed_files += r->fixed_files;
		sum.fixed_buffers += r->fixed_buffers;
		sum.wait += r->wait;
		sum.span += r->span;
		sum.longest = r->longest > sum.longest ? r->longest : sum.longest;
		for (int c = 0; c < STATE_LATENCIES; c++)
			sum.latency[c] += r->latency[c];
	}
	return sum;
}

struct state_batches store_reader_batches(const struct store_reader *i, int interface)
{
	struct state_batches sum = {0};
	EACH_SHARD(i, s) {
		const struct state_batches *b = &s->batches[interface];
		sum.calls += b->calls;
		sum.requests += b->requests;
		sum.largest = b->largest > sum.largest ? b->largest : sum.largest;
		for (int c = 0; c < STATE_BATCHES; c++)
			sum.size[c] += b->size[c];
	}
	return sum;
}

struct state_call store_reader_call(const struct store_reader *i, int call)
{
	struct state_call sum = {0};
	for (const struct state_communication *c = i->communication; c < i->communication + i->communicating; c++) {
		const struct state_call *one = &c->call[call];
		if (!one->count)
			continue;
		sum.count += one->count;
		sum.bytes += one->bytes;
		for (int k = 0; k < STATE_MESSAGES; k++)
			sum.size[k] += one->size[k];
		sum.time += one->time;
		sum.synchronized += one->synchronized;
		if (one->shortest > 0 && (!(sum.shortest > 0) || one->shortest < sum.shortest))
			sum.shortest = one->shortest;
		if (one->longest > sum.longest)
			sum.longest = one->longest;
	}
	return sum;
}

double store_reader_communication(const struct store_reader *i)
{
	double time = 0;
	for (int call = 0; i->communicating && call < STATE_CALL_COUNT; call++)
		time += store_reader_call(i, call).time;
	return time;
}

double store_reader_synchronization(const struct store_reader *i)
{
	double time = 0;
	for (int call = 0; i->communicating && call < STATE_CALL_COUNT; call++)
		time += store_reader_call(i, call).synchronized;
	return time;
}

bool store_reader_heat(const struct store_reader *i, int heat, double until, struct state_heat *out)
{
	bool any = false;
	*out = (struct state_heat){0};
	state_heat_cover(out, until);
	EACH_SHARD(i, s) {
		struct state_heat one = s->heat[heat];
		if (!(one.width > 0))
			continue;
		state_heat_cover(&one, until);
		for (int b = 0; b < STATE_BINS; b++)
			for (int k = 0; k < 2; k++) {
				out->bytes[k][b] += one.bytes[k][b];
				any = any || one.bytes[k][b];
			}
	}
	return any;
}

static uint32_t segments_of(const struct state_shard *s)
{
	return s->timeline.used < STATE_SEGMENTS ? s->timeline.used : STATE_SEGMENTS;
}

int store_reader_threads(const struct store_reader *i)
{
	int n = 0;
	EACH_SHARD(i, s)
		n += segments_of(s) > 0;
	return n;
}

int store_reader_busy(const struct store_reader *i, struct interval_union *out)
{
	size_t n = 0, at = 0;
	EACH_SHARD(i, s)
		n += segments_of(s);
	struct state_segment *all = log_alloc((n + 1) * sizeof *all);
	struct interval_edge *scratch = log_alloc((2 * n + 1) * sizeof *scratch);
	if (all && scratch) {
		EACH_SHARD(i, s)
			for (uint32_t k = 0; k < segments_of(s) && at < n; k++)
				all[at++] = s->timeline.segment[k];
		*out = interval_union_of(all, at, scratch);
	}
	int code = all && scratch ? 0 : LOG_E_MEMORY;
	log_free(all);
	log_free(scratch);
	return code;
}

double store_reader_last(const struct store_reader *i)
{
	double last = i->state->process.end;
	EACH_SHARD(i, s)
		if (segments_of(s) && s->timeline.segment[segments_of(s) - 1].end > last)
			last = s->timeline.segment[segments_of(s) - 1].end;
	for (size_t n = 0; n < i->communicating; n++)
		if (i->communication[n].ended > last)
			last = i->communication[n].ended;
	return last;
}
