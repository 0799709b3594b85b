/* The stores of a job: opened one after the other, and surveyed before the plan. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "assembly.h"
#include "launcher.h"
#include "trace_reader.h"

/* ---- the images: a few stay open from one reading to the next, but there may be thousands ---- */

enum { KEPT = 16 };

void assembly_name_file(const struct assembly *a, const struct assembly_source *s, char *path, size_t room)
{
	snprintf(path, room, "%s%s%s", a->directory ? a->directory : "", a->directory ? "/" : "", s->name);
}

static void close_all(struct assembly *a)
{
	for (size_t n = 0; n < a->nsources; n++)
		store_reader_close(&a->sources[n].reader);
}

static int open_file(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	char path[4096];
	assembly_name_file(a, s, path, sizeof path);
	int code = store_reader_open_file(&s->reader, path, err);
	if (code >= 0 || (err->system != EMFILE && err->system != ENFILE))
		return code;
	close_all(a);
	return store_reader_open_file(&s->reader, path, err);
}

static int open_source(struct assembly *a, struct assembly_source *s, struct log_error *err)
{
	if (s->reader.log)
		return 0;
	if (s->copy.used)
		return store_reader_open_memory(&s->reader, s->copy.at, s->copy.used, err);
	if (s->memory)
		return store_reader_open_own(&s->reader, s->memory, s->memory_size, err);
	return open_file(a, s, err);
}

