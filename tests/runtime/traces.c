/* What is traced comes back from the chunks as it was, whatever it was; what was not finished is not there. */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/trace/trace.c"

#include "source.h"
#include "trace_reader.h"
#include "unit.h"

/* ---- the parts of the runtime that a trace needs ---- */

enum { ROOM = 1 << 20 };

static struct process_state state;
static struct {
	uint8_t bytes[ROOM];
	size_t used, room;
} region __attribute__((aligned(64)));

struct config config;

bool config_traced(int module)
{
	return module == LOG_MOD_DXT_POSIX;
}

bool filter_leaves_out(const struct filter_pair *p, int module, const char *text)
{
	return p == &config.name && module == LOG_MOD_DXT_POSIX && !strcmp(text, "/left out");
}

struct process_state *store_state(void)
{
	return &state;
}

void *store_trace(size_t n)
{
	if (n > region.room - region.used)
		return NULL;
	region.used += n;
	return region.bytes + region.used - n;
}

static size_t oldest;

void *store_trace_again(size_t n)
{
	size_t at = oldest + n <= region.used ? oldest : 0;
	oldest = at + n;
	return region.used >= n ? region.bytes + at : NULL;
}

/* ---- a file, and what its trace says ---- */

static struct name name;

static struct file *begin_file(size_t room)
{
	static struct file f;
	memset(&state, 0, sizeof state);
	memset(&region, 0, sizeof region);
	region.room = room;
	config.trace_newest = false;
	config.trace_window = (struct config_window){0, 1e300};
	oldest = 0;
	self.shard = state.shard;
	name = (struct name){.id = 77, .text = "/file"};
	f = (struct file){.name = &name};
	return &f;
}

struct access_made {
	enum io_op kind;
	int64_t at, length, start, end; /* ticks */
	int thread;
};

static void trace(struct file *f, const struct access_made *a)
{
	self.shard = state.shard + a->thread;
	trace_access(f, TRACE_POSIX, a->kind, a->at, a->length, (double)a->start / TRACE_RATE,
		     (double)a->end / TRACE_RATE);
}

static void open_traces(struct traces *t, struct source *source)
{
	struct log_error err = {0};
	source_open_memory(source, region.bytes, sizeof region.bytes);
	CHECK(traces_open(t, source, 0, region.used, &err) == 0);
}

/* The first accesses are these; how many came. */
static size_t expect(const struct access_made *wanted, size_t n)
{
	static struct trace_reader r;
	struct log_error err = {0};
	struct trace_access got;
	struct traces t;
	struct source source;
	size_t came = 0;
	open_traces(&t, &source);
	CHECK(t.nfiles <= 1);
	if (t.nfiles)
		trace_begin(&r, &t, 0);
	for (; t.nfiles && trace_next(&r, &got, &err) > 0; came++) {
		if (came >= n)
			continue;
		const struct access_made *a = &wanted[came];
		CHECK(got.op == (int)a->kind && got.offset == a->at && got.length == a->length);
		CHECK(got.thread == a->thread);
		CHECK(got.start * TRACE_RATE == (double)a->start && got.end * TRACE_RATE == (double)a->end);
	}
	CHECK(!t.nfiles || t.files[0].id == 77);
	traces_close(&t);
	return came;
}

/* Numbers of all sizes. */
static int64_t some(uint64_t *seed, int bits)
{
	uint64_t value = unit_random(seed) >> 1;
	return (int64_t)(value >> (63 - unit_random(seed) % (unsigned)bits));
}

TEST(any_access_comes_back_from_its_trace)
{
	enum { MANY = 20000 };
	static struct access_made all[MANY];
	uint64_t seed = 5;
	struct file *f = begin_file(ROOM);
	int64_t now = 1000;
	for (int n = 0; n < MANY; n++) {
		struct access_made *a = &all[n], *before = n ? a - 1 : a;
		*a = *before;
		a->kind = unit_random(&seed) % 2;
		a->at = unit_random(&seed) % 4 ? before->at + before->length : some(&seed, 62);
		a->length = unit_random(&seed) % 4 ? before->length : some(&seed, 40);
		a->thread = unit_random(&seed) % 8 ? before->thread : (int)(unit_random(&seed) % STATE_SHARDS);
		a->start = now + some(&seed, 12) - some(&seed, 10);
		a->start += unit_random(&seed) % 100 ? 0 : some(&seed, 36);
		a->end = a->start + some(&seed, unit_random(&seed) % 100 ? 12 : 36);
		now = a->end;
		trace(f, a);
	}
	CHECK(state.trace.dropped[TRACE_POSIX] == 0);
	CHECK(expect(all, MANY) == MANY);
}

static struct access_made regular(int64_t n)
{
	return (struct access_made){IO_READ, n * 4096, 4096, 5000 + n * 100, 5000 + n * 100 + 40, 0};
}

TEST(a_regular_access_takes_three_bytes)
{
	enum { MANY = 100000 };
	static struct access_made all[MANY];
	struct file *f = begin_file(ROOM);
	for (int n = 0; n < MANY; n++) {
		all[n] = regular(n);
		all[n].at = n * INT64_C(1000000); /* a stride */
		trace(f, &all[n]);
	}
	CHECK(expect(all, MANY) == MANY);
	CHECK(region.used < MANY * 3.2);
}

