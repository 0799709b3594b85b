#include "live_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "hash.h"
#include "index.h"

/* ---- which stores belong together ---- */

/* Of each key the first store that has it; stores with a common key are one group. */
struct grouping {
	struct index keys;
	size_t *first;  /* by number of key */
	size_t *parent; /* by store */
};

static size_t group_of(struct grouping *g, size_t n)
{
	while (g->parent[n] != n)
		n = g->parent[n] = g->parent[g->parent[n]];
	return n;
}

static int join_by(struct grouping *g, size_t store, const char *key)
{
	bool is_new;
	if (!index_grow(&g->first, g->keys.used, sizeof *g->first))
		return LOG_E_MEMORY;
	size_t number = index_number(&g->keys, log_id(key), &is_new);
	if (number == SIZE_MAX)
		return LOG_E_MEMORY;
	if (is_new)
		g->first[number] = store;
	g->parent[group_of(g, store)] = group_of(g, g->first[number]);
	return 0;
}

/*
 * What a session's or MPI job's directory is called, without what all have: Ab3dEf, 0-0123456789abcdef. False: processes without
 * either have their stores there.
 */
static bool session_name(const char *path, char name[40])
{
	const char *at = NULL;
	for (const char *next = path; (next = strstr(next, "iolens-")); next++)
		if (next > path && (next[-1] == '/' || (next[-1] == '.' && next > path + 1 && next[-2] == '/')))
			at = next + strlen("iolens-");
	size_t n = at ? strcspn(at, "./") : 0;
	snprintf(name, 40, "%.*s", n < 40 ? (int)n : 39, at ? at : "");
	return name[strspn(name, "0123456789")] != '\0';
}

/* Its length. Of a store in a bundle the directory is two further up. */
static int directory_of(const char *path)
{
	size_t n = strlen(path);
	for (int parts = bundle_names(path) ? 3 : 1; n && parts; parts -= path[n] == '/')
		n--;
	return (int)n;
}

/* A number of the scheduler's or a process's; 0 = it is none. */
static long long number_of(const char *wanted)
{
	char *end;
	long long number = wanted ? strtoll(wanted, &end, 10) : 0;
	return wanted && *wanted && !*end && number > 0 ? number : 0;
}

/* `joined`: a job whose stores on several nodes are one; 0 = none. */
static int join_store(struct grouping *g, size_t n, const struct live_store *s, long long joined)
{
	char key[100], name[40];
	if (joined && s->job == joined)
		snprintf(key, sizeof key, "number %u %lld", (unsigned)s->owner, joined);
	else if (session_name(s->path, name))
		snprintf(key, sizeof key, "session %s", name);
	else
		snprintf(key, sizeof key, "job %u %lld", (unsigned)s->owner, (long long)s->job);
	int code = join_by(g, n, key);
	snprintf(key, sizeof key, "world %llx", (unsigned long long)s->process.mpi_world);
	return code < 0 || s->process.mpi_size <= 0 ? code : join_by(g, n, key);
}

/* ---- one job ---- */

static bool reaches_system(int slot)
{
	return written_modules[slot].descriptors;
}

static int add_file(struct live_job *j, struct index *ids, int slot, const struct live_record *r,
		    const struct live_counts *since)
{
	bool is_new;
	if (!live_has_files(slot))
		return 0;
	if (!index_grow(&j->files, j->nfiles, sizeof *j->files))
		return LOG_E_MEMORY;
	size_t number = index_number(ids, r->id, &is_new);
	if (number == SIZE_MAX)
		return LOG_E_MEMORY;
	struct live_file *f = &j->files[number];
	if (is_new)
		*f = (struct live_file){.id = r->id};
	j->nfiles += is_new;
	bool lower = reaches_system(slot), had_lower = f->interfaces & ~(1u << written_slot(LOG_MOD_MPIIO));
	f->size = r->size > f->size ? r->size : f->size;
	f->interfaces |= 1u << slot;
	f->processes++;
	if (!lower && had_lower)
		return 0;
	if (lower && !had_lower)
		f->counts = f->since = (struct live_counts){0};
	live_counts_add(&f->counts, &r->counts);
	live_counts_add(&f->since, since);
	return 0;
}

