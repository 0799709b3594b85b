/* The extension trailer of a job's log: what the stores hold beside Darshan's records. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "assembly.h"
#include "precision.h"
#include "reduce.h"

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
		"nested_calls i64\nfolded_opens i64\nbudget i64 byte\nstart_cost f64 s\n"
			    "mpi str\nmpi_start f64 s\nmpi_end f64 s\n"},
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
	[ASSEMBLY_TIMELINE] = {"timeline",
		"rank i64\nthread i64\nstart f64 s\nend f64 s\nread f64 s\nwrite f64 s\nmeta f64 s\n"},
	[ASSEMBLY_FOLDED] = {"folded",
		"rank i64\nopens i64\nfiles i64\nbudget i64 byte\nsufficient_budget i64 byte\n"},
	[ASSEMBLY_FOLDED_DIRECTORY] = {"folded_directory", "rank i64\ndirectory str\nopens i64\nsurplus i64\n"},
	[ASSEMBLY_UNOBSERVED] = {"unobserved", "rank i64\nprogram str\nreason str\ncount i64\n"},
	[ASSEMBLY_PHASE] = {"phase", "name str\ntime f64 s\n"},
	[ASSEMBLY_ENVIRONMENT] = {"environment", "name str\nvalue str\n"},
	/* clang-format on */
};

static int set_moment(struct trailer_section *s, const char *field, double seconds)
{
	return section_set_f64(s, field, 0, precise_moment(seconds));
}

static int set_duration(struct trailer_section *s, const char *field, double seconds)
{
	return section_set_f64(s, field, 0, precise_duration(seconds));
}

int assembly_sections_begin(struct assembly *a)
{
	int code = 0;
	for (int s = 0; code >= 0 && s < ASSEMBLY_SECTIONS; s++)
		code = section_begin(&a->section[s], sections[s].name, sections[s].schema);
	return code;
}

/* ---- totals ---- */

/* Where the records have been gone through already, or packed, their sums are known. */
static int sum_records(struct assembly_source *s, struct image *i, int module, struct log_error *err)
{
	struct log_records *records;
	struct log_record r;
	enum pack_part part = pack_part_of(module);
	if (s->counted[part])
		return 0;
	int code = log_records_open(&records, i->log, module, err);
	if (code < 0)
		return code;
	s->totals[part] = (struct pack_totals){0};
	while ((code = log_records_next(records, &r, err)) > 0)
		if (!pack_unused(module, &r))
			pack_total_add(&s->totals[part], &r);
	log_records_close(records);
	s->counted[part] = code >= 0;
	return code;
}

static int add_total(struct assembly *a, struct image *i, int module)
{
	struct trailer_section *s = &a->section[ASSEMBLY_TOTAL];
	int code = sum_records(a->source, i, module, &a->err);
	struct pack_totals t = a->source->totals[pack_part_of(module)];
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
	set_duration(s, "read_time", t.read_time);
	set_duration(s, "write_time", t.write_time);
	return set_duration(s, "meta_time", t.meta_time);
}

int assembly_has_files(struct image *i, struct log_error *err)
{
	static const int modules[] = {LOG_MOD_POSIX, LOG_MOD_MPIIO, LOG_MOD_STDIO};
	int code = 0;
	for (size_t m = 0; !code && m < sizeof modules / sizeof *modules; m++) {
		struct log_records *records;
		struct log_record r;
		if ((code = log_records_open(&records, i->log, modules[m], err)) < 0)
			return code;
		while ((code = log_records_next(records, &r, err)) > 0)
			if (!pack_unused(modules[m], &r) && !pack_standard_stream(r.id))
				break;
		log_records_close(records);
	}
	return code;
}

int assembly_seen(struct assembly_source *s, struct image *i, int64_t seen[2], struct log_error *err)
{
	static const int modules[] = {LOG_MOD_POSIX, LOG_MOD_STDIO};
	int code = 0;
	seen[LIVE_READ] = seen[LIVE_WRITE] = 0;
	for (size_t m = 0; code >= 0 && m < sizeof modules / sizeof *modules; m++) {
		const struct pack_totals *t = &s->totals[pack_part_of(modules[m])];
		code = sum_records(s, i, modules[m], err);
		seen[LIVE_READ] += t->bytes_read;
		seen[LIVE_WRITE] += t->bytes_written;
	}
	for (int c = 1; c < LIVE_CLASS_COUNT; c++)
		for (int k = 0; k < 2; k++)
			seen[k] += image_class(i, c).bytes[k];
	return code;
}

