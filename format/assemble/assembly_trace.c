/* Traces: what processes' stores have of accesses, as Darshan's segments in regions and as columns behind them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "accesses.h"
#include "assembly.h"
#include "descriptor.h"
#include "trace_reader.h"
#include "upgrade.h"

int assembly_trace_of(int module)
{
	for (int n = 0; n < TRACE_COUNT; n++)
		if (written_traces[n].module == module)
			return n;
	return -1;
}

static int count_segments(const struct traces *t, size_t file, int64_t count[2], struct log_error *err)
{
	struct trace_reader r;
	struct trace_access access;
	int code;
	count[IO_READ] = count[IO_WRITE] = 0;
	trace_begin(&r, t, file);
	while ((code = trace_next(&r, &access, err)) > 0)
		count[access.op]++;
	return code;
}

/* Of one kind, in order of completion: at most `left`, as the head says. */
static int write_segments(struct assembly *a, const struct traces *t, size_t file, int kind)
{
	enum { AT_ONCE = 256 };
	struct newest_segment out[AT_ONCE];
	struct trace_reader r;
	struct trace_access access;
	size_t n = 0;
	int code;
	trace_begin(&r, t, file);
	while ((code = trace_next(&r, &access, &a->err)) > 0) {
		if (access.op != kind)
			continue;
		out[n++] = (struct newest_segment){access.offset, access.length, access.start, access.end};
		if (n == AT_ONCE && (code = log_write_record(a->writer, out, sizeof out)) < 0)
			return code;
		n %= AT_ONCE;
	}
	return code < 0 || !n ? code : log_write_record(a->writer, out, n * sizeof *out);
}

static int write_file(struct assembly *a, const struct store_reader *i, const struct traces *t, size_t file)
{
	int64_t count[2];
	int code = count_segments(t, file, count, &a->err);
	if (code < 0 || !(count[IO_READ] + count[IO_WRITE]))
		return code;
	struct dxt_posix_record head = {
		.id = t->files[file].id, .rank = i->rank, .writes = count[IO_WRITE], .reads = count[IO_READ]};
	memcpy(head.hostname, i->state->process.host, sizeof head.hostname);
	code = log_write_record(a->writer, &head, sizeof head);
	if (code >= 0)
		code = write_segments(a, t, file, IO_WRITE);
	return code < 0 ? code : write_segments(a, t, file, IO_READ);
}

/* ---- files whose accesses are not what was looked for: by the process's own record of them ---- */

static bool below(int64_t some, int64_t all, double share)
{
	return all > 0 && (double)some < share * (double)all;
}

static bool is_wanted(const struct posix_record *r, const struct state_trace *t)
{
	enum { SMALL = 3 }; /* classes up to 10 KiB */
	int64_t all = r->reads + r->writes, small = 0;
	for (int class = 0; class < SMALL; class ++)
		small += r->size_read[class] + r->size_write[class];
	return !below(small, all, t->small) && !below(r->file_not_aligned, all, t->unaligned);
}

static int find_unwanted(struct assembly *a, struct store_reader *i, struct id_set *unwanted)
{
	struct log_records *records;
	struct log_record r;
	const struct state_trace *t = &i->state->trace;
	if (!(t->small > 0) && !(t->unaligned > 0))
		return 0;
	int code = log_records_open(&records, i->log, LOG_MOD_POSIX, &a->err);
	while (code >= 0 && (code = log_records_next(records, &r, &a->err)) > 0)
		if (!is_wanted(r.data, t))
			code = id_set_add(unwanted, r.id);
	log_records_close(records);
	return code;
}

typedef int write_file_as(struct assembly *a, const struct store_reader *i, const struct traces *t, size_t file);

static int write_wanted(struct assembly *a, struct store_reader *i, const struct traces *t,
			const struct id_set *unwanted, write_file_as *write)
{
	int interface = assembly_trace_of(a->module), code = 0;
	for (size_t n = 0; code >= 0 && n < t->nfiles; n++)
		if ((int)t->files[n].interface == interface && !id_set_has(unwanted, t->files[n].id))
			code = write(a, i, t, n);
	return code;
}

