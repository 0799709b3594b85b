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
#include "launcher.h"

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

static void tell(const struct assembly *a)
{
	struct assemble_found *found = a->job->found;
	if (!found)
		return;
	*found = (struct assemble_found){.lost = a->lost.used / sizeof(struct assembly_lost)};
	for (size_t n = 0; n < a->nsources; n++) {
		found->running += a->sources[n].running;
		found->torn += a->sources[n].torn && !a->sources[n].other_version;
		found->other_version += a->sources[n].other_version;
	}
	if (WIFSIGNALED(a->job->status))
		found->signal = WTERMSIG(a->job->status);
}

/* ---- one log after the other ---- */

/* x.darshan, the name that was asked for, is always there; beside it x-mpi2.darshan, x-serial.darshan. */
void assemble_name(char *out, size_t room, const char *path, size_t n, bool mpi)
{
	const char *end = strrchr(path, '.');
	bool known = end && strcmp(end, ".darshan") == 0;
	int stem = known ? (int)(end - path) : (int)strlen(path);
	const char *suffix = known ? end : "";
	if (!n)
		snprintf(out, room, "%s", path);
	else if (mpi)
		snprintf(out, room, "%.*s-mpi%zu%s", stem, path, n + 1, suffix);
	else
		snprintf(out, room, "%.*s-serial%s", stem, path, suffix);
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
		assemble_name(name, sizeof name, path, n, a->part->mpi);
		code = assembly_write(a, name);
		if (code < 0 && a->job->found)
			snprintf(a->job->found->unwritten, sizeof a->job->found->unwritten, "%s", name);
		if (code >= 0 && a->job->wrote)
			a->job->wrote(a->job->context, name);
	}
	return code;
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
	own.memory = store;
	own.size = size;
	struct assembly a = {.job = &own};
	int code = assembly_add_source(&a, "");
	return code < 0 ? code : assemble(&a, path, err);
}