/* ---- classes and operations ---- */

static const struct {
	const char *name, *description;
} classes[] = {
	/* clang-format off */
	[0] = {"none", ""},
#define CLASS(id, text, what) {text, what},
	LIVE_CLASSES(CLASS)
	/* clang-format on */
};

static int add_classes(struct assembly *a, struct image *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_EXCLUDED];
	for (int c = 1; c < LIVE_CLASS_COUNT; c++) {
		struct live_class sum = image_class(i, c);
		if (!sum.opens && !sum.calls[LIVE_READ] && !sum.calls[LIVE_WRITE])
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "class", 0, classes[c].name);
		section_set_text(s, "description", 0, classes[c].description);
		section_set_i64(s, "opens", 0, sum.opens);
		section_set_i64(s, "reads", 0, sum.calls[LIVE_READ]);
		section_set_i64(s, "writes", 0, sum.calls[LIVE_WRITE]);
		section_set_i64(s, "bytes_read", 0, sum.bytes[LIVE_READ]);
		section_set_i64(s, "bytes_written", 0, sum.bytes[LIVE_WRITE]);
	}
	return s->failed;
}

static const struct {
	const char *interface, *name;
} operations[] = {
/* clang-format off */
#define OPERATION(id, interface, name) {interface, name},
	LIVE_OPERATIONS(OPERATION)
	/* clang-format on */
};

static int add_operations(struct assembly *a, struct image *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_OPERATION];
	for (int o = 0; o < LIVE_OP_COUNT; o++) {
		struct live_operation sum = image_operation(i, o);
		if (!sum.count || o == LIVE_OP_NESTED)
			continue;
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "interface", 0, operations[o].interface);
		section_set_text(s, "name", 0, operations[o].name);
		section_set_i64(s, "count", 0, sum.count);
		section_set_i64(s, "errors", 0, sum.errors);
		section_set_i64(s, "bytes", 0, sum.bytes);
		set_duration(s, "time", sum.time);
	}
	return s->failed;
}

/* ---- MPI-IO ---- */

static const char *const ways[] = {
/* clang-format off */
#define WAY(id, name) name,
	LIVE_WAYS(WAY)
	/* clang-format on */
};

static void set_way(struct trailer_section *s, int64_t rank, int way, int kind)
{
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "kind", 0, ways[way]);
	section_set_text(s, "direction", 0, kind == LIVE_READ ? "read" : "write");
}

static int add_sizes(struct assembly *a, struct image *i, int way, int kind)
{
	struct trailer_section *s = &a->section[ASSEMBLY_MPIIO_SIZES];
	struct live_sizes sum = image_sizes(i, way, kind);
	for (int c = 0; c < LIVE_SIZES; c++) {
		if (!sum.count[c])
			continue;
		set_way(s, i->rank, way, kind);
		section_set_text(s, "size", 0, schema_size_names[c]);
		section_set_i64(s, "count", 0, sum.count[c]);
		section_set_i64(s, "bytes", 0, sum.bytes[c]);
	}
	return s->failed;
}

static int add_completion(struct assembly *a, struct image *i, int way, int kind)
{
	struct trailer_section *s = &a->section[ASSEMBLY_MPIIO_COMPLETIONS];
	struct live_completion sum = image_completion(i, way, kind);
	if (!sum.count)
		return 0;
	set_way(s, i->rank, way, kind);
	section_set_i64(s, "count", 0, sum.count);
	section_set_i64(s, "errors", 0, sum.errors);
	section_set_i64(s, "bytes", 0, sum.bytes);
	set_duration(s, "wait_time", sum.wait);
	return set_duration(s, "span_time", sum.span);
}

static int add_mpiio(struct assembly *a, struct image *i)
{
	int code = 0;
	for (int way = 0; code >= 0 && way < LIVE_WAY_COUNT; way++) {
		for (int kind = 0; code >= 0 && kind < 2; kind++) {
			code = add_sizes(a, i, way, kind);
			code = code < 0 ? code : add_completion(a, i, way, kind);
		}
	}
	return code;
}

/* ---- timeline ---- */

