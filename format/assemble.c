#include "assemble.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "assembly.h"
#include "hash.h"

/* ---- the images, one open at a time: there may be thousands ---- */

typedef int visit(struct assembly *a, struct image *i);

static int open_source(struct assembly *a, const struct assembly_source *s, struct image *i, struct log_error *err)
{
	char path[4096];
	if (a->memory)
		return image_open_memory(i, a->memory, a->memory_size, err);
	snprintf(path, sizeof path, "%s/%s", a->directory, s->name);
	return image_open_file(i, path, err);
}

static int each_image(struct assembly *a, bool live, visit *see)
{
	for (size_t n = 0; n < a->nsources; n++) {
		struct image i;
		int code = open_source(a, &a->sources[n], &i, &a->err);
		if (code >= 0 && live)
			code = image_load_live(&i, &a->err);
		i.rank = (int64_t)n;
		if (code >= 0)
			code = see(a, &i);
		image_close(&i);
		if (code < 0)
			return code;
	}
	return 0;
}

static int add_source(struct assembly *a, const char *name)
{
	struct assembly_source s = {.name = log_get(strlen(name) + 1)};
	if (!s.name)
		return LOG_E_MEMORY;
	strcpy(s.name, name);
	struct log_bytes list = {(uint8_t *)a->sources, a->nsources * sizeof s, a->room};
	int code = log_bytes_add(&list, &s, sizeof s);
	a->sources = (struct assembly_source *)list.at;
	a->room = list.room;
	a->nsources += code >= 0;
	return code;
}

