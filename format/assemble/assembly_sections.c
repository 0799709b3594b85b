/* The extension trailer of a job's log: what the stores hold beside Darshan's records. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "assembly.h"
#include "precision.h"
#include "reduce.h"
#include "site_table.h"

static const struct {
	const char *name;
	const char *schema;
} sections[ASSEMBLY_SECTIONS] = {
	/* clang-format off */
	[ASSEMBLY_PROCESS] = {"process",
		"rank i64\npid i64\nparent i64\nforked i64\nhost str\nexe str\ncommand str\ndirectory str\n"
		"start f64 s\nend f64 s\nended str\nsignal i64\nexit_code i64\nthreads i64\n"
		"io_time f64 s\nread_time f64 s\nwrite_time f64 s\nmeta_time f64 s\n"
		"kernel_read i64 byte\nkernel_written i64 byte\nstorage_read i64 byte\nstorage_written i64 byte\n"
		"seen_read i64 byte\nseen_written i64 byte\nunseen_read i64 byte\nunseen_written i64 byte\n"
		"unexplained_read i64 byte\nunexplained_written i64 byte\n"
		"nested_calls i64\nfolded_opens i64\nbudget i64 byte\nstart_cost f64 s\n"
			    "mpi str\nmpi_start f64 s\nmpi_end f64 s\n"
		"user_time f64 s\nsystem_time f64 s\nprocessor_wait f64 s\nmajor_faults i64\nwaits i64\n"
		"processor_threads i64\n"},
	[ASSEMBLY_TOTAL] = {"total",
		"rank i64\ninterface str\nrecords i64\nopens i64\nreads i64\nwrites i64\n"
		"bytes_read i64 byte\nbytes_written i64 byte\nread_time f64 s\nwrite_time f64 s\nmeta_time f64 s\n"},
	[ASSEMBLY_EXCLUDED] = {"excluded",
		"rank i64\nclass str\ndescription str\nopens i64\nreads i64\nwrites i64\n"
		"bytes_read i64 byte\nbytes_written i64 byte\n"},
	[ASSEMBLY_OPERATION] = {"operation",
		"rank i64\ninterface str\nname str\ncount i64\nerrors i64\nbytes i64 byte\ntime f64 s\n"},
	[ASSEMBLY_MPIIO_SIZES] = {"mpiio_sizes",
		"rank i64\nkind str\ndirection str\nsize str\ncount i64\nbytes i64 byte\n"},
	[ASSEMBLY_MPIIO_COMPLETIONS] = {"mpiio_completions",
		"rank i64\nkind str\ndirection str\ncount i64\nerrors i64\nbytes i64 byte\n"
		"wait_time f64 s\nspan_time f64 s\n"},
	[ASSEMBLY_LOCKS] = {"locks",
		"rank i64\nfile str\nshared i64\nexclusive i64\nreleased i64\nrefused i64\nwait_time f64 s\n"
		"longest f64 s\n"},
	[ASSEMBLY_SAMPLED_TIMES] = {"sampled_times",
		"rank i64\ncalls i64\ntime f64 s\ntimed i64\ndoubtful i64\ndoubtful_time f64 s\n"},
	[ASSEMBLY_ASYNC] = {"async",
		"rank i64\ninterface str\ndirection str\ncount i64\nerrors i64\nbytes i64 byte\n"
		"recorded i64 byte\nuntimed i64 byte\nfixed_files i64\nfixed_buffers i64\nwait_time f64 s\n"
		"span_time f64 s\nlongest f64 s\nunder_10us i64\nunder_100us i64\nunder_1ms i64\n"
		"under_10ms i64\nunder_100ms i64\nslower i64\nestimated i64 byte\n"},
	[ASSEMBLY_ASYNC_BATCHES] = {"async_batches",
		"rank i64\ninterface str\ncalls i64\nrequests i64\nlargest i64\nsize_1 i64\nsize_2_4 i64\n"
		"size_5_16 i64\nsize_17_64 i64\nsize_65_plus i64\n"},
	[ASSEMBLY_COMMUNICATION] = {"communication",
		"rank i64\nkind str\ncall str\ncount i64\nbytes i64 byte\ntime f64 s\n"
		"shortest f64 s\nlongest f64 s\n"},
	[ASSEMBLY_TIMELINE] = {"timeline",
		"rank i64\nthread i64\nstart f64 s\nend f64 s\nread f64 s\nwrite f64 s\nmeta f64 s\n"},
	[ASSEMBLY_FOLDED] = {"folded",
		"rank i64\nopens i64\nfiles i64\nprogram_opens i64\nprogram_files i64\nbudget i64 byte\n"
		"sufficient_budget i64 byte\n"},
	[ASSEMBLY_FOLDED_DIRECTORY] = {"folded_directory", "rank i64\ndirectory str\nopens i64\nsurplus i64\n"},
	[ASSEMBLY_UNOBSERVED] = {"unobserved", "rank i64\nprogram str\nreason str\ncount i64\n"},
	[ASSEMBLY_UNRECORDED] = {"unrecorded", "rank i64\ninterface str\nprogram str\nreason str\n"},
	[ASSEMBLY_OBSERVERS] = {"observers", "rank i64\npid i64\nstart f64 s\nobserver str\n"},
	[ASSEMBLY_PHASES_OF_PROGRAM] = {"phases",
		"rank i64\nphase str\ncount i64\nopen i64\ntime f64 s\nshortest f64 s\nlongest f64 s\n"
		"first f64 s\nlast f64 s\nread_time f64 s\nwrite_time f64 s\nmeta_time f64 s\n"
		"reads i64\nwrites i64\nmeta_ops i64\nbytes_read i64 byte\nbytes_written i64 byte\n"
		"processor_time f64 s\n"},
	[ASSEMBLY_PHASE_INTERFACES] = {"phase_interfaces",
		"rank i64\nphase str\ninterface str\nreads i64\nwrites i64\n"
		"bytes_read i64 byte\nbytes_written i64 byte\n"},
	[ASSEMBLY_STEPS] = {"steps",
		"rank i64\nphase str\ncount i64\nstart f64 s\nend f64 s\nio_time f64 s\n"
		"bytes_read i64 byte\nbytes_written i64 byte\n"},
	[ASSEMBLY_LINES] = {"lines",
		"rank i64\ninterface str\nkind str\nstack str\nfile u64\ncalls i64\nbytes i64 byte\ntime f64 s\n"},
	[ASSEMBLY_SITES] = {"sites", SITES_SCHEMA},
	[ASSEMBLY_PLATFORM] = {"platform", "host str\nname str\nvalue str\nnumber f64\nunit str\n"},
	[ASSEMBLY_MOUNTED] = {"mounted", "host str\npoint str\ntype str\nsource str\noptions str\nclass str\n"},
	[ASSEMBLY_VOLUME] = {"volume", "name str\nsource str\nosts i64\nmdts i64\n"},
	[ASSEMBLY_TARGET] = {"target", "volume str\nkind str\nnumber i64\nserver str\n"},
	[ASSEMBLY_PHASE] = {"phase", "name str\ntime f64 s\n"},
	[ASSEMBLY_ENVIRONMENT] = {"environment", "name str\nvalue str\n"},
	/* clang-format on */
};

