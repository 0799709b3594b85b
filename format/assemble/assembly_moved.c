/* What processes moved in ways that leave no record, by the kernel's counts and by ours, and what is left unexplained. */
#include "assembly.h"
#include "precision.h"

enum {
	STORAGE_SLACK = 64 << 20, /* programs, libraries and the kernel's reading ahead */
	PAGE = 4096,
	/* Less than this are the heads of programs and libraries, which the kernel and the loader read. */
	FEW = 64 << 10,
};

struct children {
	int64_t sum;     /* of what those moved that moved less than some limit */
	int64_t largest; /* of them */
	int64_t fitting; /* the smallest of them that is at least as large as the excess, 0 = none */
};

static bool is_child(const struct assembly_source *c, const struct assembly_source *of)
{
	return c->host == of->host ? c->parent == of->pid
				   : c->node == of->node && c->parent_outside && c->parent_outside == of->pid;
}

static struct children children_below(const struct assembly *a, const struct state_process *p, int kind, int64_t limit,
				      int64_t excess)
{
	struct children found = {0};
	for (size_t n = 0; n < a->nsources; n++) {
		const struct assembly_source *c = &a->sources[n];
		int64_t moved = c->moved[kind];
		bool earlier = !p->forked && c->start < p->start; /* of what this process was before an exec */
		if (!c->last || !is_child(c, a->source) || earlier || c->end > p->end || moved >= limit)
			continue;
		found.sum += moved;
		if (moved > found.largest)
			found.largest = moved;
		if (moved >= excess && (!found.fitting || moved < found.fitting))
			found.fitting = moved;
	}
	return found;
}

/*
 * What a child moved the kernel adds to its parent once that has waited for it. Where the sum is more than there is
 * room for, some child was not waited for: most likely the one without which the sum fits best. But where it fits better
 * with all of them, what is missing is what the process moved itself after its own count: buffers that exit writes.
 */
static int64_t moved_by_children(const struct assembly *a, const struct state_process *p, int kind, int64_t most)
{
	int64_t limit = INT64_MAX;
	if (a->parents.used && !id_set_has(&a->parents, (uint64_t)p->pid))
		return 0;
	for (;;) {
		struct children c = children_below(a, p, kind, limit, 0);
		if (c.sum <= most || c.sum <= 0)
			return c.sum;
		int64_t excess = c.sum - most, fitting = children_below(a, p, kind, limit, excess).fitting;
		if (fitting)
			return fitting - excess < excess ? c.sum - fitting : c.sum;
		limit = c.largest;
	}
}

struct moved {
	bool known;
	int64_t kernel[2], stored[2]; /* stored: from and to storage, with the children's */
	int64_t unobserved[2];
	int64_t unseen[2], unexplained[2];
	int64_t loaded; /* came from storage by page faults */
};

static bool is_command(const struct assembly *a)
{
	const struct assembly_source *s = a->source;
	return s->last && a->job->command && s->pid == a->job->command;
}

/* The command's own count after its end, as the process that waited for it has seen it. NULL: not this process, or not known. */
static const int64_t *after_end(const struct assembly *a)
{
	return is_command(a) ? a->job->command_io : NULL;
}

/*
 * s of a processor in programs that were not observed and in processes whose end was not: what the command and all that it
 * waited for have used beyond what is known of each. Below 0: there are none, or it is not known.
 */
static double used_unobserved(const struct assembly *a)
{
	bool any = false;
	double rest = a->job->command_used;
	if (!is_command(a) || rest <= 0)
		return -1;
	for (const struct assembly_source *c = a->sources; c < a->sources + a->nsources; c++) {
		if (c->node != a->source->node)
			continue;
		any |= c->unknown_use || (c->last && c->became);
		rest -= c->last ? (double)(c->used[STATE_USED_USER] + c->used[STATE_USED_SYSTEM]) * 1e-6 : 0;
	}
	return !any ? -1 : rest > 0 ? rest : 0;
}

/* Of unobserved children, and of a program that the process became. */
static int64_t unobserved(const struct assembly *a, const struct state_process *p, int kind, int64_t became)
{
	int64_t waited = p->waited[STATE_IO_READ + kind];
	int64_t rest = waited > 0 ? waited - moved_by_children(a, p, kind, waited) : 0;
	return (rest > 0 ? rest : 0) + became;
}

static bool started_unobserved(const struct process_state *i)
{
	bool any = i->process.lost_children > 0;
	for (const struct state_unobserved *u = i->unobserved; u < i->unobserved + STATE_UNOBSERVED; u++)
		any |= u->count > 0;
	return any;
}