static void set_segment(struct trailer_section *s, const struct live_segment *segment, double left[LIVE_KINDS])
{
	static const char *const kinds[LIVE_KINDS] = {"read", "write", "meta"};
	double start = precise_moment(segment->start), end = precise_moment(segment->end);
	double room = (end - start) / PRECISION_UNIT;
	section_set_f64(s, "start", 0, start);
	section_set_f64(s, "end", 0, end);
	for (int kind = 0; kind < LIVE_KINDS; kind++)
		section_set_f64(s, kinds[kind], 0, precise_share(segment->busy[kind], &left[kind], &room));
}

static int add_timeline(struct assembly *a, struct image *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_TIMELINE];
	for (int t = 0; t < (int)i->shards; t++) {
		const struct live_timeline *line = &i->live->shard[t].timeline;
		double left[LIVE_KINDS] = {0};
		for (uint32_t k = 0; k < line->used && k < LIVE_SEGMENTS; k++) {
			section_row(s);
			section_set_i64(s, "rank", 0, i->rank);
			section_set_i64(s, "thread", 0, t);
			set_segment(s, &line->segment[k], left);
		}
	}
	return s->failed;
}

/* ---- the process ---- */

struct children {
	int64_t sum;     /* of what those moved that moved less than some limit */
	int64_t largest; /* of them */
	int64_t fitting; /* the smallest of them that is at least as large as the excess, 0 = none */
};

