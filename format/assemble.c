#include "assemble.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "alloc.h"
#include "assembly.h"
#include "hash.h"
#include "launcher.h"

/* ---- the images: a few stay open from one reading to the next, but there may be thousands ---- */

enum { KEPT = 16 };

void assembly_name_file(const struct assembly *a, const struct assembly_source *s, char *path, size_t room)
{
	snprintf(path, room, "%s%s%s", a->directory ? a->directory : "", a->directory ? "/" : "", s->name);
}

static void close_all(struct assembly *a)
{
	for (size_t n = 0; n < a->nsources; n++)
		image_close(&a->sources[n].image);
}

static int open_file(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	char path[4096];
	assembly_name_file(a, s, path, sizeof path);
	int code = image_open_file(&s->image, path, err);
	if (code >= 0 || (err->system != EMFILE && err->system != ENFILE))
		return code;
	close_all(a);
	return image_open_file(&s->image, path, err);
}

static int open_source(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	if (s->image.log)
		return 0;
	if (s->copy.used)
		return image_open_memory(&s->image, s->copy.at, s->copy.used, err);
	if (s->memory)
		return image_open_own(&s->image, s->memory, s->memory_size, err);
	return open_file(a, s, err);
}

static void leave_source(struct assembly *a, struct assembly_source *s)
{
	if (a->nsources > KEPT)
		image_close(&s->image);
	else
		image_drop_live(&s->image);
}

int assembly_check_time(struct assembly *a)
{
	struct timespec t;
	if (!a->job->deadline)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (t.tv_sec * INT64_C(1000000000) + t.tv_nsec < a->job->deadline)
		return 0;
	return log_fail(&a->err, LOG_E_UNFINISHED, LOG_NOWHERE, "there was not enough time");
}

int assembly_each(struct assembly *a, enum assembly_who who, assembly_visit *see)
{
	for (size_t n = 0; n < a->part->nmembers; n++) {
		const struct assembly_member *m = &a->part->members[n];
		struct assembly_source *s = a->source = &a->sources[m->source];
		if (who == ASSEMBLY_RANKS && m->rank < 0)
			continue;
		int code = assembly_check_time(a);
		if (code < 0)
			return code;
		code = open_source(a, s, &a->err);
		if (code >= 0 && who != ASSEMBLY_RANKS)
			code = image_load_live(&s->image, &a->err);
		s->image.rank = m->rank;
		if (code >= 0)
			code = see(a, &s->image);
		leave_source(a, s);
		if (code)
			return code < 0 ? code : 0;
	}
	return 0;
}

int assembly_add_source(struct assembly *a, const char *name)
{
	struct assembly_source s = {.name = log_get(strlen(name) + 1)};
	if (!s.name)
		return LOG_E_MEMORY;
	strcpy(s.name, name);
	if (a->job->own && strcmp(name, a->job->own) == 0) {
		s.memory = a->job->image;
		s.memory_size = a->job->size;
	}
	struct log_bytes list = {(uint8_t *)a->sources, a->nsources * sizeof s, a->room};
	int code = log_bytes_add(&list, &s, sizeof s);
	a->sources = (struct assembly_source *)list.at;
	a->room = list.room;
	a->nsources += code >= 0;
	return code;
}

static void forget_source(struct assembly_source *s)
{
	image_close(&s->image);
	log_bytes_free(&s->copy);
	log_put(s->name);
	log_put(s->pack);
}