/* What the process was before an exec, as far as it was observed; NULL: it was nothing. */
static const struct assembly_source *image_before(const struct assembly *a)
{
	const struct assembly_source *s = a->source, *before = NULL;
	for (const struct assembly_source *c = a->sources; c < a->sources + a->nsources; c++)
		if (c != s && c->host == s->host && c->pid == s->pid && c->start < s->start &&
		    (!before || c->start > before->start))
			before = c;
	return before;
}

/* The kernel's counts begin where the image before ended, or where the process was made: those before iolens ran are its own. */
static bool counts_from_before(const struct assembly *a, const struct state_process *p)
{
	return !p->forked && !a->job->own && a->job->command;
}

/*
 * Before iolens ran in this image: constructors of libraries that are loaded before it, and what the process was before, as
 * far as it was not observed.
 */
static int64_t moved_early(const struct assembly *a, const struct state_process *p, int kind)
{
	if (!counts_from_before(a, p))
		return 0;
	const struct assembly_source *before = image_before(a);
	int64_t early = p->kernel_at_start[STATE_IO_READ + kind] - (before ? before->moved[kind] : 0);
	return early > FEW ? early : 0;
}

/* Its program and libraries, by the loader. */
static int64_t loaded_early(const struct assembly *a, const struct state_process *p)
{
	if (!counts_from_before(a, p))
		return 0;
	const struct assembly_source *before = image_before(a);
	int64_t early = p->kernel_at_start[STATE_IO_STORAGE_READ] - (before ? before->moved[2 + IO_READ] : 0);
	return early > 0 ? early : 0;
}

static int64_t explained_without_records(const struct store_reader *i, int kind)
{
	static const enum state_operation_id ways[2][5] = {
		{STATE_OP_POSIX_SPLICE, STATE_OP_SOCKET_RECEIVE, STATE_OP_LIBAIO_READ, STATE_OP_IO_URING_READ,
		 STATE_OP_MAPPED_READ},
		{STATE_OP_POSIX_SPLICE, STATE_OP_SOCKET_SEND, STATE_OP_LIBAIO_WRITE, STATE_OP_IO_URING_WRITE,
		 STATE_OP_MAPPED_WRITE},
	};
	int64_t sum = 0;
	for (size_t w = 0; w < sizeof ways[kind] / sizeof *ways[kind]; w++)
		sum += store_reader_operation(i, ways[kind][w]).bytes;
	return sum;
}

/* How many pages it waited for. Of one that has not ended the kernel was not asked. */
static int64_t faults_of(const struct state_process *p)
{
	int64_t faults = p->used_at_end[STATE_USED_FAULTS] - p->used_at_start[STATE_USED_FAULTS];
	return faults > 0 ? faults : 0;
}

/*
 * What was read from storage beyond all that is known of, where it is too much for reading ahead. Not of writing: the kernel
 * counts large folios as a whole when one byte of them is written.
 */
static int64_t read_beyond(const struct assembly *a, const struct state_process *p, int64_t stored, int64_t known)
{
	int64_t own = stored - moved_by_children(a, p, 2 + IO_READ, stored);
	return own > 2 * known + STORAGE_SLACK ? own - known : 0;
}

/*
 * What went to and from storage beyond all that is known of: of a process with a ring of its own that was killed before the
 * ring was counted, it is the only trace.
 */
static int64_t lost_with_rings(const struct state_process *p, int64_t stored, int64_t known)
{
	return p->own_rings && !p->kernel_at_end[STATE_IO_READS] && stored > known ? stored - known : 0;
}

/*
 * Calls of the process have not asked for it: it is of programs, libraries and what is mapped of files. Where a ring of its own
 * may have, it is unexplained. Each call may have read a page more than it asked for.
 */
static void set_loaded(const struct assembly *a, struct moved *m, const struct state_process *p, int64_t known)
{
	int64_t calls = p->kernel_at_end[STATE_IO_READS] - p->kernel_at_start[STATE_IO_READS];
	int64_t beyond = read_beyond(a, p, m->stored[IO_READ], known + (calls > 0 ? calls : 0) * PAGE);
	m->loaded = p->own_rings || !p->kernel_at_end[STATE_IO_READS] ? 0 : beyond;
	m->unexplained[IO_READ] += beyond - m->loaded;
}

/*
 * libc fills a stream's block at each seek, whatever the program then reads of it: bytes that no call has asked for, in the time
 * of the calls.
 */
static int64_t read_at_seeks(const struct store_reader *i)
{
	return store_reader_operation(i, STATE_OP_STDIO_SEEK).count * PAGE;
}