static void set_life(struct trailer_section *s, const char *start, double from, const char *end, double to)
{
	section_set_f64(s, start, 0, precise_begin(from));
	section_set_f64(s, end, 0, precise_end(to));
}

int assembly_sections_begin(struct assembly *a)
{
	int code = 0;
	for (int s = 0; code >= 0 && s < ASSEMBLY_SECTIONS; s++)
		code = section_begin_empty(&a->section[s], sections[s].name, sections[s].schema);
	return code;
}

/* ---- totals ---- */

/* Where the records have been gone through already, or packed, their sums are known. */
static int sum_records(struct assembly_source *s, struct store_reader *i, int module, struct log_error *err)
{
	struct store_records records;
	struct log_record r;
	enum precompressed_part part = precompressed_part_of(module);
	if (s->counted[part])
		return 0;
	int code = store_records_open(&records, i->log, module, err);
	if (code < 0)
		return code;
	s->totals[part] = (struct precompressed_totals){0};
	while ((code = precompressed_next(module, &records, &r, err)) > 0)
		if (!precompressed_unused(module, &r))
			precompressed_total_add(&s->totals[part], &r);
	store_records_close(&records);
	s->counted[part] = code >= 0;
	return code;
}

static int add_total(struct assembly *a, struct store_reader *i, int module)
{
	struct trailer_section *s = &a->section[ASSEMBLY_TOTAL];
	int code = sum_records(a->source, i, module, &a->err);
	struct precompressed_totals t = a->source->totals[precompressed_part_of(module)];
	if (code < 0 || !t.records)
		return code;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_text(s, "interface", 0, schema_modules[module].key);
	section_set_i64(s, "records", 0, t.records);
	section_set_i64(s, "opens", 0, t.opens);
	section_set_i64(s, "reads", 0, t.reads);
	section_set_i64(s, "writes", 0, t.writes);
	section_set_i64(s, "bytes_read", 0, t.bytes_read);
	section_set_i64(s, "bytes_written", 0, t.bytes_written);
	assembly_set_duration(s, "read_time", t.read_time);
	assembly_set_duration(s, "write_time", t.write_time);
	return assembly_set_duration(s, "meta_time", t.meta_time);
}

