/* One log: of the processes of one part of the plan. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "assembly.h"
#include "hash.h"
#include "shared.h"

/* ---- how long each step took: in the trailer ---- */

static double seconds_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void assembly_clock(struct assembly *a, const char *phase)
{
	double now = seconds_now();
	for (int p = 0; p < ASSEMBLY_PHASES && a->phase[p].name; p++)
		if (a->phase[p].name == a->in_phase)
			a->phase[p].seconds += now - a->phase_began;
	a->in_phase = phase;
	a->phase_began = now;
	for (int p = 0; phase && p < ASSEMBLY_PHASES; p++) {
		if (!a->phase[p].name)
			a->phase[p].name = phase;
		if (a->phase[p].name == phase)
			return;
	}
}

/* ---- the parts of the log ---- */

/* Darshan's tools show no command line where there is no mount entry. */
static const struct log_pair unknown_mount = {"/", "unknown"};

static int write_job(struct assembly *a, const struct log_job *job)
{
	int64_t end = a->epoch + (int64_t)(a->end * 1e9);
	a->job_written = true;
	return log_write_job(a->writer, &(struct log_job_text){
						.uid = a->first.uid,
						.start = a->epoch / 1000000000,
						.start_ns = a->epoch % 1000000000,
						.end = end / 1000000000,
						.end_ns = end % 1000000000,
						.nprocs = a->part->nprocs,
						.id = a->job->id ? a->job->id : a->first.id,
						.lib_ver = "iolens-" IOLENS_VERSION,
						.exe = a->command,
						.mounts = job->nmounts ? job->mounts : &unknown_mount,
						.nmounts = job->nmounts ? job->nmounts : 1,
					});
}

/* User, id and command are the first image's, the mounts of the first that read them: programs that made no record did not. */
static int find_job(struct assembly *a, struct image *i)
{
	const struct log_job *job;
	int code = log_job(i->log, &job, &a->err);
	if (code < 0)
		return code;
	if (!a->command[0]) {
		a->first = *job;
		snprintf(a->command, sizeof a->command, "%s", job->exe);
	}
	if (!job->nmounts)
		return 0;
	code = write_job(a, job);
	return code < 0 ? code : ASSEMBLY_STOP;
}

static int describe_job(struct assembly *a)
{
	a->command[0] = '\0';
	a->job_written = false;
	int code = assembly_each(a, ASSEMBLY_RANKS, find_job);
	return code < 0 || a->job_written ? code : write_job(a, &a->first);
}

static int write_name(struct assembly *a, uint64_t id, const char *name)
{
	int code = assembly_new_id(a, id);
	return code > 0 ? log_write_name(a->writer, id, name) : code;
}

static int copy_names(struct assembly *a, struct image *i)
{
	log_names(i->log, NULL);
	int code = 0;
	for (size_t n = 0; code >= 0 && n < log_names_count(i->log); n++) {
		uint64_t id;
		const char *name = log_name_at(i->log, n, &id);
		code = write_name(a, id, name);
	}
	return code;
}

static const struct {
	const char *name;
	int module;
} heats[] = {
/* clang-format off */
#define HEAT(id, text, module) {text, module},
	LIVE_HEATS(HEAT)
	/* clang-format on */
};

static int write_heat_names(struct assembly *a)
{
	int code = 0;
	for (int h = 0; code >= 0 && h < LIVE_HEAT_COUNT; h++)
		code = write_name(a, log_id(heats[h].name), heats[h].name);
	return code;
}

bool assembly_standard_stream(uint64_t id)
{
	static const char *const names[] = {"<STDIN>", "<STDOUT>", "<STDERR>"};
	for (int k = 0; k < 3; k++)
		if (id == log_id(names[k]))
			return true;
	return false;
}

static bool unused_stream(const struct log_record *r)
{
	const struct stdio_record *s = r->data;
	int64_t used = s->reads | s->writes;
	return !(assembly_standard_stream(r->id) ? used : used | s->opens | s->seeks | s->flushes);
}

static bool unused_file(const struct posix_record *p)
{
	int64_t used = p->opens | p->reads | p->writes | p->seeks | p->stats | p->mmaps | p->fsyncs | p->fdsyncs;
	return !(used | p->rename_sources | p->rename_targets);
}

bool assembly_unused(int module, const struct log_record *r)
{
	return (module == LOG_MOD_STDIO && unused_stream(r)) || (module == LOG_MOD_POSIX && unused_file(r->data));
}

/* Calls with every used record of one module of an image, its rank set, in a->record. */
static int each_record(struct assembly *a, struct image *i, int (*see)(struct assembly *a, const struct log_record *r))
{
	struct log_records *records;
	struct log_record r;
	int code = log_records_open(&records, i->log, a->module, &a->err);
	if (code < 0)
		return code;
	while ((code = log_records_next(records, &r, &a->err)) > 0) {
		if (assembly_unused(a->module, &r))
			continue;
		memcpy(a->record, r.data, r.size);
		memcpy(a->record + 8, &i->rank, sizeof i->rank);
		if ((code = see(a, &r)) < 0)
			break;
	}
	log_records_close(records);
	return code;
}