static int write_traces(struct assembly *a, struct store_reader *i, write_file_as *write)
{
	int interface = assembly_trace_of(a->module);
	struct id_set unwanted = {0};
	struct traces traces;
	if (i->rank < 0 || !i->state->trace.used)
		return 0;
	int code = find_unwanted(a, i, &unwanted);
	if (code >= 0 && (code = traces_open_image(&traces, i, &a->err)) >= 0) {
		code = write_wanted(a, i, &traces, &unwanted, write);
		traces_close(&traces);
	}
	id_set_free(&unwanted);
	if (code >= 0 && i->state->trace.dropped[interface])
		code = log_write_partial(a->writer, a->module);
	return code;
}

/* What the rank has done ahead is in a->piece, or the trace is to be read. 1, 0 or a negative code. */
static int take_ahead(struct assembly *a, enum traces_ahead_part part)
{
	char path[4096 + sizeof TRACES_AHEAD_SUFFIX];
	const struct traces_ahead *t = a->source->ahead;
	if (!t)
		return 0;
	assembly_name_file(a, a->source, path, sizeof path - sizeof TRACES_AHEAD_SUFFIX);
	strcat(path, TRACES_AHEAD_SUFFIX);
	int code = traces_ahead_read(t, path, part, assembly_trace_of(a->module), &a->piece);
	if (code < 0)
		return log_fail(&a->err, code, LOG_NOWHERE, "what a rank has compressed of its trace cannot be read");
	if (t->missing >> a->module & 1)
		log_write_partial(a->writer, a->module);
	return 1;
}

static int write_segments_of(struct assembly *a, struct store_reader *i)
{
	if (i->rank < 0 || !a->source->segments)
		return 0;
	int ahead = take_ahead(a, TRACES_AHEAD_SEGMENTS);
	if (ahead > 0)
		return log_write_precompressed(a->writer, a->piece.at, a->piece.used);
	return ahead < 0 ? ahead : write_traces(a, i, write_file);
}

static bool any_traced(const struct assembly *a, bool segments)
{
	for (size_t n = 0; n < a->part->nmembers; n++) {
		const struct assembly_source *s = &a->sources[a->part->members[n].source];
		if (segments ? s->segments : s->traced)
			return true;
	}
	return false;
}

int assembly_write_trace(struct assembly *a)
{
	if (a->module >= LOG_OWN_MODULES || !any_traced(a, true))
		return 0;
	int code = log_write_module(a->writer, a->module, written_traces[assembly_trace_of(a->module)].version);
	return code < 0 ? code : assembly_each(a, ASSEMBLY_ALL_STATES, write_segments_of);
}

/* ---- behind the regions ---- */

static int add_access(struct assembly *a, const struct trace_access *t)
{
	enum access_kind kind = t->op == IO_WRITE ? ACCESS_WRITES : ACCESS_READS;
	return access_add(a->accesses, kind,
			  &(struct logged_access){t->offset, t->length, (int64_t)(t->start * ACCESS_RATE),
						  (int64_t)(t->end * ACCESS_RATE), (uint64_t)t->thread + 1});
}

static int write_accesses(struct assembly *a, const struct store_reader *i, const struct traces *t, size_t file)
{
	struct access_head head = {.id = t->files[file].id, .rank = i->rank};
	struct trace_reader r;
	struct trace_access access;
	int code;
	memcpy(head.host, i->state->process.host, ACCESS_HOST);
	trace_begin(&r, t, file);
	while ((code = trace_next(&r, &access, &a->err)) > 0 && (code = add_access(a, &access)) >= 0)
		;
	a->piece.used = 0;
	code = code < 0 ? code : access_end(a->accesses, &head, &a->piece);
	if (code < 0)
		access_forget(a->accesses);
	return code < 0 ? code : log_write_bytes(a->writer, a->piece.at, a->piece.used);
}

static int write_accesses_of(struct assembly *a, struct store_reader *i)
{
	int ahead = i->rank < 0 ? 0 : take_ahead(a, TRACES_AHEAD_ACCESSES);
	if (ahead > 0)
		return log_write_bytes(a->writer, a->piece.at, a->piece.used);
	return ahead < 0 ? ahead : write_traces(a, i, write_accesses);
}