static struct children children_below(const struct assembly *a, const struct live_process *p, int kind, int64_t limit,
				      int64_t excess)
{
	struct children found = {0};
	for (size_t n = 0; n < a->nsources; n++) {
		const struct assembly_source *c = &a->sources[n];
		int64_t moved = c->moved[kind];
		if (!c->last || c->host != a->source->host || c->parent != p->pid || c->start < p->start ||
		    c->end > p->end || moved >= limit)
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
 * room for, some child was not waited for: most likely the one without which the sum fits best.
 */
static int64_t moved_by_children(const struct assembly *a, const struct live_process *p, int kind, int64_t most)
{
	int64_t limit = INT64_MAX;
	for (;;) {
		struct children c = children_below(a, p, kind, limit, 0);
		if (c.sum <= most || c.sum <= 0)
			return c.sum;
		int64_t fitting = children_below(a, p, kind, limit, c.sum - most).fitting;
		if (fitting)
			return c.sum - fitting;
		limit = c.largest;
	}
}

static void set_kernel(const struct assembly *a, struct trailer_section *s, const struct live_process *p,
		       const int64_t seen[2])
{
	static const char *const fields[2][4] = {
		{"kernel_read", "storage_read", "seen_read", "unseen_read"},
		{"kernel_written", "storage_written", "seen_written", "unseen_written"},
	};
	bool known = p->kernel_at_end[LIVE_IO_READS] > 0;
	for (int k = 0; k < 2; k++) {
		int64_t moved = p->kernel_at_end[LIVE_IO_READ + k] - p->kernel_at_start[LIVE_IO_READ + k];
		moved -= moved_by_children(a, p, k, moved - seen[k]);
		int64_t stored =
			p->kernel_at_end[LIVE_IO_STORAGE_READ + k] - p->kernel_at_start[LIVE_IO_STORAGE_READ + k];
		int64_t unseen = moved > seen[k] ? moved - seen[k] : 0;
		section_set_i64(s, fields[k][0], 0, known ? moved : -1);
		section_set_i64(s, fields[k][1], 0, known ? stored : -1);
		section_set_i64(s, fields[k][2], 0, seen[k]);
		section_set_i64(s, fields[k][3], 0, known ? unseen : -1);
	}
}

static int set_times(struct trailer_section *s, struct image *i)
{
	struct occupancy o = {0};
	int code = image_occupancy(i, &o);
	set_duration(s, "io_time", o.total);
	set_duration(s, "read_time", o.by_kind[LIVE_READ]);
	set_duration(s, "write_time", o.by_kind[LIVE_WRITE]);
	set_duration(s, "meta_time", o.by_kind[LIVE_META]);
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

static int add_process(struct assembly *a, struct image *i, const int64_t seen[2])
{
	struct trailer_section *s = &a->section[ASSEMBLY_PROCESS];
	const struct live_process *p = &i->live->process;
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
	set_moment(s, "start", p->start);
	set_moment(s, "end", p->end_reason ? p->end : image_last(i));
	struct assembly_end end = assembly_end_of(a, p);
	section_set_text(s, "ended", 0, end.how);
	section_set_i64(s, "signal", 0, end.signal);
	section_set_i64(s, "exit_code", 0, end.exit_code);
	section_set_i64(s, "threads", 0, image_threads(i));
	section_set_i64(s, "nested_calls", 0, image_operation(i, LIVE_OP_NESTED).count);
	section_set_i64(s, "folded_opens", 0, i->live->fold.opens);
	section_set_i64(s, "budget", 0, p->budget);
	set_moment(s, "start_cost", p->init_time);
	set_text(s, "mpi", p->mpi, sizeof p->mpi);
	set_moment(s, "mpi_start", p->mpi_start);
	set_moment(s, "mpi_end", p->mpi_end);
	set_kernel(a, s, p, seen);
	return set_times(s, i);
}

/* What the files beyond the budget would have taken: a POSIX record and a name each. */
static int64_t sufficient_budget(const struct live *live)
{
	const struct live_fold *f = &live->fold;
	int64_t name = f->name_bytes / f->opens + 9;
	return live->process.budget + live_fold_files(f) * ((int64_t)sizeof(struct posix_record) + name);
}

static int add_folded(struct assembly *a, const struct image *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_FOLDED], *d = &a->section[ASSEMBLY_FOLDED_DIRECTORY];
	const struct live_fold *f = &i->live->fold;
	if (f->opens <= 0)
		return 0;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_i64(s, "opens", 0, f->opens);
	section_set_i64(s, "files", 0, live_fold_files(f));
	section_set_i64(s, "budget", 0, i->live->process.budget);
	section_set_i64(s, "sufficient_budget", 0, sufficient_budget(i->live));
	for (int n = 0; n < FOLD_DIRECTORIES && f->directory[n].opens; n++) {
		section_row(d);
		section_set_i64(d, "rank", 0, i->rank);
		set_text(d, "directory", f->directory[n].text, FOLD_DIRECTORY_TEXT);
		section_set_i64(d, "opens", 0, f->directory[n].opens);
		section_set_i64(d, "surplus", 0, f->directory[n].surplus);
	}
	return s->failed ? s->failed : d->failed;
}

int assembly_sections_add(struct assembly *a, struct image *i)
{
	int64_t seen[2];
	int code = assembly_seen(a->source, i, seen, &a->err);
	if (code >= 0)
		code = add_process(a, i, seen);
	if (code >= 0)
		code = add_total(a, i, LOG_MOD_POSIX);
	if (code >= 0)
		code = add_total(a, i, LOG_MOD_STDIO);
	if (code >= 0)
		code = add_total(a, i, LOG_MOD_MPIIO);
	if (code >= 0)
		code = add_classes(a, i);
	if (code >= 0)
		code = add_operations(a, i);
	if (code >= 0)
		code = add_mpiio(a, i);
	if (code >= 0)
		code = add_folded(a, i);
	if (code >= 0)
		code = assembly_add_unobserved(a, i);
	return code < 0 ? code : add_timeline(a, i);
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
}

static void add_phases(struct assembly *a, const struct assemble_phase *phases, size_t n)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PHASE];
	for (size_t p = 0; p < n && phases[p].name; p++) {
		section_row(s);
		section_set_text(s, "name", 0, phases[p].name);
		set_duration(s, "time", phases[p].seconds);
	}
}

int assembly_sections_write(struct assembly *a)
{
	int code = assembly_add_missing(a);
	return code < 0 ? code : assembly_sections_end(a, (int64_t)(a->lost.used / sizeof(struct assembly_lost)));
}

int assembly_sections_end(struct assembly *a, int64_t lost)
{
	int code = 0;
	describe_environment(a, lost);
	add_phases(a, a->job->phases, a->job->nphases);
	add_phases(a, a->phase, ASSEMBLY_PHASES);
	for (int s = 0; code >= 0 && s < ASSEMBLY_SECTIONS; s++)
		if (a->section[s].nrows)
			code = log_write_section(a->writer, &a->section[s]);
	return code;
}

void assembly_free(struct assembly *a)
{
	for (int s = 0; s < ASSEMBLY_SECTIONS; s++)
		section_free(&a->section[s]);
	id_set_free(&a->names);
	log_bytes_free(&a->piece);
}