int assembly_has_files(struct store_reader *i, struct log_error *err)
{
	int code = 0;
	for (int slot = 0; !code && slot < WRITTEN_COUNT; slot++) {
		struct store_records records;
		struct log_record r;
		int module = written_modules[slot].module;
		if ((code = store_records_open(&records, i->log, module, err)) < 0)
			return code;
		while ((code = precompressed_next(module, &records, &r, err)) > 0)
			if (!precompressed_unused(module, &r) && !precompressed_standard_stream(r.id))
				break;
		store_records_close(&records);
	}
	return code;
}

/* What the kernel leaves out of rchar and wchar. */
static const struct {
	enum state_operation_id operation;
	bool direction[2];
} missing[] = {{STATE_OP_POSIX_SPLICE, {true, true}},
	       {STATE_OP_SOCKET_RECEIVE, {true, false}},
	       {STATE_OP_SOCKET_SEND, {false, true}}};

/* Nor does it count asynchronous requests, unless libc's threads make calls of them. */
static int64_t recorded_requests(const struct store_reader *i, int kind)
{
	return store_reader_requests(i, STATE_ASYNC_LIBAIO, kind).recorded +
	       store_reader_requests(i, STATE_ASYNC_IO_URING, kind).recorded;
}

int assembly_seen(struct assembly_source *s, struct store_reader *i, int64_t seen[2], struct log_error *err)
{
	int code = 0;
	seen[IO_READ] = seen[IO_WRITE] = 0;
	for (int slot = 0; code >= 0 && slot < WRITTEN_COUNT; slot++) {
		if (!written_modules[slot].descriptors)
			continue;
		const struct precompressed_totals *t = &s->totals[PRECOMPRESSED_RECORDS + slot];
		code = sum_records(s, i, written_modules[slot].module, err);
		seen[IO_READ] += t->bytes_read;
		seen[IO_WRITE] += t->bytes_written;
	}
	for (int c = 1; c < STATE_CLASS_COUNT; c++)
		for (int k = 0; k < 2; k++)
			seen[k] += store_reader_class(i, c).bytes[k];
	for (size_t o = 0; o < sizeof missing / sizeof *missing; o++)
		for (int k = 0; k < 2; k++)
			if (missing[o].direction[k])
				seen[k] -= store_reader_operation(i, missing[o].operation).bytes;
	for (int k = 0; k < 2; k++) {
		seen[k] -= recorded_requests(i, k);
		seen[k] = seen[k] > 0 ? seen[k] : 0;
	}
	return code;
}

/* ---- classes and operations ---- */

static const struct {
	const char *name, *description;
} classes[] = {
	/* clang-format off */
	[0] = {"none", ""},
#define CLASS(id, text, what) {text, what},
	STATE_CLASSES(CLASS)
	/* clang-format on */
};

static int add_classes(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_EXCLUDED];
	for (int c = 1; c < STATE_CLASS_COUNT; c++) {
		struct state_class sum = store_reader_class(i, c);
		if (!sum.opens && !sum.calls[IO_READ] && !sum.calls[IO_WRITE])
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "class", 0, classes[c].name);
		section_set_text(s, "description", 0, classes[c].description);
		section_set_i64(s, "opens", 0, sum.opens);
		section_set_i64(s, "reads", 0, sum.calls[IO_READ]);
		section_set_i64(s, "writes", 0, sum.calls[IO_WRITE]);
		section_set_i64(s, "bytes_read", 0, sum.bytes[IO_READ]);
		section_set_i64(s, "bytes_written", 0, sum.bytes[IO_WRITE]);
	}
	return s->failed;
}

