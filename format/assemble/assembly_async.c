/* Asynchronous requests: how many, how they came, how long they took. */
#include "assembly.h"

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