static int add_record(struct assembly *a, const struct log_record *r)
{
	(void)r;
	return shared_add(&a->shared, a->record);
}

static int add_rank(struct assembly *a, struct image *i)
{
	shared_rank(&a->shared);
	return each_record(a, i, add_record);
}

/* Only what all ranks had is shared; a rank that left nothing makes every file somebody's own. */
static int reduce_shared(struct assembly *a)
{
	int64_t ranks = 0;
	for (size_t m = 0; m < a->part->nmembers; m++)
		ranks += a->part->members[m].rank >= 0;
	shared_begin(&a->shared, &schema_modules[a->module]);
	if (!a->part->mpi || ranks != a->part->nprocs || schema_modules[a->module].layout != LAYOUT_PLAIN)
		return 0;
	int code = assembly_each(a, ASSEMBLY_RANKS, add_rank);
	if (code >= 0)
		shared_settle(&a->shared, a->part->nprocs);
	for (size_t n = 0; code >= 0 && n < a->shared.used; n++)
		code = log_write_record(a->writer, shared_record(&a->shared, n), a->shared.module->size);
	return code;
}

static int copy_record(struct assembly *a, const struct log_record *r)
{
	return shared_has(&a->shared, r->id) ? 0 : log_write_record(a->writer, a->record, r->size);
}

static int copy_records(struct assembly *a, struct image *i)
{
	int code = each_record(a, i, copy_record);
	if (code >= 0 && log_container(i->log)->partial >> a->module & 1)
		code = log_write_partial(a->writer, a->module);
	return code;
}

static int write_module(struct assembly *a)
{
	int code = log_write_module(a->writer, a->module, schema_modules[a->module].version);
	assembly_clock(a, "reduce");
	if (code >= 0)
		code = reduce_shared(a);
	assembly_clock(a, "records");
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_RANKS, copy_records);
	shared_free(&a->shared);
	return code;
}

static int write_records(struct assembly *a)
{
	static const int modules[] = {LOG_MOD_POSIX, LOG_MOD_MPIIO, LOG_MOD_STDIO};
	int code = 0;
	for (size_t m = 0; code >= 0 && m < sizeof modules / sizeof *modules; m++) {
		a->module = modules[m];
		if (schema_modules[a->module].version)
			code = write_module(a);
	}
	return code;
}

/* All records of a log have the same shape: as many bins as the job's time needs. */
static int64_t bins_for(double end, double width)
{
	int64_t n = (int64_t)(end / width);
	n += (double)n * width < end;
	return n < 1 ? 1 : n > LIVE_BINS ? LIVE_BINS : n;
}

static int copy_heat(struct assembly *a, struct image *i)
{
	int code = 0;
	for (int h = 0; code >= 0 && h < LIVE_HEAT_COUNT; h++) {
		struct live_heat map;
		if (!image_heat(i, h, a->end, &map))
			continue;
		struct heatmap_record head = {
			.id = log_id(heats[h].name), .rank = i->rank, .bin_width_seconds = map.width};
		head.nbins = bins_for(a->end, map.width);
		size_t n = (size_t)head.nbins * sizeof(int64_t);
		memcpy(a->record, &head, sizeof head);
		memcpy(a->record + sizeof head, map.bytes[LIVE_WRITE], n);
		memcpy(a->record + sizeof head + n, map.bytes[LIVE_READ], n);
		code = log_write_record(a->writer, a->record, sizeof head + 2 * n);
	}
	return code;
}

static int add_live(struct assembly *a, struct image *i)
{
	int code = i->rank < 0 ? 0 : copy_heat(a, i);
	return code < 0 ? code : assembly_sections_add(a, i);
}

static int write_log(struct assembly *a)
{
	assembly_clock(a, "names");
	int code = describe_job(a);
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_RANKS, copy_names);
	if (code >= 0)
		code = write_heat_names(a);
	if (code >= 0)
		code = write_records(a);
	assembly_clock(a, "trailer");
	if (code >= 0)
		code = log_write_module(a->writer, LOG_MOD_HEATMAP, schema_modules[LOG_MOD_HEATMAP].version);
	if (code >= 0)
		code = assembly_sections_begin(a);
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_ALL_LIVE, add_live);
	assembly_clock(a, NULL);
	return code >= 0 ? assembly_sections_write(a) : code;
}

int assembly_write(struct assembly *a, const char *path)
{
	int code = log_writer_file(&a->writer, path, &a->err);
	if (code < 0)
		return code;
	if (a->group_readable)
		log_writer_group_readable(a->writer);
	code = write_log(a);
	int finished = log_writer_finish(a->writer, code < 0 ? NULL : &a->err);
	log_writer_free(a->writer);
	assembly_free(a);
	return code < 0 ? code : finished;
}
