/* One log: of the processes of one part of the plan. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "assembly.h"
#include "hash.h"
#include "reader.h"
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

int assembly_write_job(struct assembly *a, const struct log_job *job)
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
static int find_job(struct assembly *a, struct store_reader *i)
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
	code = assembly_write_job(a, job);
	return code < 0 ? code : ASSEMBLY_STOP;
}

static int describe_job(struct assembly *a)
{
	a->command[0] = '\0';
	a->job_written = false;
	int code = assembly_each(a, ASSEMBLY_NAMED, find_job);
	return code < 0 || a->job_written ? code : assembly_write_job(a, &a->first);
}

static int write_name(void *assembly, uint64_t id, const char *name)
{
	struct assembly *a = assembly;
	if (assembly_note_path(a, name) < 0)
		return LOG_E_MEMORY;
	if (a->unnamed && id_set_has(a->unnamed, id))
		return 0;
	if (assembly_is_precompressed(a, id))
		return 0;
	int code = id_set_add(&a->names, id);
	return code > 0 ? log_write_name(a->writer, id, name) : code;
}

/* ---- what a process has deflated ahead ---- */

static bool all_precompressed(const struct precompressed *p, enum precompressed_part part)
{
	return p && !p->part[part].left;
}

static int copy_precompressed(struct assembly *a, enum precompressed_part part)
{
	char path[4096 + sizeof PRECOMPRESSED_SUFFIX];
	const struct precompressed *p = a->source->precompressed;
	if (!p || !p->part[part].stored)
		return 0;
	assembly_name_file(a, a->source, path, sizeof path - sizeof PRECOMPRESSED_SUFFIX);
	strcat(path, PRECOMPRESSED_SUFFIX);
	int code = precompressed_read(p, path, part, &a->piece);
	if (code < 0)
		return log_fail(&a->err, code, LOG_NOWHERE, "what a rank has packed cannot be read");
	return log_write_precompressed(a->writer, a->piece.at, a->piece.used);
}

/* ---- names ---- */

static int copy_names(struct assembly *a, struct store_reader *i)
{
	struct log_error damage;
	a->any_path |= a->source->precompressed != NULL; /* which are of many files */
	int code = all_precompressed(a->source->precompressed, PRECOMPRESSED_NAMES)
			   ? 0
			   : names_walk(i->log, write_name, a, &damage);
	return code == LOG_E_MEMORY ? code : copy_precompressed(a, PRECOMPRESSED_NAMES);
}

static int write_heat_names(struct assembly *a)
{
	int code = 0;
	a->source = NULL;
	for (int h = 0; !a->unnamed && code >= 0 && h < STATE_HEAT_COUNT; h++)
		code = write_name(a, log_id(written_heats[h].name), written_heats[h].name);
	return code;
}

/* Calls with every used record of one module of an image, and its rank. The first time they are summed, too. */
static int each_record(struct assembly *a, struct store_reader *i,
		       int (*see)(struct assembly *a, const struct log_record *r))
{
	struct store_records records;
	struct log_record r;
	const struct precompressed *precompressed = a->source->precompressed;
	enum precompressed_part part = precompressed_part_of(a->module);
	bool count = !a->source->counted[part];
	if (all_precompressed(precompressed, part))
		return 0;
	int code = store_records_open(&records, i->log, a->module, &a->err);
	if (code < 0)
		return code;
	while ((code = precompressed_next(a->module, &records, &r, &a->err)) > 0) {
		if (precompressed_unused(a->module, &r) || assembly_is_precompressed(a, r.id))
			continue;
		if (count)
			precompressed_total_add(&a->source->totals[part], &r);
		r.rank = i->rank;
		if ((code = see(a, &r)) < 0)
			break;
	}
	a->source->counted[part] |= code >= 0;
	store_records_close(&records);
	return code;
}

static int add_record(struct assembly *a, const struct log_record *r)
{
	return shared_add(&a->shared, r->data, r->size, r->rank);
}

static int add_rank(struct assembly *a, struct store_reader *i)
{
	shared_rank(&a->shared);
	return each_record(a, i, add_record);
}

/* Only what all ranks had is shared; a rank that left nothing, or has packed all, makes every file one rank's own. */
static bool may_share(const struct assembly *a)
{
	int64_t ranks = 0;
	for (size_t m = 0; m < a->part->nmembers; m++) {
		const struct assembly_member *member = &a->part->members[m];
		ranks += member->rank >= 0;
		if (member->rank >= 0 &&
		    all_precompressed(a->sources[member->source].precompressed, precompressed_part_of(a->module)))
			return false;
	}
	return a->part->mpi && ranks == (a->ranks ? (int64_t)a->nranks : a->part->nprocs);
}

static void take_record(struct assembly *a, const struct log_record *r)
{
	memcpy(a->record, r->data, r->schema->size);
	memcpy(a->record + 8, &r->rank, sizeof r->rank);
	reduce_to_grid(r->schema, a->record);
}

/* What was taken, and the arrays behind it as they are. */
static int write_taken(struct assembly *a, const struct log_record *r)
{
	size_t n = r->schema->size;
	int code = log_write_record(a->writer, a->record, n);
	if (code >= 0 && r->size > n)
		code = log_write_record(a->writer, (const uint8_t *)r->data + n, r->size - n);
	return code;
}

/* Of one rank everything is: nothing has to be looked up. */
static int share_alone(struct assembly *a, const struct log_record *r)
{
	struct reduce_state state;
	take_record(a, r);
	reduce_begin(r->schema, a->record, &state);
	reduce_end(r->schema, a->record, &state);
	return write_taken(a, r);
}