static void leave_source(struct assembly *a, struct assembly_source *s)
{
	if (a->nsources > KEPT)
		store_reader_close(&s->reader);
	else
		store_reader_drop_state(&s->reader);
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

static void report(const struct assembly *a, size_t store, size_t stores)
{
	if (a->job->reads)
		a->job->reads(a->job->context, a->in_phase, store, stores);
}

/* Most of many processes do little: a store is opened for what it has. */
static bool is_asked(const struct assembly *a, enum assembly_who who, const struct assembly_member *m, bool first)
{
	const struct assembly_source *s = &a->sources[m->source];
	if (who == ASSEMBLY_ALL_STATES)
		return true;
	if (m->rank < 0)
		return false;
	if (who == ASSEMBLY_RANKS || s->precompressed)
		return true;
	return who == ASSEMBLY_NAMED ? first || s->holds >> ASSEMBLY_NAMES & 1 : s->holds >> a->module & 1;
}

int assembly_each(struct assembly *a, enum assembly_who who, assembly_visit *see)
{
	bool first = true;
	for (size_t n = 0; n < a->part->nmembers; n++) {
		const struct assembly_member *m = &a->part->members[n];
		struct assembly_source *s = a->source = &a->sources[m->source];
		if (!is_asked(a, who, m, first))
			continue;
		first = first && m->rank < 0;
		int code = assembly_check_time(a);
		if (code < 0)
			return code;
		report(a, n, a->part->nmembers);
		code = open_source(a, s, &a->err);
		if (code >= 0 && who == ASSEMBLY_ALL_STATES)
			code = store_reader_load_state(&s->reader, &a->err);
		s->reader.rank = m->rank;
		if (code >= 0)
			code = see(a, &s->reader);
		leave_source(a, s);
		if (code)
			return code < 0 ? code : 0;
	}
	return 0;
}

int assembly_add_source(struct assembly *a, const char *name)
{
	struct assembly_source s = {.name = log_alloc(strlen(name) + 1), .holds = UINT64_MAX};
	if (!s.name)
		return LOG_E_MEMORY;
	strcpy(s.name, name);
	if (a->job->own && strcmp(name, a->job->own) == 0) {
		s.memory = a->job->memory;
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
	store_reader_close(&s->reader);
	log_bytes_free(&s->copy);
	log_free(s->name);
	log_free(s->precompressed);
	log_free(s->ahead);
}

/* ---- the survey: what the order of ranks and the job's own data need ---- */

static int by_start(const void *x, const void *y)
{
	const struct assembly_source *a = x, *b = y;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Process ids mean something within one host's namespace. */
static int number_host(struct assembly *a, const struct state_process *p, int64_t namespace, uint64_t *number)
{
	char text[sizeof namespace + sizeof p->host];
	size_t n = strnlen(p->host, sizeof p->host);
	bool is_new;
	memcpy(text, &namespace, sizeof namespace);
	memcpy(text + sizeof namespace, p->host, n);
	*number = text_number(&a->hosts, text, sizeof namespace + n, &is_new);
	return *number == SIZE_MAX ? LOG_E_MEMORY : 0;
}

static int number_hosts(struct assembly *a, const struct state_process *p, struct assembly_source *s)
{
	int code = number_host(a, p, p->pid_namespace, &s->host);
	return code < 0 ? code : number_host(a, p, -1, &s->node);
}

static uint64_t held(const struct log_container *c)
{
	uint64_t modules = c->partial & ~(UINT64_C(1) << ASSEMBLY_NAMES);
	for (int m = 0; m < ASSEMBLY_NAMES; m++)
		modules |= (uint64_t)(c->module[m].length > 0) << m;
	return modules | (uint64_t)(c->names.length > 0) << ASSEMBLY_NAMES;
}

static bool use_is_unknown(const struct state_process *p, const struct state_unobserved *started)
{
	int64_t any = 0;
	for (int n = 0; n < STATE_USED_COUNT; n++)
		any |= p->used_at_end[n];
	return !any || !p->end_reason || p->lost_children || started->count;
}

/* By the kernel, who may have been asked before the end, and by the records. */
static int measure_moved(struct store_reader *i, struct assembly_source *s, struct log_error *err)
{
	const struct state_process *p = &i->state->process;
	bool asked = p->kernel_at_end[STATE_IO_READS];
	int64_t seen[2];
	memcpy(s->used, p->end_reason ? p->used_at_end : p->used_at_start, sizeof s->used);
	s->unknown_use = use_is_unknown(p, i->state->unobserved);
	s->became = p->end_reason == STATE_END_EXEC;
	for (int k = 0; asked && k < 2; k++) {
		s->moved[k] = p->kernel_at_end[STATE_IO_READ + k] + p->own_moved[k];
		s->moved[2 + k] = p->kernel_at_end[STATE_IO_STORAGE_READ + k];
	}
	if (asked && p->end_reason != STATE_END_NONE)
		return 0;
	int code = assembly_seen(s, i, seen, err);
	for (int k = 0; k < 2 && !code; k++) { /* and its children's, which it hands on */
		int64_t known = seen[k] + p->waited[STATE_IO_READ + k] + p->own_moved[k];
		s->moved[k] = s->moved[k] > known ? s->moved[k] : known;
	}
	return code;
}

static int measure(struct store_reader *i, struct assembly_source *s, struct log_error *err)
{
	const struct state_process *p = &i->state->process;
	s->holds = held(log_container(i->log));
	s->start = p->start;
	s->traced = i->state->trace.used > 0;
	s->segments = s->traced && !i->state->trace.compact;
	s->communicates = i->communicating > 0;
	s->communication = store_reader_communication(i);
	s->synchronization = store_reader_synchronization(i);
	s->end = store_reader_last(i);
	s->epoch = p->started - (int64_t)(p->start * 1e9);
	s->pid = p->pid;
	s->parent = p->parent;
	s->pid_outside = p->pid_outside;
	s->parent_outside = p->parent_outside;
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
	return measure_moved(i, s, err);
}

static int add_deaths(struct assembly *a, const struct store_reader *i, const struct assembly_source *s)
{
	int code = 0;
	for (const struct state_death *d = i->state->death; code >= 0 && d < i->state->death + STATE_DEATHS; d++)
		if (d->signal > 0)
			code = log_bytes_add(&a->deaths, &(struct assembly_death){s->host, s->node, d->pid, d->signal},
					     sizeof(struct assembly_death));
	return code;
}

/* ---- what ranks have done ahead ---- */

static bool nothing_left(const struct precompressed *p)
{
	uint64_t left = 0;
	for (int part = 0; part < PRECOMPRESSED_PARTS; part++)
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
	if (nothing_left(s->precompressed) || ids->used || log_open_file(&log, path, &err) < 0)
		return nothing_left(s->precompressed) || ids->used;
	if (precompressed_ids(ids, log, &err) < 0)
		id_set_free(ids);
	log_close(log);
	return ids->used;
}

bool assembly_is_precompressed(const struct assembly *a, uint64_t id)
{
	const struct assembly_source *s = a->source;
	return s && s->precompressed && !id_set_has(&a->common[s->against], id);
}

static void find_precompressed(struct assembly *a, struct assembly_source *s)
{
	char path[4096 + sizeof PRECOMPRESSED_SUFFIX];
	if (!a->job->first)
		return;
	s->against = strcmp(s->name, a->job->first) == 0;
	if ((s->against && !a->job->second) || !(s->precompressed = log_alloc(sizeof *s->precompressed)))
		return;
	assembly_name_file(a, s, path, sizeof path - sizeof PRECOMPRESSED_SUFFIX);
	strcat(path, PRECOMPRESSED_SUFFIX);
	if (precompressed_load(s->precompressed, s->reader.log, path) && know_common(a, s)) {
		memcpy(s->totals, s->precompressed->totals, sizeof s->totals);
		memset(s->counted, 1, sizeof s->counted);
		return;
	}
	log_free(s->precompressed);
	s->precompressed = NULL;
}

static void find_ahead(struct assembly *a, struct assembly_source *s)
{
	char path[4096 + sizeof TRACES_AHEAD_SUFFIX];
	if (!s->reader.state->trace.used || !(s->ahead = log_alloc(sizeof *s->ahead)))
		return;
	assembly_name_file(a, s, path, sizeof path - sizeof TRACES_AHEAD_SUFFIX);
	strcat(path, TRACES_AHEAD_SUFFIX);
	if (traces_ahead_load(s->ahead, &s->reader, path))
		return;
	log_free(s->ahead);
	s->ahead = NULL;
}

static bool is_running(const struct assembly *a, const struct assembly_source *s)
{
	char path[4096];
	assembly_name_file(a, s, path, sizeof path);
	return snapshot_process_runs(&s->reader.state->process, path);
}

/* The kernel's observer renames each new version of a store to its name, and has ended before `iolens run` makes the log. */
static bool is_whole(const struct assembly *a, const struct assembly_source *s)
{
	return s->reader.state->process.observer == STATE_BY_KERNEL && (!s->running || a->job->command);
}

static int examine(struct assembly *a, struct assembly_source *s, bool *settled, struct log_error *err)
{
	struct store_reader *i = &s->reader;
	const struct log_job *job;
	int code = open_source(a, s, err);
	if (code >= 0)
		code = store_reader_load_state(i, err);
	if (code >= 0)
		code = log_job(i->log, &job, err);
	if (code >= 0 && !s->precompressed)
		find_precompressed(a, s);
	if (code >= 0 && !s->ahead && a->job->own)
		find_ahead(a, s);
	if (code >= 0)
		code = number_hosts(a, &i->state->process, s);
	if (code >= 0)
		code = measure(i, s, err);
	if (code >= 0) {
		/* A rank in MPI_Finalize still runs, and has sealed its store. */
		int64_t end = i->state->process.end_reason;
		bool sealed = end == STATE_END_FINALIZE || end == STATE_END_LOGGED;
		s->running = !s->memory && !sealed && is_running(a, s);
		*settled = s->memory || (i->state->process.end_reason && !s->running) || is_whole(a, s);
		add_deaths(a, i, s);
		a->group_readable |= i->state->process.group_readable == 1;
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
	s->other_version = copy.other_version;
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
	store_reader_close(&s->reader);
	s->torn = code < 0;
	code = take_copy(a, s, err);
	if (code < 0 || !s->copy.used)
		return code;
	bool running = s->running;
	if (!s->precompressed) { /* the sums of the first look are those of another moment */
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

static bool same_process(const struct assembly_source *a, const struct assembly_source *b)
{
	return a->start == b->start && a->epoch == b->epoch && a->host == b->host && a->pid == b->pid;
}

/* A store and its copy, for instance at the rank that was about to make the log. In order of start they stand side by side. */
static void drop_copies(struct assembly *a)
{
	size_t kept = 0;
	for (size_t n = 0; n < a->nsources; n++) {
		struct assembly_source *s = &a->sources[n], *before = &a->sources[kept - (kept > 0)];
		if (!kept || !same_process(before, s)) {
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

/* Most processes have no child: who knows that need not look for any among thousands. */
static void learn_parents(struct assembly *a)
{
	id_set_free(&a->parents);
	for (size_t n = 0; n < a->nsources; n++) {
		const struct assembly_source *s = &a->sources[n];
		int64_t parent = s->parent ? s->parent : s->parent_outside;
		if (parent && id_set_add(&a->parents, (uint64_t)parent) < 0) {
			id_set_free(&a->parents);
			return;
		}
	}
}

/* A store of which nothing can be read is left out, and named. */
void assembly_survey(struct assembly *a)
{
	size_t kept = 0;
	for (size_t n = 0; n < a->nsources; n++) {
		struct log_error err = {0};
		report(a, n, a->nsources);
		if (survey_one(a, &a->sources[n], &err) >= 0) {
			a->sources[kept++] = a->sources[n];
			continue;
		}
		lose(a, &a->sources[n], &err);
		forget_source(&a->sources[n]);
	}
	a->nsources = kept;
	if (kept)
		log_sort(a->sources, kept, sizeof *a->sources, by_start);
	drop_copies(a);
	learn_parents(a);
}

void assembly_forget(struct assembly *a)
{
	for (size_t n = 0; n < a->nsources; n++)
		forget_source(&a->sources[n]);
	log_free(a->sources);
	id_set_free(&a->parents);
	id_set_free(&a->common[0]);
	id_set_free(&a->common[1]);
	text_index_free(&a->hosts);
	log_bytes_free(&a->lost);
	log_bytes_free(&a->deaths);
	assembly_forget_plan(a);
}