static int begin_accesses(struct assembly *a)
{
	a->accesses = access_writer_make();
	return a->accesses ? 0 : log_fail(&a->err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
}

static void end_accesses(struct assembly *a)
{
	access_writer_free(a->accesses);
	a->accesses = NULL;
}

int assembly_write_accesses(struct assembly *a)
{
	int code = any_traced(a, false) ? begin_accesses(a) : 0;
	for (int n = 0; code >= 0 && a->accesses && n < TRACE_COUNT; n++) {
		a->module = written_traces[n].module;
		code = log_write_accesses(a->writer, a->module);
		code = code < 0 ? code : assembly_each(a, ASSEMBLY_ALL_STATES, write_accesses_of);
	}
	end_accesses(a);
	return code;
}

/* ---- one rank's ahead: a log of its trace alone, whose regions are taken ---- */

/* Both of one image, of all interfaces. */
static int write_alone(struct assembly *a, struct store_reader *i)
{
	int code = begin_accesses(a);
	for (int n = 0; code >= 0 && n < TRACE_COUNT && written_traces[n].module < LOG_OWN_MODULES; n++) {
		a->module = written_traces[n].module;
		code = log_write_module(a->writer, a->module, written_traces[n].version);
		code = code < 0 ? code : write_segments_of(a, i);
	}
	for (int n = 0; code >= 0 && n < TRACE_COUNT; n++) {
		a->module = written_traces[n].module;
		code = log_write_accesses(a->writer, a->module);
		code = code < 0 ? code : write_accesses_of(a, i);
	}
	end_accesses(a);
	return code;
}

static int write_alone_log(struct assembly *a, struct store_reader *i)
{
	const struct log_job_text nothing = {.nprocs = 1, .lib_ver = "", .exe = ""};
	log_write_job(a->writer, &nothing);
	int code = write_alone(a, i);
	return code < 0 ? code : log_writer_finish(a->writer, &a->err);
}

static void keep_region(struct traces_ahead *t, enum traces_ahead_part part, int interface, const struct log_region *r)
{
	t->part[part][interface].offset = sizeof *t + r->offset;
	t->part[part][interface].stored = r->length;
}

static int find_ahead_regions(struct traces_ahead *t, struct assembly *a)
{
	struct log *log;
	size_t size;
	const void *data = log_writer_data(a->writer, &size);
	int code = log_open_memory(&log, data, size, &a->err);
	if (code < 0)
		return code;
	for (int n = 0; n < TRACE_COUNT; n++) {
		int module = written_traces[n].module;
		struct log_region accesses = log_writer_accesses(a->writer, module);
		keep_region(t, TRACES_AHEAD_SEGMENTS, n, &log_container(log)->module[module]);
		keep_region(t, TRACES_AHEAD_ACCESSES, n, &accesses);
	}
	t->missing = log_writer_partial(a->writer);
	log_close(log);
	return 0;
}

static bool write_all(int fd, const void *data, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = pwrite(fd, (const uint8_t *)data + done, n - done, (off_t)(at + done));
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

/* The head last: a file without one says nothing. */
static int save_ahead(const struct traces_ahead *t, const struct log_writer *w, const char *path)
{
	size_t size;
	const void *data = log_writer_data(w, &size);
	int fd = descriptor_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return LOG_E_IO;
	bool good = write_all(fd, data, size, sizeof *t) && write_all(fd, t, sizeof *t, 0);
	close(fd);
	if (!good)
		unlink(path);
	return good ? 0 : LOG_E_IO;
}

static int make_ahead(struct assembly *a, struct store_reader *i, const char *path)
{
	struct traces_ahead t = {.used = i->state->trace.used};
	memcpy(t.magic, TRACES_AHEAD_MAGIC, sizeof t.magic);
	int code = log_writer_memory(&a->writer, &a->err);
	if (code < 0)
		return code;
	code = write_alone_log(a, i);
	if (code >= 0)
		code = find_ahead_regions(&t, a);
	if (code >= 0)
		code = save_ahead(&t, a->writer, path);
	log_writer_free(a->writer);
	return code;
}

int traces_ahead_make(const void *store, size_t size, int64_t rank, const char *path, struct log_error *err)
{
	struct assembly_source source = {.name = ""};
	struct assembly *a = log_alloc(sizeof *a);
	struct store_reader *i = &source.reader;
	int code = a ? store_reader_open_own(i, store, size, err) : LOG_E_MEMORY;
	if (code >= 0)
		code = store_reader_load_state(i, err);
	if (code >= 0) {
		i->rank = rank;
		source.segments = !i->state->trace.compact;
		a->source = &source;
		code = make_ahead(a, i, path);
		log_bytes_free(&a->piece);
	}
	store_reader_close(i);
	log_free(a);
	return code;
}