bool live_has_files(int slot)
{
	return reaches_system(slot) || written_modules[slot].module == LOG_MOD_MPIIO;
}

struct live_counts live_record_since(const struct live_process *p, int slot, size_t n)
{
	const struct live_counts none = {0}, *now = &p->store->records[slot][n].counts;
	bool was = p->before && n < p->before->nrecords[slot];
	return live_counts_since(now, was ? &p->before->records[slot][n].counts : &none);
}

static int add_records(struct live_job *j, struct index *ids, const struct live_process *p)
{
	const struct live_store *s = p->store;
	for (int slot = 0; slot < WRITTEN_COUNT; slot++)
		for (size_t n = 0; n < s->nrecords[slot]; n++) {
			struct live_counts since = live_record_since(p, slot, n);
			if (add_file(j, ids, slot, &s->records[slot][n], &since) < 0)
				return LOG_E_MEMORY;
		}
	return 0;
}

static void add_interfaces(struct live_job *j, struct live_process *p, const struct live_store *before)
{
	const struct live_counts none = {0};
	for (int slot = 0; slot < WRITTEN_COUNT; slot++) {
		const struct live_counts *c = &p->store->interface[slot];
		struct live_counts since = live_counts_since(c, before ? &before->interface[slot] : &none);
		struct live_interface *i = &j->interface[slot];
		i->files += (int64_t)p->store->nrecords[slot];
		live_counts_add(&i->counts, c);
		live_counts_add(&i->since, &since);
		if (!reaches_system(slot))
			continue;
		live_counts_add(&p->counts, c);
		live_counts_add(&p->since, &since);
	}
	live_counts_add(&j->counts, &p->counts);
	live_counts_add(&j->since, &p->since);
}

static void add_operations(struct live_job *j, const struct live_store *s, const struct live_store *before)
{
	for (int n = 0; n < STATE_OP_COUNT; n++) {
		int64_t more = s->operation[n].count - (before ? before->operation[n].count : 0);
		j->operation[n].count += s->operation[n].count;
		j->operation[n].errors += s->operation[n].errors;
		j->operation[n].time += s->operation[n].time;
		j->operation[n].since += more > 0 ? more : 0;
	}
	for (int n = 1; n < STATE_CLASS_COUNT; n++) {
		j->class[n].opens += s->class[n].opens;
		for (int k = 0; k < 2; k++) {
			j->class[n].calls[k] += s->class[n].calls[k];
			j->class[n].bytes[k] += s->class[n].bytes[k];
		}
	}
	for (int op = 0; op < 2; op++)
		for (int c = 0; c < STATE_SIZES; c++)
			j->sizes[op][c] += s->sizes[op][c];
}

/* Sessions of one MPI job began at different times. */
static void add_heat(struct live_job *j, const struct live_store *s)
{
	double shift = live_store_epoch(s) - j->started, width = s->heat.width;
	for (int op = 0; op < 2; op++)
		for (int b = 0; b < STATE_BINS; b++) {
			double at = shift + b * width;
			if (s->heat.bytes[op][b] > 0)
				state_heat_add(&j->heat, op, s->heat.bytes[op][b], at > 0 ? at : 0,
					       at + width * (1 - 1e-9));
		}
}