static int add_operations(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_OPERATION];
	for (int o = 0; o < STATE_OP_COUNT; o++) {
		struct state_operation sum = store_reader_operation(i, o);
		if (!sum.count ||
		    (o >= STATE_OP_IOLENS_NESTED && o <= STATE_OP_IOLENS_DOUBTFUL)) /* other tables have them */
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "interface", 0, written_operations[o].interface);
		section_set_text(s, "name", 0, written_operations[o].name);
		section_set_i64(s, "count", 0, sum.count);
		section_set_i64(s, "errors", 0, sum.errors);
		section_set_i64(s, "bytes", 0, sum.bytes);
		assembly_set_duration(s, "time", sum.time);
	}
	return s->failed;
}

/* ---- MPI-IO ---- */

static const char *const ways[] = {
/* clang-format off */
#define WAY(id, name) name,
	ACCESS_MODES(WAY)
	/* clang-format on */
};

static void set_way(struct trailer_section *s, int64_t rank, int way, int kind)
{
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "kind", 0, ways[way]);
	section_set_text(s, "direction", 0, kind == IO_READ ? "read" : "write");
}

static int add_sizes(struct assembly *a, struct store_reader *i, int way, int kind)
{
	struct trailer_section *s = &a->section[ASSEMBLY_MPIIO_SIZES];
	struct state_sizes sum = store_reader_sizes(i, way, kind);
	for (int c = 0; c < STATE_SIZES; c++) {
		if (!sum.count[c])
			continue;
		set_way(s, i->rank, way, kind);
		section_set_text(s, "size", 0, schema_size_names[c]);
		section_set_i64(s, "count", 0, sum.count[c]);
		section_set_i64(s, "bytes", 0, sum.bytes[c]);
	}
	return s->failed;
}

static int add_completion(struct assembly *a, struct store_reader *i, int way, int kind)
{
	struct trailer_section *s = &a->section[ASSEMBLY_MPIIO_COMPLETIONS];
	struct state_completion sum = store_reader_completion(i, way, kind);
	if (!sum.count)
		return 0;
	set_way(s, i->rank, way, kind);
	section_set_i64(s, "count", 0, sum.count);
	section_set_i64(s, "errors", 0, sum.errors);
	section_set_i64(s, "bytes", 0, sum.bytes);
	assembly_set_duration(s, "wait_time", sum.wait);
	return assembly_set_duration(s, "span_time", sum.span);
}

static int add_mpiio(struct assembly *a, struct store_reader *i)
{
	int code = 0;
	for (int way = 0; code >= 0 && way < ACCESS_MODE_COUNT; way++) {
		for (int kind = 0; code >= 0 && kind < 2; kind++) {
			code = add_sizes(a, i, way, kind);
			code = code < 0 ? code : add_completion(a, i, way, kind);
		}
	}
	return code;
}

/* ---- MPI calls that the records have no counters for ---- */

static int add_communication(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_COMMUNICATION];
	for (int c = 0; i->communicating && c < STATE_CALL_COUNT; c++) {
		struct state_call sum = store_reader_call(i, c);
		if (!sum.count || written_calls[c].counters)
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "kind", 0, written_calls[c].kind);
		section_set_text(s, "call", 0, written_calls[c].name);
		section_set_i64(s, "count", 0, sum.count);
		section_set_i64(s, "bytes", 0, sum.bytes);
		assembly_set_duration(s, "time", sum.time);
		assembly_set_duration(s, "shortest", sum.shortest);
		assembly_set_duration(s, "longest", sum.longest);
	}
	return s->failed;
}

/* ---- locks ---- */

static int add_locks(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_LOCKS];
	for (const struct state_locks *l = i->state->locks; l < i->state->locks + STATE_LOCKED; l++) {
		const char *name = l->file ? log_name(i->log, l->file) : "";
		if (!(l->shared || l->exclusive || l->released || l->refused))
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "file", 0, name ? name : "");
		section_set_i64(s, "shared", 0, l->shared);
		section_set_i64(s, "exclusive", 0, l->exclusive);
		section_set_i64(s, "released", 0, l->released);
		section_set_i64(s, "refused", 0, l->refused);
		assembly_set_duration(s, "wait_time", l->wait);
		assembly_set_duration(s, "longest", l->longest);
	}
	return s->failed;
}

/* ---- timeline ---- */

static void set_segment(struct trailer_section *s, const struct state_segment *segment, double left[IO_OPS])
{
	static const char *const kinds[IO_OPS] = {"read", "write", "meta"};
	double start = precise_moment(segment->start), end = precise_moment(segment->end);
	double room = (end - start) / PRECISION_UNIT;
	section_set_f64(s, "start", 0, start);
	section_set_f64(s, "end", 0, end);
	for (int kind = 0; kind < IO_OPS; kind++)
		section_set_f64(s, kinds[kind], 0, precise_share(segment->busy[kind], &left[kind], &room));
}