static struct moved moved_of(const struct assembly *a, const struct store_reader *i, const int64_t seen[2])
{
	const struct state_process *p = &i->state->process;
	const int64_t *after = after_end(a), *end = p->kernel_at_end;
	/* It has asked long before its end, after which it could not. */
	bool confined = end[STATE_IO_READS] > 0 && p->end_reason == STATE_END_NONE && a->source->last;
	struct moved m = {.known = end[STATE_IO_READS] > 0 && !confined};
	bool became = m.known && after && p->end_reason == STATE_END_EXEC;
	if (!m.known && after) {
		end = after;
		m.known = true;
	}
	if (p->observer == STATE_BY_KERNEL) /* every call of it was counted */
		return (struct moved){.known = true, .kernel = {seen[0], seen[1]}, .stored = {-1, -1}};
	for (int k = 0; k < 2 && m.known; k++) {
		int64_t more = became ? after[STATE_IO_READ + k] - end[STATE_IO_READ + k] - p->own_moved[k] : 0;
		more = more > 0 ? more : 0;
		m.kernel[k] = end[STATE_IO_READ + k] - p->kernel_at_start[STATE_IO_READ + k];
		m.kernel[k] -= end == after ? p->own_moved[k] : 0;
		m.kernel[k] -= moved_by_children(a, p, k, m.kernel[k] - seen[k]);
		m.kernel[k] += more + moved_early(a, p, k);
		m.stored[k] = end[STATE_IO_STORAGE_READ + k] - p->kernel_at_start[STATE_IO_STORAGE_READ + k];
		m.unseen[k] = m.kernel[k] > seen[k] ? m.kernel[k] - seen[k] : 0;
		m.unobserved[k] = unobserved(a, p, k, more);
		if (m.unobserved[k] < FEW && !became && !started_unobserved(i->state))
			m.unobserved[k] = 0;
		if (m.unobserved[k] > m.unseen[k])
			m.unobserved[k] = m.unseen[k];
		m.unexplained[k] = m.unseen[k] - m.unobserved[k];
		int64_t blocks = k == IO_READ ? read_at_seeks(i) : 0;
		m.unexplained[k] -= blocks < m.unexplained[k] ? blocks : m.unexplained[k];
		int64_t known = seen[k] + m.unseen[k] + explained_without_records(i, k);
		int64_t lost = lost_with_rings(p, m.stored[k], known);
		m.unexplained[k] += lost;
		if (!lost && k == IO_READ)
			set_loaded(a, &m, p, known);
	}
	if (m.known)
		m.stored[IO_READ] += loaded_early(a, p);
	return m;
}

/* Of a process that did not come to its end, or that closed itself off before, none of it is known: -1. */
static void set_used(const struct assembly *a, struct trailer_section *s, const struct state_process *p)
{
	static const char *const fields[STATE_USED_COUNT] = {"user_time", "system_time", "processor_wait",
							     "major_faults", "waits"};
	static const int64_t none[STATE_USED_COUNT];
	const struct assembly_source *before = image_before(a);
	const int64_t *from = !counts_from_before(a, p) ? p->used_at_start : before ? before->used : none;
	int64_t any = 0;
	for (int n = 0; n < STATE_USED_COUNT; n++)
		any |= p->used_at_end[n];
	for (int n = 0; n < STATE_USED_COUNT; n++) {
		bool known = any && p->end_reason && p->used_at_end[n] >= 0;
		int64_t used = p->used_at_end[n] - (from[n] > 0 ? from[n] : 0);
		used = used > 0 ? used : 0;
		if (n > STATE_USED_DELAY)
			section_set_i64(s, fields[n], 0, known ? used : -1);
		else
			section_set_f64(s, fields[n], 0, known ? precise_cost((double)used * 1e-6) : -1);
	}
	bool asked = any && p->end_reason && p->used_at_end[STATE_USED_DELAY] >= 0 && p->asked_threads > 0;
	section_set_i64(s, "processor_threads", 0, asked ? p->asked_threads : 0);
}

void assembly_set_kernel(struct assembly *a, struct store_reader *i, const int64_t seen[2])
{
	static const char *const fields[2][5] = {
		{"kernel_read", "storage_read", "seen_read", "unseen_read", "unexplained_read"},
		{"kernel_written", "storage_written", "seen_written", "unseen_written", "unexplained_written"},
	};
	struct trailer_section *s = &a->section[ASSEMBLY_PROCESS];
	struct moved m = moved_of(a, i, seen);
	for (int k = 0; k < 2; k++) {
		const int64_t values[5] = {m.kernel[k], m.stored[k], seen[k], m.unseen[k], m.unexplained[k]};
		for (int f = 0; f < 5; f++)
			section_set_i64(s, fields[k][f], 0, m.known || f == 2 ? values[f] : -1);
	}
	set_used(a, s, &i->state->process);
}