/* The process that stands for the job: rank 0, or who began first. */
static void lead(struct live_job *j, const struct live_store *s, const struct live_store **leader)
{
	const struct live_store *l = *leader;
	bool rank = s->process.mpi_size > 0, first = !l || s->process.started < l->process.started;
	bool leads = l && l->process.mpi_size > 0;
	if (!l || (rank && !leads) || (rank && s->process.mpi_rank < l->process.mpi_rank) ||
	    (!rank && !leads && first)) {
		*leader = s;
		j->command = s->command;
		j->owner = s->owner;
		j->id = s->job;
	}
	double epoch = live_store_epoch(s);
	if (j->started == 0 || epoch < j->started) {
		j->started = epoch;
		snprintf(j->session, sizeof j->session, "%.*s", directory_of(s->path), s->path);
		if (!session_name(s->path, j->name))
			snprintf(j->name, sizeof j->name, "%lld", (long long)s->process.pid);
	}
}

static int by_rank(const void *x, const void *y)
{
	const struct state_process *a = &((const struct live_process *)x)->store->process;
	const struct state_process *b = &((const struct live_process *)y)->store->process;
	int64_t ra = a->mpi_size > 0 ? a->mpi_rank : INT64_MAX, rb = b->mpi_size > 0 ? b->mpi_rank : INT64_MAX;
	if (ra != rb)
		return ra < rb ? -1 : 1;
	return a->started < b->started ? -1 : a->started > b->started;
}

static int by_id(const void *x, const void *y)
{
	uint64_t a = ((const struct live_file *)x)->id, b = ((const struct live_file *)y)->id;
	return a < b ? -1 : a > b;
}

static void count_process(struct live_job *j, const struct live_store *s, double now)
{
	bool other_host = true;
	for (size_t n = 0; n + 1 < j->nprocesses && other_host; n++)
		other_host = strcmp(j->processes[n].store->process.host, s->process.host) != 0;
	double epoch = live_store_epoch(s), until = s->pid ? now : epoch + s->last;
	j->running += s->pid != 0;
	j->ended += s->pid == 0;
	j->ranks += s->process.mpi_size > 0;
	j->hosts += other_host;
	j->run_time = until - j->started > j->run_time ? until - j->started : j->run_time;
}

static int add_process(struct live_job *j, struct index *ids, const struct live_store *s,
		       const struct live_look *before, double now)
{
	const struct live_store *was = before ? live_look_find(before, s->path) : NULL;
	if (!index_grow(&j->processes, j->nprocesses, sizeof *j->processes))
		return LOG_E_MEMORY;
	struct live_process *p = &j->processes[j->nprocesses++];
	*p = (struct live_process){.store = s, .before = before ? was : s};
	count_process(j, s, now);
	/* What began between the looks did all of it since. With one look nothing is known. */
	add_interfaces(j, p, p->before);
	add_operations(j, s, p->before);
	add_heat(j, s);
	return add_records(j, ids, p);
}

static void name_files(struct live_job *j, const struct live_names *names)
{
	for (size_t n = 0; n < j->nfiles; n++) {
		const char *name = live_name(names, j->files[n].id);
		j->files[n].name = name ? name : "<unnamed>";
		j->files[n].file_system = live_file_system(names, j->files[n].id);
	}
}

static int fill_job(struct live_job *j, struct grouping *g, size_t group, const struct live_look *now,
		    const struct live_look *before)
{
	struct index ids = {0};
	const struct live_store *leader = NULL;
	int code = 0;
	*j = (struct live_job){0};
	for (size_t n = 0; n < now->n; n++)
		if (group_of(g, n) == group)
			lead(j, &now->stores[n], &leader);
	for (size_t n = 0; code >= 0 && n < now->n; n++)
		if (group_of(g, n) == group)
			code = add_process(j, &ids, &now->stores[n], before, now->now);
	index_free(&ids);
	if (j->nprocesses)
		qsort(j->processes, j->nprocesses, sizeof *j->processes, by_rank);
	if (j->nfiles)
		qsort(j->files, j->nfiles, sizeof *j->files, by_id);
	return code;
}

/* ---- all of them ---- */