static int list_sources(struct assembly *a)
{
	DIR *dir = opendir(a->directory);
	struct dirent *entry;
	int code = dir ? 0 : log_fail_system(&a->err, a->directory);
	while (code >= 0 && (entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);
		if (n > 6 && strcmp(entry->d_name + n - 6, ".store") == 0)
			code = add_source(a, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return code;
}

static int by_start(const void *x, const void *y)
{
	const struct assembly_source *a = x, *b = y;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* What the order of ranks and the job's own data need. A store that cannot be read is left out and counted. */
static bool survey_one(struct assembly *a, struct assembly_source *s)
{
	struct image i;
	const struct log_job *job;
	struct log_error err;
	bool good =
		open_source(a, s, &i, &err) >= 0 && image_load_live(&i, &err) >= 0 && log_job(i.log, &job, &err) >= 0;
	if (good) {
		const struct live_process *p = &i.live->process;
		s->start = p->start;
		s->end = image_last(&i);
		s->pid = p->pid;
		s->parent = p->parent;
		if (p->kernel_at_end[LIVE_IO_READS]) {
			memcpy(s->moved, &p->kernel_at_end[LIVE_IO_READ], sizeof s->moved);
			s->moved[LIVE_READ] += p->own_read;
		} else
			good = assembly_seen(&i, s->moved, &err) >= 0;
		a->end = s->end > a->end ? s->end : a->end;
	}
	image_close(&i);
	return good;
}

static void survey(struct assembly *a)
{
	size_t kept = 0;
	for (size_t n = 0; n < a->nsources; n++) {
		if (survey_one(a, &a->sources[n]))
			a->sources[kept++] = a->sources[n];
		else
			a->unreadable++;
	}
	a->nsources = kept;
	if (kept)
		qsort(a->sources, kept, sizeof *a->sources, by_start);
	for (size_t n = 0; n < kept; n++) {
		a->sources[n].last = true;
		for (size_t later = n + 1; later < kept && a->sources[n].last; later++)
			a->sources[n].last = a->sources[later].pid != a->sources[n].pid;
	}
	double ended = (double)(a->job->ended - a->job->epoch.realtime) * 1e-9;
	a->end = a->job->ended && ended > a->end ? ended : a->end;
}

/* ---- the parts of the log ---- */

/* The mount table of the first image that read one; programs that made no record did not. */
static int find_mounts(struct assembly *a, struct image *i)
{
	const struct log_job *job;
	int code = log_job(i->log, &job, &a->err);
	if (code >= 0 && i->rank == 0)
		snprintf(a->command, sizeof a->command, "%s", job->exe);
	if (code < 0 || a->job_written || (!job->nmounts && i->rank + 1 < (int64_t)a->nsources))
		return code;
	int64_t start = a->job->epoch.realtime, end = start + (int64_t)(a->end * 1e9);
	a->job_written = true;
	/* Darshan's tools show no command line where there is no mount entry. */
	static const struct log_pair unknown = {"/", "unknown"};
	return log_write_job(a->writer, &(struct log_job_text){
						.uid = job->uid,
						.start = start / 1000000000,
						.start_ns = start % 1000000000,
						.end = end / 1000000000,
						.end_ns = end % 1000000000,
						.nprocs = (int64_t)a->nsources,
						.id = a->job->id ? a->job->id : job->id,
						.lib_ver = "iolens-" IOLENS_VERSION,
						.exe = a->command,
						.mounts = job->nmounts ? job->mounts : &unknown,
						.nmounts = job->nmounts ? job->nmounts : 1,
					});
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

static bool unused_stream(const struct log_record *r)
{
	const struct stdio_record *s = r->data;
	static const char *const names[] = {"<STDIN>", "<STDOUT>", "<STDERR>"};
	bool standard = false;
	for (int k = 0; k < 3; k++)
		standard = standard || r->id == log_id(names[k]);
	int64_t used = s->reads | s->writes;
	return !(standard ? used : used | s->opens | s->seeks | s->flushes);
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

static int copy_records(struct assembly *a, struct image *i)
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
		if ((code = log_write_record(a->writer, a->record, r.size)) < 0)
			break;
	}
	log_records_close(records);
	if (code >= 0 && log_container(i->log)->partial >> a->module & 1)
		code = log_write_partial(a->writer, a->module);
	return code;
}

static int write_records(struct assembly *a)
{
	static const int modules[] = {LOG_MOD_POSIX, LOG_MOD_MPIIO, LOG_MOD_STDIO};
	int code = 0;
	for (size_t m = 0; code >= 0 && m < sizeof modules / sizeof *modules; m++) {
		a->module = modules[m];
		if (!schema_modules[a->module].version)
			continue;
		code = log_write_module(a->writer, a->module, schema_modules[a->module].version);
		if (code >= 0)
			code = each_image(a, false, copy_records);
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

static int write_log(struct assembly *a)
{
	int code = each_image(a, false, find_mounts);
	if (code >= 0)
		code = each_image(a, false, copy_names);
	if (code >= 0)
		code = write_heat_names(a);
	if (code >= 0)
		code = write_records(a);
	if (code >= 0)
		code = log_write_module(a->writer, LOG_MOD_HEATMAP, schema_modules[LOG_MOD_HEATMAP].version);
	if (code >= 0)
		code = each_image(a, true, copy_heat);
	if (code >= 0)
		code = assembly_sections_begin(a);
	if (code >= 0)
		code = each_image(a, true, assembly_sections_add);
	return code >= 0 ? assembly_sections_write(a) : code;
}

static int write_to(struct assembly *a, const char *path)
{
	int code = log_writer_file(&a->writer, path, &a->err);
	if (code < 0)
		return code;
	code = write_log(a);
	int finished = log_writer_finish(a->writer, code < 0 ? NULL : &a->err);
	log_writer_free(a->writer);
	return code < 0 ? code : finished;
}

static int assemble(struct assembly *a, const char *path, struct log_error *err)
{
	survey(a);
	int code = a->nsources ? write_to(a, path)
			       : log_fail(&a->err, LOG_E_UNFINISHED, LOG_NOWHERE, "no process left a readable store");
	int64_t images = (int64_t)a->nsources;
	for (size_t n = 0; n < a->nsources; n++)
		log_put(a->sources[n].name);
	log_put(a->sources);
	assembly_free(a);
	if (err)
		*err = a->err;
	return code < 0 ? code : (int)images;
}

int assemble_directory(const struct assemble_job *job, const char *directory, const char *path, struct log_error *err)
{
	struct assembly a = {.job = job, .directory = directory};
	int code = list_sources(&a);
	if (code < 0) {
		*err = a.err;
		return code;
	}
	return assemble(&a, path, err);
}

int assemble_memory(const struct assemble_job *job, const void *store, size_t size, const char *path,
		    struct log_error *err)
{
	struct assembly a = {.job = job, .memory = store, .memory_size = size};
	int code = add_source(&a, "");
	return code < 0 ? code : assemble(&a, path, err);
}