static void add_segment(struct assembly *a, int64_t rank, int thread, const struct state_segment *segment, double *left)
{
	struct trailer_section *s = &a->section[ASSEMBLY_TIMELINE];
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_i64(s, "thread", 0, thread);
	set_segment(s, segment, left);
}

/* A rank's stretches that are less than a point in a picture of all ranks are one: what was busy in them stays. */
enum { TIMELINE_GAPS = 512, TIMELINE_POINTS = 32, TIMELINE_LEAST = 8, TIMELINE_ROWS = 1024 };

/* Of a job that ends at once, a picture has points of a millisecond. */
static const double shortest_gap = 0x1p-13, shortest_point = 0x1p-10;

static double point_of(const struct assembly *a)
{
	int64_t points = TIMELINE_ROWS / a->part->nprocs;
	points = points > TIMELINE_POINTS ? TIMELINE_POINTS : points < TIMELINE_LEAST ? TIMELINE_LEAST : points;
	double point = a->end / (double)points;
	return point > shortest_point ? point : shortest_point;
}

static double gap_of(const struct assembly *a)
{
	double gap = a->end / TIMELINE_GAPS;
	return gap > shortest_gap ? gap : shortest_gap;
}

static bool joins(const struct assembly *a, struct state_segment *all, const struct state_segment *next)
{
	if (!a->part->mpi || !(next->start - all->end < gap_of(a)))
		return false;
	if (!(next->end - all->start < point_of(a)))
		return false;
	all->end = next->end > all->end ? next->end : all->end;
	for (int kind = 0; kind < IO_OPS; kind++)
		all->busy[kind] += next->busy[kind];
	return true;
}

static int add_timeline(struct assembly *a, struct store_reader *i)
{
	for (int t = 0; t < (int)i->shards; t++) {
		const struct state_timeline *line = &i->state->shard[t].timeline;
		struct state_segment all = line->segment[0];
		double left[IO_OPS] = {0};
		for (uint32_t k = 1; k < line->used && k < STATE_SEGMENTS; k++) {
			if (joins(a, &all, &line->segment[k]))
				continue;
			add_segment(a, i->rank, t, &all, left);
			all = line->segment[k];
		}
		if (line->used)
			add_segment(a, i->rank, t, &all, left);
	}
	return a->section[ASSEMBLY_TIMELINE].failed;
}

/* ---- the process ---- */

static int set_times(struct trailer_section *s, struct store_reader *i)
{
	struct interval_union o = {0};
	int code = store_reader_busy(i, &o);
	assembly_set_duration(s, "io_time", o.total);
	assembly_set_duration(s, "read_time", o.by_op[IO_READ]);
	assembly_set_duration(s, "write_time", o.by_op[IO_WRITE]);
	assembly_set_duration(s, "meta_time", o.by_op[IO_META]);
	return code;
}

/* Text from a store may lack its NUL. */
static void set_text(struct trailer_section *s, const char *field, const char *text, size_t room)
{
	char copy[512];
	room = room < sizeof copy ? room : sizeof copy;
	memcpy(copy, text, room);
	copy[room - 1] = '\0';
	section_set_text(s, field, 0, copy);
}

static int add_process(struct assembly *a, struct store_reader *i, const int64_t seen[2])
{
	struct trailer_section *s = &a->section[ASSEMBLY_PROCESS];
	const struct state_process *p = &i->state->process;
	const struct log_job *job;
	int code = log_job(i->log, &job, &a->err);
	if (code < 0)
		return code;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_i64(s, "pid", 0, p->pid);
	section_set_i64(s, "parent", 0, p->parent);
	section_set_i64(s, "forked", 0, p->forked);
	set_text(s, "host", p->host, sizeof p->host);
	set_text(s, "exe", p->exe, sizeof p->exe);
	section_set_text(s, "command", 0, job->exe);
	set_text(s, "directory", p->directory, sizeof p->directory);
	set_life(s, "start", p->start, "end", p->end_reason ? p->end : store_reader_last(i));
	struct assembly_end end = assembly_end_of(a, p);
	section_set_text(s, "ended", 0, end.how);
	section_set_i64(s, "signal", 0, end.signal);
	section_set_i64(s, "exit_code", 0, end.exit_code);
	section_set_i64(s, "threads", 0, store_reader_threads(i));
	section_set_i64(s, "nested_calls", 0, store_reader_operation(i, STATE_OP_IOLENS_NESTED).count);
	section_set_i64(s, "folded_opens", 0, overflow_opens(&i->state->overflow));
	section_set_i64(s, "budget", 0, p->budget);
	section_set_f64(s, "start_cost", 0, precise_cost(p->init_time));
	set_text(s, "mpi", p->mpi, sizeof p->mpi);
	set_life(s, "mpi_start", p->mpi_start, "mpi_end", p->mpi_end);
	assembly_set_kernel(a, i, seen);
	return set_times(s, i);
}