static int list_sources(struct assembly *a)
{
	DIR *dir = opendir(a->directory);
	struct dirent *entry;
	int code = dir ? 0 : log_fail_system(&a->err, a->directory);
	while (code >= 0 && (entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);
		if (n > 6 && strcmp(entry->d_name + n - 6, ".store") == 0)
			code = assembly_add_source(a, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return code;
}

/* ---- the survey: what the order of ranks and the job's own data need ---- */

static int by_start(const void *x, const void *y)
{
	const struct assembly_source *a = x, *b = y;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int measure(struct image *i, struct assembly_source *s, struct log_error *err)
{
	const struct live_process *p = &i->live->process;
	s->start = p->start;
	s->end = image_last(i);
	s->epoch = p->started - (int64_t)(p->start * 1e9);
	s->host = log_hash(p->host, strnlen(p->host, sizeof p->host), 0);
	s->pid = p->pid;
	s->parent = p->parent;
	s->mpi_size = p->mpi_size;
	s->mpi_rank = p->mpi_rank;
	s->world = p->mpi_world;
	if (memchr(p->exe, 0, sizeof p->exe)) {
		s->launcher = launcher_program(p->exe);
		s->remote_shell = launcher_remote_shell(p->exe);
	}
	int files = assembly_has_files(i, err);
	if (files < 0)
		return files;
	s->has_records = files;
	if (!p->kernel_at_end[LIVE_IO_READS])
		return assembly_seen(s, i, s->moved, err);
	memcpy(s->moved, &p->kernel_at_end[LIVE_IO_READ], sizeof s->moved);
	s->moved[LIVE_READ] += p->own_read;
	return 0;
}

static int note_deaths(struct assembly *a, const struct image *i, const struct assembly_source *s)
{
	int code = 0;
	for (const struct live_death *d = i->live->death; code >= 0 && d < i->live->death + LIVE_DEATHS; d++)
		if (d->signal > 0)
			code = log_bytes_add(&a->deaths, &(struct assembly_death){s->host, d->pid, d->signal},
					     sizeof(struct assembly_death));
	return code;
}

/* ---- what ranks have done ahead ---- */

static bool nothing_left(const struct pack *p)
{
	uint64_t left = 0;
	for (int part = 0; part < PACK_PARTS; part++)
		left += p->part[part].left;
	return !left;
}

/* Packs hold what the rank that they were made against has not. */
static bool know_common(struct assembly *a, const struct assembly_source *s)
{
	const char *path = s->against ? a->job->second : a->job->first;
	struct id_set *ids = &a->common[s->against];
	struct log_error err;
	struct log *log;
	if (nothing_left(s->pack) || ids->used || log_open_file(&log, path, &err) < 0)
		return nothing_left(s->pack) || ids->used;
	if (pack_ids(ids, log, &err) < 0)
		id_set_free(ids);
	log_close(log);
	return ids->used;
}

bool assembly_is_packed(const struct assembly *a, uint64_t id)
{
	const struct assembly_source *s = a->source;
	return s && s->pack && !id_set_has(&a->common[s->against], id);
}

static void find_pack(struct assembly *a, struct assembly_source *s)
{
	char path[4096 + sizeof PACK_SUFFIX];
	if (!a->job->first)
		return;
	s->against = strcmp(s->name, a->job->first) == 0;
	if ((s->against && !a->job->second) || !(s->pack = log_get(sizeof *s->pack)))
		return;
	assembly_name_file(a, s, path, sizeof path - sizeof PACK_SUFFIX);
	strcat(path, PACK_SUFFIX);
	if (pack_load(s->pack, s->image.log, path) && know_common(a, s)) {
		memcpy(s->totals, s->pack->totals, sizeof s->totals);
		memset(s->counted, 1, sizeof s->counted);
		return;
	}
	log_put(s->pack);
	s->pack = NULL;
}

static int examine(struct assembly *a, struct assembly_source *s, bool *settled, struct log_error *err)
{
	struct image *i = &s->image;
	const struct log_job *job;
	int code = open_source(a, s, err);
	if (code >= 0)
		code = image_load_live(i, err);
	if (code >= 0)
		code = log_job(i->log, &job, err);
	if (code >= 0 && !s->pack)
		find_pack(a, s);
	if (code >= 0)
		code = measure(i, s, err);
	if (code >= 0) {
		/* A rank in MPI_Finalize still runs, and has sealed its store. */
		int64_t end = i->live->process.end_reason;
		bool sealed = end == LIVE_END_FINALIZE || end == LIVE_END_LOGGED;
		s->running = !s->memory && !sealed && snapshot_process_runs(&i->live->process);
		*settled = s->memory || (i->live->process.end_reason && !s->running);
		note_deaths(a, i, s);
		a->group_readable |= i->live->process.group_readable == 1;
	}
	leave_source(a, s);
	return code;
}

/* The copy stays where the file is damaged or may change under the next reading. */
static int take_copy(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	char path[4096];
	struct snapshot copy;
	assembly_name_file(a, s, path, sizeof path);
	int code = snapshot_take(&copy, path, err);
	if (code < 0)
		return code;
	s->running |= copy.changing;
	s->torn |= copy.torn;
	if (s->running || s->torn)
		s->copy = copy.bytes;
	else
		snapshot_free(&copy);
	return 0;
}

static int survey_one(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	bool settled = false;
	int code = examine(a, s, &settled, err);
	if (s->memory || settled || code == LOG_E_MEMORY)
		return code;
	image_close(&s->image);
	s->torn = code < 0;
	code = take_copy(a, s, err);
	if (code < 0 || !s->copy.used)
		return code;
	bool running = s->running;
	if (!s->pack) { /* the sums of the first look are those of another moment */
		memset(s->totals, 0, sizeof s->totals);
		memset(s->counted, 0, sizeof s->counted);
	}
	code = examine(a, s, &settled, err);
	s->running |= running;
	return code;
}

static void lose(struct assembly *a, const struct assembly_source *s, const struct log_error *err)
{
	struct assembly_lost lost = {0};
	const char *name = strrchr(s->name, '/');
	snprintf(lost.name, sizeof lost.name, "%s", name ? name + 1 : s->name);
	snprintf(lost.why, sizeof lost.why, "%s", err->message);
	log_bytes_add(&a->lost, &lost, sizeof lost);
}

static bool same_image(const struct assembly_source *a, const struct assembly_source *b)
{
	return a->start == b->start && a->epoch == b->epoch && a->host == b->host && a->pid == b->pid;
}

/* A store and its copy, for instance at the rank that was about to make the log. In order of start they stand side by side. */
static void drop_copies(struct assembly *a)
{
	size_t kept = 0;
	for (size_t n = 0; n < a->nsources; n++) {
		struct assembly_source *s = &a->sources[n], *before = &a->sources[kept - (kept > 0)];
		if (!kept || !same_image(before, s)) {
			a->sources[kept++] = *s;
			continue;
		}
		struct assembly_source worse = before->torn ? *before : *s;
		if (before->torn)
			*before = *s;
		forget_source(&worse);
	}
	a->nsources = kept;
}

/* A store of which nothing can be read is left out, and named. */
void assembly_survey(struct assembly *a)
{
	size_t kept = 0;
	for (size_t n = 0; n < a->nsources; n++) {
		struct log_error err = {0};
		if (survey_one(a, &a->sources[n], &err) >= 0) {
			a->sources[kept++] = a->sources[n];
			continue;
		}
		lose(a, &a->sources[n], &err);
		forget_source(&a->sources[n]);
	}
	a->nsources = kept;
	if (kept)
		qsort(a->sources, kept, sizeof *a->sources, by_start);
	drop_copies(a);
}

static void tell(const struct assembly *a)
{
	struct assemble_found *found = a->job->found;
	if (!found)
		return;
	*found = (struct assemble_found){.lost = a->lost.used / sizeof(struct assembly_lost)};
	for (size_t n = 0; n < a->nsources; n++) {
		found->running += a->sources[n].running;
		found->torn += a->sources[n].torn;
	}
	if (WIFSIGNALED(a->job->status))
		found->signal = WTERMSIG(a->job->status);
}

/* ---- one log after the other ---- */

/* x.darshan, x-mpi2.darshan, x-serial.darshan. */
static void name_part(const struct assembly *a, size_t n, const char *path, char *out, size_t room)
{
	const char *end = strrchr(path, '.');
	bool known = end && strcmp(end, ".darshan") == 0;
	int stem = known ? (int)(end - path) : (int)strlen(path);
	const char *suffix = known ? end : "";
	size_t worlds = a->nparts - !a->parts[a->nparts - 1].mpi;
	if (a->parts[n].mpi && worlds > 1)
		snprintf(out, room, "%.*s-mpi%zu%s", stem, path, n + 1, suffix);
	else if (!a->parts[n].mpi && worlds)
		snprintf(out, room, "%.*s-serial%s", stem, path, suffix);
	else
		snprintf(out, room, "%s", path);
}

static void settle_time(struct assembly *a)
{
	const struct assembly_part *part = a->part;
	a->end = 0;
	a->epoch = a->job->epoch.realtime;
	for (size_t m = 0; m < part->nmembers; m++) {
		const struct assembly_source *s = &a->sources[part->members[m].source];
		if (!a->job->epoch.realtime && (!a->epoch || s->epoch < a->epoch))
			a->epoch = s->epoch;
		a->end = s->end > a->end ? s->end : a->end;
	}
	double ended = (double)(a->job->ended - a->epoch) * 1e-9;
	if (a->job->ended && a->nparts == 1 && ended > a->end)
		a->end = ended;
}

static int write_parts(struct assembly *a, const char *path)
{
	char name[4096];
	int code = a->nsources ? assembly_plan(a)
			       : log_fail(&a->err, LOG_E_UNFINISHED, LOG_NOWHERE, "no process left a readable store");
	for (size_t n = 0; code >= 0 && n < a->nparts; n++) {
		a->part = &a->parts[n];
		settle_time(a);
		name_part(a, n, path, name, sizeof name);
		code = assembly_write(a, name);
		if (code >= 0 && a->job->wrote)
			a->job->wrote(a->job->context, name);
	}
	return code;
}

void assembly_forget(struct assembly *a)
{
	for (size_t n = 0; n < a->nsources; n++)
		forget_source(&a->sources[n]);
	log_put(a->sources);
	id_set_free(&a->common[0]);
	id_set_free(&a->common[1]);
	log_bytes_free(&a->lost);
	log_bytes_free(&a->deaths);
	assembly_forget_plan(a);
}

static int assemble(struct assembly *a, const char *path, struct log_error *err)
{
	assembly_clock(a, "survey");
	assembly_survey(a);
	tell(a);
	int code = write_parts(a, path);
	int64_t images = (int64_t)a->nsources;
	assembly_forget(a);
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

int assemble_stores(const struct assemble_job *job, const char *const *stores, size_t n, const char *path,
		    struct log_error *err)
{
	struct assembly a = {.job = job};
	for (size_t i = 0; i < n; i++)
		if (assembly_add_source(&a, stores[i]) < 0)
			return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	return assemble(&a, path, err);
}

int assemble_memory(const struct assemble_job *job, const void *store, size_t size, const char *path,
		    struct log_error *err)
{
	struct assemble_job own = *job;
	own.own = "";
	own.image = store;
	own.size = size;
	struct assembly a = {.job = &own};
	int code = assembly_add_source(&a, "");
	return code < 0 ? code : assemble(&a, path, err);
}
