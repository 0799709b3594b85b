/* How processes ended, and what nobody could record: killed, still running, damaged, missing, out of our reach. */
#include <string.h>
#include <sys/wait.h>

#include "assembly.h"

enum { MISSING_MAX = 4096 }; /* rows for ranks that left nothing */

static const char *const ends[] = {"unknown", "exit", "quick_exit", "exec", "finalize", "abort", "finalize"};

static int64_t death_of(const struct assembly *a, const struct assembly_source *s)
{
	const struct assembly_death *d = (const struct assembly_death *)a->deaths.at;
	if (!s->last)
		return 0;
	if (a->job->command == s->pid && a->job->command && WIFSIGNALED(a->job->status))
		return WTERMSIG(a->job->status);
	for (size_t n = 0; n < a->deaths.used / sizeof *d; n++)
		if (d[n].host == s->host && d[n].pid == s->pid)
			return d[n].signal;
	return 0;
}

struct assembly_end assembly_end_of(const struct assembly *a, const struct live_process *p)
{
	const struct assembly_source *s = a->source;
	bool known = p->end_reason > 0 && p->end_reason < (int64_t)(sizeof ends / sizeof *ends);
	struct assembly_end e = {ends[known ? p->end_reason : 0], death_of(a, s), p->exit_code};
	bool command = s->last && s->pid == a->job->command && a->job->command;
	if (e.signal && p->end_reason != LIVE_END_ABORT)
		e.how = "signal";
	else if (known)
		return e;
	else if (s->running)
		e.how = "running";
	else if (s->torn)
		e.how = "torn";
	else if (command && WIFEXITED(a->job->status))
		e = (struct assembly_end){"exit", 0, WEXITSTATUS(a->job->status)};
	return e;
}

/* ---- what is missing ---- */

static int add_row(struct assembly *a, int64_t rank, const char *name, const char *why)
{
	struct trailer_section *s = &a->section[ASSEMBLY_PROCESS];
	static const char *const unknown[] = {"kernel_read",     "kernel_written", "storage_read",
					      "storage_written", "unseen_read",    "unseen_written"};
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "exe", 0, name);
	section_set_text(s, "command", 0, why);
	section_set_text(s, "ended", 0, "missing");
	for (size_t f = 0; f < sizeof unknown / sizeof *unknown; f++)
		section_set_i64(s, unknown[f], 0, -1);
	return s->failed;
}

static bool has_rank(const struct assembly_part *p, int64_t rank)
{
	size_t low = 0, high = p->nmembers;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (p->members[middle].rank >= 0 && p->members[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->nmembers && p->members[low].rank == rank;
}

int assembly_add_missing(struct assembly *a)
{
	const struct assembly_lost *lost = (const struct assembly_lost *)a->lost.at;
	const struct assembly_part *p = a->part;
	int code = 0, rows = 0;
	for (size_t n = 0; code >= 0 && p == a->parts && n < a->lost.used / sizeof *lost && rows++ < MISSING_MAX; n++)
		code = add_row(a, -1, lost[n].name, lost[n].why);
	int64_t ranks = a->ranks ? (int64_t)a->nranks : p->nprocs;
	for (int64_t n = 0; code >= 0 && p->mpi && n < ranks && rows < MISSING_MAX; n++) {
		int64_t rank = a->ranks ? a->ranks[n] : n;
		if (has_rank(p, rank))
			continue;
		code = add_row(a, rank, "", "no store");
		rows++;
	}
	return code;
}

/* ---- what we cannot follow ---- */

static const char *const reasons[] = {
	[LIVE_BLIND_NONE] = "unknown",    [LIVE_BLIND_STATIC] = "static",
	[LIVE_BLIND_SETUID] = "setuid",   [LIVE_BLIND_ENVIRONMENT] = "environment",
	[LIVE_BLIND_MACHINE] = "machine",
};

int assembly_add_unobserved(struct assembly *a, const struct image *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_UNOBSERVED];
	for (const struct live_unobserved *u = i->live->unobserved; u < i->live->unobserved + LIVE_UNOBSERVED; u++) {
		char program[LIVE_UNOBSERVED_TEXT];
		if (u->count <= 0)
			continue;
		memcpy(program, u->program, sizeof program);
		program[sizeof program - 1] = '\0';
		section_row(s);
		section_set_i64(s, "rank", 0, i->rank);
		section_set_text(s, "program", 0, program);
		section_set_text(s, "reason", 0,
				 reasons[u->reason > 0 && u->reason < LIVE_BLIND_COUNT ? u->reason : 0]);
		section_set_i64(s, "count", 0, u->count);
	}
	return s->failed;
}