int assembly_reduce(struct assembly *a)
{
	shared_begin(&a->shared, &schema_modules[a->module]);
	if (a->part->nprocs == 1 || !may_share(a))
		return 0;
	int code = assembly_each(a, ASSEMBLY_RANKS, add_rank);
	if (code >= 0)
		shared_keep(&a->shared, a->shared.ranks);
	return code;
}

static int write_shared(struct assembly *a)
{
	assembly_clock(a, "reduce");
	int code = assembly_reduce(a);
	shared_end(&a->shared);
	return code < 0 ? code : shared_write(&a->shared, a->writer);
}

static int copy_record(struct assembly *a, const struct log_record *r)
{
	if (shared_has(&a->shared, r->id))
		return 0;
	take_record(a, r);
	return write_taken(a, r);
}

static int copy_records(struct assembly *a, struct store_reader *i)
{
	enum precompressed_part part = precompressed_part_of(a->module);
	bool alone = a->part->nprocs == 1 && may_share(a);
	bool all_shared = a->shared.used && a->source->counted[part] && !a->source->precompressed &&
			  a->source->totals[part].records == (int64_t)a->shared.used;
	int code = all_shared ? 0 : each_record(a, i, alone ? share_alone : copy_record);
	if (code >= 0)
		code = copy_precompressed(a, part);
	if (code >= 0 && log_container(i->log)->partial >> a->module & 1)
		code = log_write_partial(a->writer, a->module);
	return code;
}

static int write_module(struct assembly *a)
{
	int code = log_write_module(a->writer, a->module, schema_modules[a->module].version);
	if (code >= 0 && !a->reduced)
		code = write_shared(a);
	else if (code >= 0)
		a->shared = a->reduced[precompressed_part_of(a->module)];
	assembly_clock(a, "records");
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_RECORDED, copy_records);
	if (!a->reduced)
		shared_free(&a->shared);
	return code;
}

static int write_records(struct assembly *a)
{
	int code = 0;
	for (a->module = 0; code >= 0 && a->module < LOG_MOD_COUNT; a->module++) {
		if (written_slot(a->module) >= 0)
			code = write_module(a);
		else if (assembly_trace_of(a->module) >= 0)
			code = assembly_write_trace(a);
	}
	return code;
}

/* All records of a log have the same shape: as many bins as the job's time needs. */
static int64_t bins_for(double end, double width)
{
	int64_t n = (int64_t)(end / width);
	n += (double)n * width < end;
	return n < 1 ? 1 : n > STATE_BINS ? STATE_BINS : n;
}

static int copy_heat(struct assembly *a, struct store_reader *i)
{
	int code = 0;
	for (int h = 0; code >= 0 && h < STATE_HEAT_COUNT; h++) {
		struct state_heat map;
		if (!store_reader_heat(i, h, a->end, &map))
			continue;
		struct heatmap_record head = {
			.id = log_id(written_heats[h].name), .rank = i->rank, .bin_width_seconds = map.width};
		head.nbins = bins_for(a->end, map.width);
		size_t n = (size_t)head.nbins * sizeof(int64_t);
		memcpy(a->record, &head, sizeof head);
		memcpy(a->record + sizeof head, map.bytes[IO_WRITE], n);
		memcpy(a->record + sizeof head + n, map.bytes[IO_READ], n);
		code = log_write_record(a->writer, a->record, sizeof head + 2 * n);
	}
	return code;
}

static int add_state(struct assembly *a, struct store_reader *i)
{
	int code = i->rank < 0 ? 0 : copy_heat(a, i);
	return code < 0 ? code : assembly_sections_add(a, i);
}

int assembly_write_regions(struct assembly *a)
{
	assembly_clock(a, "names");
	int code = assembly_each(a, ASSEMBLY_NAMED, copy_names);
	if (code >= 0)
		code = write_heat_names(a);
	if (code >= 0)
		code = write_records(a);
	if (code >= 0)
		code = assembly_write_communication(a);
	assembly_clock(a, "trailer");
	if (code >= 0)
		code = log_write_module(a->writer, LOG_MOD_HEATMAP, schema_modules[LOG_MOD_HEATMAP].version);
	if (code >= 0)
		code = assembly_sections_begin(a);
	if (code >= 0)
		code = assembly_each(a, ASSEMBLY_ALL_STATES, add_state);
	assembly_clock(a, "traces");
	if (code >= 0)
		code = assembly_write_accesses(a);
	assembly_clock(a, NULL);
	return code;
}

static int write_log(struct assembly *a)
{
	assembly_clock(a, "names");
	int code = describe_job(a);
	assembly_sum_communication(a);
	if (code >= 0)
		code = assembly_write_regions(a);
	return code >= 0 ? assembly_sections_write(a) : code;
}

int assembly_write(struct assembly *a, const char *path)
{
	int code = log_writer_file(&a->writer, path, &a->err);
	if (code < 0)
		return code;
	if (a->group_readable)
		log_writer_group_readable(a->writer);
	if (a->job->durable)
		log_writer_durable(a->writer);
	code = write_log(a);
	if (code >= 0)
		code = log_writer_flush(a->writer);
	if (code >= 0)
		code = assembly_check_time(a);
	if (code >= 0) /* what is not whole must not get the log's name */
		code = log_writer_finish(a->writer, &a->err);
	else if (!a->err.code)
		log_writer_error(a->writer, &a->err);
	log_writer_free(a->writer);
	assembly_free(a);
	return code;
}