TEST(an_offset_that_is_unknown_comes_back)
{
	struct access_made all[] = {regular(0), regular(1), regular(2)};
	struct file *f = begin_file(ROOM);
	for (int n = 0; n < 3; n++) {
		all[n].at = -1;
		trace(f, &all[n]);
	}
	CHECK(expect(all, 3) == 3);
}

TEST(the_oldest_accesses_are_kept_and_the_others_counted)
{
	enum { MANY = 5000 };
	static struct access_made all[MANY];
	struct file *f = begin_file(4096);
	for (int n = 0; n < MANY; n++) {
		all[n] = regular(n);
		trace(f, &all[n]);
	}
	size_t kept = expect(all, MANY);
	CHECK(kept > 1000 && kept < 1400);
	CHECK(state.trace.dropped[TRACE_POSIX] == (int64_t)(MANY - kept));
}

TEST(a_ring_keeps_the_newest_accesses)
{
	enum { MANY = 50000, FILES = 3 };
	static struct name names[FILES];
	static struct file files[FILES];
	static struct trace_reader r;
	struct log_error err = {0};
	struct trace_access got;
	struct traces t;
	struct source source;
	begin_file(32768);
	config.trace_newest = true;
	memset(files, 0, sizeof files);
	for (int n = 0; n < FILES; n++) {
		names[n] = (struct name){.id = (uint64_t)n, .text = "/file"};
		files[n].name = &names[n];
	}
	for (int n = 0; n < MANY; n++) {
		struct access_made a = regular(n);
		trace(&files[n % FILES], &a);
	}
	open_traces(&t, &source);
	int64_t all = 0;
	CHECK(t.nfiles == FILES);
	for (size_t n = 0; n < t.nfiles; n++) {
		int64_t first = -1, last = -1;
		for (trace_begin(&r, &t, n); trace_next(&r, &got, &err) > 0; all++) {
			int64_t number = got.offset / 4096;
			CHECK(number % FILES == (int64_t)t.files[n].id && got.length == 4096);
			CHECK(last < 0 || number == last + FILES);
			first = first < 0 ? number : first;
			last = number;
		}
		CHECK(last >= MANY - FILES && first > MANY - 12000);
	}
	CHECK(all > 6500);
	CHECK(state.trace.dropped[TRACE_POSIX] > 0);
	traces_close(&t);
}

TEST(accesses_outside_the_window_are_left_out)
{
	struct access_made all[] = {regular(0), regular(1), regular(2), regular(3)};
	struct file *f = begin_file(ROOM);
	config.trace_window =
		(struct config_window){(double)all[1].start / TRACE_RATE, (double)all[2].start / TRACE_RATE};
	for (int n = 0; n < 4; n++)
		trace(f, &all[n]);
	CHECK(expect(all + 1, 2) == 2);
}

TEST(after_a_jump_out_of_an_item_a_new_chunk_begins)
{
	struct access_made all[] = {regular(0), regular(1), regular(2), regular(3)};
	struct file *f = begin_file(ROOM);
	trace(f, &all[0]);
	trace(f, &all[1]);
	lift(&f->trace->limit); /* and no further */
	f->trace->pattern[IO_READ].length = 1;
	memset(f->trace->at, 0xff, 5);
	CHECK(expect(all, 4) == 2);
	trace(f, &all[2]);
	trace(f, &all[3]);
	CHECK(f->trace->chunks == 2);
	CHECK(expect(all, 4) == 4);
}

TEST(files_that_are_left_out_take_no_room)
{
	struct access_made a = regular(0);
	struct file *f = begin_file(ROOM);
	name.text = "/left out";
	trace(f, &a);
	f->trace = NULL;
	name = (struct name){.id = 77, .text = "<other files>", .overflow = true};
	trace(f, &a);
	CHECK(region.used == 0);
	CHECK(state.trace.dropped[TRACE_POSIX] == 0);
}

static size_t count_all(void)
{
	static struct trace_reader r;
	struct log_error err = {0};
	struct trace_access got;
	struct traces t;
	struct source source;
	size_t came = 0;
	open_traces(&t, &source);
	for (size_t n = 0; n < t.nfiles; n++)
		for (trace_begin(&r, &t, n); trace_next(&r, &got, &err) > 0; came++)
			CHECK(got.op == IO_READ || got.op == IO_WRITE);
	traces_close(&t);
	return came;
}

TEST(damaged_chunks_end_and_harm_nobody)
{
	uint64_t seed = 11;
	for (int turn = 0; turn < 300; turn++) {
		struct file *f = begin_file(16384);
		for (int n = 0; n < 3000; n++) {
			struct access_made a = regular(n);
			a.length = some(&seed, 20);
			trace(f, &a);
		}
		for (int n = 0; n < 20; n++)
			region.bytes[unit_random(&seed) % region.used] = (uint8_t)unit_random(&seed);
		CHECK(count_all() <= region.used / 3);
	}
}