/* A name with or without what all have, a directory, the scheduler's number, or that of one of its processes. */
static bool is_wanted(const struct live_job *j, const char *wanted)
{
	char directory[620];
	const char *name = strncmp(wanted, "iolens-", 7) == 0 ? wanted + 7 : wanted;
	if (!strcmp(j->name, name))
		return true;
	long long number = number_of(wanted);
	snprintf(directory, sizeof directory, "%.600s/", wanted);
	if (number && j->id == number)
		return true;
	for (size_t n = 0; n < j->nprocesses; n++) {
		const struct live_store *s = j->processes[n].store;
		const char *path = strchr(s->path, '/');
		if (number && (s->pid == number || s->process.pid == number))
			return true;
		if (*wanted == '/' && path && strncmp(path, directory, strlen(directory)) == 0)
			return true;
	}
	return false;
}

static void drop_job(struct live_job *j)
{
	log_free(j->processes);
	log_free(j->files);
}

static int by_start(const void *x, const void *y)
{
	double a = ((const struct live_job *)x)->started, b = ((const struct live_job *)y)->started;
	return a > b ? -1 : a < b;
}

static int add_jobs(struct live *l, struct grouping *g, const struct live_look *now, const struct live_look *before,
		    const struct live_names *names, const char *wanted)
{
	for (size_t n = 0; n < now->n; n++) {
		if (group_of(g, n) != n)
			continue;
		if (!index_grow(&l->jobs, l->n, sizeof *l->jobs))
			return LOG_E_MEMORY;
		struct live_job *j = &l->jobs[l->n];
		int code = fill_job(j, g, n, now, before);
		bool kept = code >= 0 && (wanted ? is_wanted(j, wanted) : j->running > 0);
		if (kept)
			name_files(j, names);
		else
			drop_job(j);
		l->n += kept;
		if (code < 0)
			return code;
	}
	return 0;
}

int live_make(struct live *l, const struct live_look *now, const struct live_look *before,
	      const struct live_names *names, const char *wanted, struct log_error *err)
{
	struct grouping g = {.parent = log_alloc((now->n + 1) * sizeof *g.parent)};
	int code = g.parent ? 0 : LOG_E_MEMORY;
	*l = (struct live){.interval = before ? now->at - before->at : 0, .nodes = now->nodes, .nnodes = now->nnodes};
	for (size_t n = 0; g.parent && n < now->n; n++)
		g.parent[n] = n;
	for (size_t n = 0; code >= 0 && n < now->n; n++)
		code = join_store(&g, n, &now->stores[n], now->nnodes ? number_of(wanted) : 0);
	if (code >= 0)
		code = add_jobs(l, &g, now, before, names, wanted);
	if (l->n)
		qsort(l->jobs, l->n, sizeof *l->jobs, by_start);
	index_free(&g.keys);
	log_free(g.first);
	log_free(g.parent);
	if (code < 0) {
		live_free(l);
		return log_fail(err, LOG_E_MEMORY, LOG_NOWHERE, "not enough memory");
	}
	return 0;
}

void live_free(struct live *l)
{
	for (size_t n = 0; n < l->n; n++)
		drop_job(&l->jobs[n]);
	log_free(l->jobs);
	*l = (struct live){0};
}

double live_rate(const struct live *l, int64_t n)
{
	return l->interval > 0 ? (double)n / l->interval : 0;
}

int64_t live_operations(const struct live_counts *c)
{
	return c->calls[IO_READ] + c->calls[IO_WRITE] + c->opens;
}

double live_time(const struct live_counts *c)
{
	return c->time[IO_READ] + c->time[IO_WRITE] + c->time[IO_META];
}

void live_interfaces(uint32_t interfaces, char *text, size_t room)
{
	size_t used = 0;
	*text = '\0';
	for (int slot = 0; slot < WRITTEN_COUNT && used < room; slot++)
		if (interfaces & 1u << slot)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
						 written_modules[slot].key);
}