/* What tables a store adds rows to, but for those that also need what the kernel has seen. */
static int (*const adders[])(struct assembly *a, struct store_reader *i) = {add_classes,
									    add_operations,
									    add_mpiio,
									    add_locks,
									    assembly_add_async,
									    add_communication,
									    assembly_add_folded,
									    assembly_add_unobserved,
									    assembly_add_unrecorded,
									    assembly_add_phases,
									    assembly_add_observer,
									    assembly_add_sites,
									    assembly_add_sampled_times,
									    assembly_add_platform,
									    add_timeline};

int assembly_sections_add(struct assembly *a, struct store_reader *i)
{
	int64_t seen[2];
	int code = assembly_seen(a->source, i, seen, &a->err);
	if (code >= 0)
		code = add_process(a, i, seen);
	for (int slot = 0; code >= 0 && slot < WRITTEN_COUNT; slot++)
		code = add_total(a, i, written_modules[slot].module);
	if (code >= 0)
		code = assembly_add_moved(a, i, seen);
	for (size_t n = 0; code >= 0 && n < sizeof adders / sizeof *adders; n++)
		code = adders[n](a, i);
	return code;
}

static void add_environment(struct assembly *a, const char *name, const char *value)
{
	struct trailer_section *s = &a->section[ASSEMBLY_ENVIRONMENT];
	section_row(s);
	section_set_text(s, "name", 0, name);
	section_set_text(s, "value", 0, value);
}

static void describe_environment(struct assembly *a, int64_t lost)
{
	struct utsname u;
	char number[32];
	add_environment(a, "iolens", IOLENS_VERSION);
	if (uname(&u) == 0) {
		add_environment(a, "system", u.sysname);
		add_environment(a, "kernel", u.release);
		add_environment(a, "machine", u.machine);
	}
	snprintf(number, sizeof number, "%lld", (long long)lost);
	add_environment(a, "unreadable_stores", number);
	if (a->job->own)
		add_environment(a, "written_by", "process");
}

static void add_phases(struct assembly *a, const struct assemble_phase *phases, size_t n)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASE];
	for (size_t p = 0; p < n && phases[p].name; p++) {
		section_row(s);
		section_set_text(s, "name", 0, phases[p].name);
		assembly_set_duration(s, "time", phases[p].seconds);
	}
}

int assembly_sections_write(struct assembly *a)
{
	int code = assembly_add_missing(a);
	return code < 0 ? code : assembly_sections_end(a, (int64_t)(a->lost.used / sizeof(struct assembly_lost)));
}

int assembly_sections_end(struct assembly *a, int64_t lost)
{
	int code = assembly_end_platform(a);
	if (code >= 0)
		code = assembly_end_sites(a);
	if (code >= 0)
		code = assembly_add_targets(a);
	if (code >= 0)
		code = assembly_drop_mounts(a);
	describe_environment(a, lost);
	add_phases(a, a->job->phases, a->job->nphases);
	add_phases(a, a->phase, ASSEMBLY_PHASES);
	for (int s = 0; code >= 0 && s < ASSEMBLY_SECTIONS; s++) {
		if (s < ASSEMBLY_OF_RANKS)
			code = encoded_table_write(&a->encoded[s], a->section[s].name, a->writer);
		if (code >= 0 && a->section[s].nrows)
			code = log_write_section(a->writer, &a->section[s]);
	}
	return code;
}

void assembly_free(struct assembly *a)
{
	for (int s = 0; s < ASSEMBLY_SECTIONS; s++)
		section_free(&a->section[s]);
	for (int s = 0; s < ASSEMBLY_OF_RANKS; s++)
		encoded_table_free(&a->encoded[s]);
	id_set_free(&a->told);
	text_index_free(&a->programs);
	log_free(a->linked);
	a->linked = NULL; /* the next part begins anew */
	id_set_free(&a->names);
	log_bytes_free(&a->piece);
	log_bytes_free(&a->paths);
}
