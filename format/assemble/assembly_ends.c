/* How processes ended, and what could not be recorded: killed, still running, damaged, missing, out of our reach. */
#include <string.h>
#include <sys/wait.h>

#include "assembly.h"
#include "precision.h"

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
		if (d[n].host == s->host ? d[n].pid == s->pid
					 : d[n].node == s->node && s->pid_outside && d[n].pid == s->pid_outside)
			return d[n].signal;
	return 0;
}

struct assembly_end assembly_end_of(const struct assembly *a, const struct state_process *p)
{
	const struct assembly_source *s = a->source;
	bool known = p->end_reason > 0 && p->end_reason < (int64_t)(sizeof ends / sizeof *ends);
	struct assembly_end e = {ends[known ? p->end_reason : 0], death_of(a, s), p->exit_code};
	bool command = s->last && s->pid == a->job->command && a->job->command;
	if (e.signal && p->end_reason != STATE_END_ABORT)
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
	static const char *const unknown[] = {
		"kernel_read",    "kernel_written",   "storage_read",        "storage_written", "unseen_read",
		"unseen_written", "unexplained_read", "unexplained_written", "major_faults",    "waits"};
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "exe", 0, name);
	section_set_text(s, "command", 0, why);
	section_set_text(s, "ended", 0, "missing");
	for (size_t f = 0; f < sizeof unknown / sizeof *unknown; f++)
		section_set_i64(s, unknown[f], 0, -1);
	section_set_f64(s, "user_time", 0, -1);
	section_set_f64(s, "system_time", 0, -1);
	section_set_f64(s, "processor_wait", 0, -1);
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
	[UNTRACED_NONE] = "unknown",    [UNTRACED_STATIC] = "static",
	[UNTRACED_SETUID] = "setuid",   [UNTRACED_ENVIRONMENT] = "environment",
	[UNTRACED_MACHINE] = "machine", [UNTRACED_STORE] = "no_store",
	[UNTRACED_LIBC] = "libc",       [UNTRACED_FILTER] = "filter",
};

static void add_program(struct trailer_section *s, int64_t rank, const struct state_unobserved *u)
{
	char program[STATE_UNOBSERVED_TEXT];
	memcpy(program, u->program, sizeof program);
	program[sizeof program - 1] = '\0';
	section_row(s);
	section_set_i64(s, "rank", 0, rank);
	section_set_text(s, "program", 0, program);
	section_set_text(s, "reason", 0, reasons[u->reason > 0 && u->reason < UNTRACED_COUNT ? u->reason : 0]);
	section_set_i64(s, "count", 0, u->count);
}

/* It became a program that has left no store. A process that writes its own log knows nothing of the next one. */
static bool is_lost(const struct assembly *a, const struct state_process *p)
{
	return a->source->last && p->end_reason == STATE_END_EXEC && !a->job->own;
}

static void copy_end(char *to, size_t room, const char *text)
{
	size_t n = strlen(text);
	strcpy(to, n < room ? text : text + n - (room - 1));
}

static void add_lost_children(struct trailer_section *s, int64_t rank, const struct state_process *p)
{
	struct state_unobserved children = {.count = p->lost_children, .reason = UNTRACED_STORE};
	char exe[sizeof p->exe];
	memcpy(exe, p->exe, sizeof exe);
	exe[sizeof exe - 1] = '\0';
	copy_end(children.program, sizeof children.program, exe);
	if (children.count > 0)
		add_program(s, rank, &children);
}

int assembly_add_unobserved(struct assembly *a, struct store_reader *i)
{
	struct trailer_section *s = &a->section[ASSEMBLY_UNOBSERVED];
	const struct state_process *p = &i->state->process;
	struct state_unobserved next = {.count = is_lost(a, p), .reason = UNTRACED_STORE};
	memcpy(next.program, p->becomes, sizeof next.program);
	for (const struct state_unobserved *u = i->state->unobserved; u < i->state->unobserved + STATE_UNOBSERVED; u++)
		if (u->count > 0) {
			add_program(s, i->rank, u);
			if (memcmp(u->program, next.program, sizeof next.program) == 0)
				next.count = 0; /* its reason is known */
		}
	if (next.count)
		add_program(s, i->rank, &next);
	add_lost_children(s, i->rank, p);
	return s->failed;
}

/* Most programs are observed from inside: they have no rows. */
int assembly_add_observer(struct assembly *a, struct store_reader *i)
{
	static const char *const names[STATE_BY_COUNT] = {
		[STATE_BY_KERNEL] = "kernel",
		[STATE_BY_TOTALS] = "totals",
	};
	struct trailer_section *s = &a->section[ASSEMBLY_OBSERVERS];
	const struct state_process *p = &i->state->process;
	if (p->observer <= STATE_BY_ITSELF || p->observer >= STATE_BY_COUNT)
		return 0;
	section_row(s);
	section_set_i64(s, "rank", 0, i->rank);
	section_set_i64(s, "pid", 0, p->pid);
	section_set_f64(s, "start", 0, precise_begin(p->start));
	section_set_text(s, "observer", 0, names[p->observer]);
	return s->failed;
}