static void add_way(struct trailer_section *s, int64_t rank, const char *way, const char *name, int64_t count,
		    int64_t bytes, double time)
{
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "interface", 0, way);
	section_set_text(s, "name", 0, name);
	section_set_i64(s, "count", 0, count);
	section_set_i64(s, "errors", 0, 0);
	section_set_i64(s, "bytes", 0, bytes);
	section_set_f64(s, "time", 0, precise_cost(time));
}

int assembly_add_moved(struct assembly *a, struct store_reader *i, const int64_t seen[2])
{
	static const char *const names[2] = {"read", "write"};
	struct trailer_section *s = &a->section[ASSEMBLY_OPERATION];
	struct moved m = moved_of(a, i, seen);
	for (int k = 0; k < 2; k++)
		if (m.unobserved[k])
			add_way(s, i->rank, "unobserved", names[k], 1, m.unobserved[k], 0);
	if (used_unobserved(a) >= 0)
		add_way(s, i->rank, "unobserved", "processor", 1, 0, used_unobserved(a));
	if (m.loaded)
		add_way(s, i->rank, "loaded", names[IO_READ], faults_of(&i->state->process), m.loaded, 0);
	return s->failed;
}

/* ---- asynchronous requests: how many, how they came, how long they took ---- */

static const char *const interfaces[] = {
/* clang-format off */
#define INTERFACE(id, name) name,
	STATE_ASYNCS(INTERFACE)
	/* clang-format on */
};

static int add_requests(struct assembly *a, struct store_reader *i, int interface, int kind)
{
	static const char *const latencies[STATE_LATENCIES] = {"under_10us", "under_100us", "under_1ms",
							       "under_10ms", "under_100ms", "slower"};
	struct trailer_section *s = &a->section[ASSEMBLY_ASYNC];
	struct state_requests sum = store_reader_requests(i, interface, kind);
	if (!sum.count)
		return 0;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_text(s, "interface", 0, interfaces[interface]);
	section_set_text(s, "direction", 0, kind == IO_READ ? "read" : "write");
	section_set_i64(s, "count", 0, sum.count);
	section_set_i64(s, "errors", 0, sum.errors);
	section_set_i64(s, "bytes", 0, sum.bytes);
	section_set_i64(s, "recorded", 0, sum.recorded);
	section_set_i64(s, "untimed", 0, sum.untimed);
	section_set_i64(s, "estimated", 0, sum.estimated);
	section_set_i64(s, "fixed_files", 0, sum.fixed_files);
	section_set_i64(s, "fixed_buffers", 0, sum.fixed_buffers);
	assembly_set_duration(s, "wait_time", sum.wait);
	assembly_set_duration(s, "span_time", sum.span);
	assembly_set_duration(s, "longest", sum.longest);
	for (int c = 0; c < STATE_LATENCIES; c++)
		section_set_i64(s, latencies[c], 0, sum.latency[c]);
	return s->failed;
}

static int add_batches(struct assembly *a, struct store_reader *i, int interface)
{
	static const char *const sizes[STATE_BATCHES] = {"size_1", "size_2_4", "size_5_16", "size_17_64",
							 "size_65_plus"};
	struct trailer_section *s = &a->section[ASSEMBLY_ASYNC_BATCHES];
	struct state_batches sum = store_reader_batches(i, interface);
	if (!sum.calls)
		return 0;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_text(s, "interface", 0, interfaces[interface]);
	section_set_i64(s, "calls", 0, sum.calls);
	section_set_i64(s, "requests", 0, sum.requests);
	section_set_i64(s, "largest", 0, sum.largest);
	for (int c = 0; c < STATE_BATCHES; c++)
		section_set_i64(s, sizes[c], 0, sum.size[c]);
	return s->failed;
}

/* Calls that took no clock (runtime/trace/sampling.h). */
int assembly_add_sampled_times(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_SAMPLED_TIMES];
	struct state_operation untimed = store_reader_operation(i, STATE_OP_IOLENS_UNTIMED);
	struct state_operation doubtful = store_reader_operation(i, STATE_OP_IOLENS_DOUBTFUL);
	if (!untimed.count)
		return s->failed;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_i64(s, "calls", 0, untimed.count);
	assembly_set_duration(s, "time", untimed.time);
	section_set_i64(s, "timed", 0, store_reader_operation(i, STATE_OP_IOLENS_TIMED).count);
	section_set_i64(s, "doubtful", 0, doubtful.count);
	assembly_set_duration(s, "doubtful_time", doubtful.time);
	return s->failed;
}

int assembly_add_async(struct assembly *a, struct store_reader *i)
{
	int code = 0;
	for (int interface = 0; code >= 0 && interface < STATE_ASYNC_COUNT; interface++) {
		for (int kind = 0; code >= 0 && kind < 2; kind++)
			code = add_requests(a, i, interface, kind);
		code = code < 0 ? code : add_batches(a, i, interface);
	}
	return code;
}
