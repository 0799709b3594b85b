/* iolens watch: says who waits in which call on which file, when one waits for too long. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "json.h"
#include "live_waits.h"
#include "ptrace_scope.h"
#include "shown.h"
#include "units.h"

struct request {
	const char *wanted; /* NULL = all jobs */
	double stall;       /* s */
	bool once, json, follow;
	const char *hook;
};

static bool set_stall(void *target, const struct choice *c, char *text)
{
	char *end;
	double stall = strtod(text, &end);
	((struct request *)target)->stall = stall;
	return *text && !*end && stall >= 0 && stall <= 1e7;
}

static const struct choice table[] = {
	{"stall", "SECONDS", set_stall, "a call that lasts this long is a stall (default 60)", .expect = "seconds"},
	{"once", NULL, choice_flag, "list every call on a file that waits now, and which of them are stalls; then end",
	 .at = offsetof(struct request, once)},
	{"follow", NULL, choice_flag, "go on after a stall, until the job ends",
	 .at = offsetof(struct request, follow)},
	{"run", "COMMAND", choice_text, "run at each stall, by the shell, with the stall as JSON on its standard input",
	 .at = offsetof(struct request, hook)},
	{"json", NULL, choice_flag, "print the result as JSON", .at = offsetof(struct request, json)},
};

static const struct choices watch_choices = {
	.command = "watch",
	.before = "watch [OPTION...] [JOB]\n"
		  "\n"
		  "Waits until a call of the job on a file has lasted too long, and names process, call, file, file "
		  "system and start.\n"
		  "It makes no calls to the job's file systems, so a hanging one does not block it.\n"
		  "JOB: as for iolens top; without it, all running jobs on this node.\n",
	.after = "Exit codes: 0 no stall (with --once: now), 1 a stall, 2 wrong usage, 3 no such job.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.most = 1,
	.arguments = "",
	.wanted = "give one job, or none",
};

/* ---- one job ---- */

/* From look to look. */
struct watched {
	char name[40];
	struct live_waits waits;
};

struct watching {
	struct live_names *names;
	struct watched *jobs;
	size_t n;
	bool stalled;     /* ever */
	bool doubtful;    /* a call may be a stall, by what one look tells */
	struct json json; /* with --once: of all jobs */
};

static struct watched *watched_job(struct watching *w, const char *name)
{
	for (size_t n = 0; n < w->n; n++)
		if (!strcmp(w->jobs[n].name, name))
			return &w->jobs[n];
	struct watched *jobs = realloc(w->jobs, (w->n + 1) * sizeof *jobs);
	if (!jobs)
		return NULL;
	w->jobs = jobs;
	jobs[w->n] = (struct watched){0};
	snprintf(jobs[w->n].name, sizeof jobs->name, "%s", name);
	return &jobs[w->n++];
}

static bool is_stall(const struct request *r, const struct live_wait *w)
{
	return w->least >= r->stall;
}

static void begin_json(struct json *json, const struct request *r, double now)
{
	char text[40];
	json_document(json, "watch", 1);
	snprintf(text, sizeof text, "%.6f", now);
	json_raw(json, "time", text);
	json_f64(json, "stall", r->stall);
	json_open(json, "jobs", '[');
}

static void end_json(struct json *json)
{
	json_close(json);
	json_close(json);
}

static void put_job(struct json *json, const struct request *r, const struct live_job *j, const struct live_waits *w)
{
	json_open(json, NULL, '{');
	json_text(json, "job", j->name);
	json_i64(json, "job_id", j->id);
	json_text(json, "command", j->command);
	json_i64(json, "running", (int64_t)j->running);
	json_i64(json, "threads", (int64_t)w->threads);
	json_i64(json, "not_told", (int64_t)w->denied);
	json_open(json, "waits", '[');
	for (size_t n = 0; n < w->n; n++)
		if (r->once || is_stall(r, &w->waits[n]))
			live_wait_json(json, &w->waits[n], is_stall(r, &w->waits[n]));
	json_close(json);
	json_close(json);
}

static void put_json(FILE *out, const struct request *r, const struct live_job *j, const struct live_waits *w,
		     double now)
{
	struct json json = {.out = out};
	begin_json(&json, r, now);
	put_job(&json, r, j, w);
	end_json(&json);
}

static void put_text(const struct request *r, const struct live_job *j, const struct live_waits *w)
{
	size_t named = 0, stalls = 0;
	shown_line(stdout, "%s  %s", j->name, j->command);
	for (size_t n = 0; n < w->n; n++) {
		bool stall = is_stall(r, &w->waits[n]);
		if (!r->once && !stall)
			continue;
		live_wait_print(stdout, &w->waits[n], r->once && stall);
		named++;
		stalls += stall;
	}
	printf("%s on files %s, among %s of %s", COUNTED(named, "call"), units_agree((int64_t)named, "waits", "wait"),
	       COUNTED(w->threads, "thread"), COUNTED(w->running, "process"));
	if (r->once && named)
		printf("; %zu for %g s or longer", stalls, r->stall);
	putchar('\n');
	if (w->denied)
		printf("the kernel hides the call of %s: %s\n", COUNTED(w->denied, "thread"), ptrace_scope_words());
}

/* What it does is its own affair, but for a code that says that it could not be started. */
static void run_hook(const struct request *r, const struct live_job *j, const struct live_waits *w, double now)
{
	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	FILE *hook = popen(r->hook, "w");
	if (hook)
		put_json(hook, r, j, w, now);
	int status = hook ? pclose(hook) : -1;
	if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		cli_fail(0, "watch: the command of --run has failed: %s", r->hook);
}

/* A stall is told once. */
static bool has_news(const struct request *r, struct live_waits *w)
{
	bool news = false;
	for (size_t n = 0; n < w->n; n++)
		if (is_stall(r, &w->waits[n]) && !w->waits[n].told)
			news = w->waits[n].told = true;
	return news;
}

static void tell(const struct request *r, const struct live_job *j, const struct live_waits *w, double now)
{
	if (r->json)
		put_json(stdout, r, j, w, now);
	else
		put_text(r, j, w);
	fflush(stdout);
}

static int look_at(struct watching *w, const struct request *r, const struct live_job *j, const struct live_look *look,
		   bool quiet)
{
	struct watched *job = watched_job(w, j->name);
	if (!job || !live_waits_update(&job->waits, j, look))
		return cli_fail(CLI_INPUT, "watch: not enough memory");
	for (size_t n = 0; n < job->waits.n; n++)
		w->doubtful |= !is_stall(r, &job->waits.waits[n]) && job->waits.waits[n].most >= r->stall;
	if (quiet)
		return 0;
	bool news = has_news(r, &job->waits);
	w->stalled = w->stalled || news;
	if (r->once && r->json)
		put_job(&w->json, r, j, &job->waits);
	else if (news || r->once)
		tell(r, j, &job->waits, look->now);
	if (news && r->hook)
		run_hook(r, j, &job->waits, look->now);
	return 0;
}

/* ---- until there is something to say ---- */

/* Returns an exit code, or how many processes run, plus CLI_LOOKED. */
enum { CLI_LOOKED = 1 << 8 };

static int look_once(struct watching *w, const struct request *r, bool quiet)
{
	struct live_look look;
	struct live l = {0};
	struct log_error err;
	size_t running = 0;
	int code = live_look_take(&look, w->names, &err);
	if (code >= 0)
		code = live_make(&l, &look, NULL, w->names, r->wanted, &err);
	if (code < 0)
		code = cli_fail(CLI_INPUT, "watch: %s", err.message);
	bool whole = !code && r->once && r->json && !quiet;
	if (whole)
		begin_json(&w->json, r, look.now);
	for (size_t n = 0; !code && n < l.n; n++) {
		running += l.jobs[n].running;
		code = look_at(w, r, &l.jobs[n], &look, quiet);
	}
	if (whole)
		end_json(&w->json);
	live_free(&l);
	live_look_free(&look);
	return code ? code : CLI_LOOKED + (running > 0);
}

static void nap(double s)
{
	nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL);
}

/* With --once: two looks tell how long a call has lasted at least. Where these take too long, the scheduler has to. */
static int look_ahead(struct watching *w, const struct request *r)
{
	enum { LONGEST = 10 };
	if (!r->once || r->stall > LONGEST)
		return CLI_LOOKED;
	int found = look_once(w, r, true);
	if (w->doubtful)
		nap(r->stall);
	return found;
}

static int watch(struct watching *w, const struct request *r)
{
	double pause = r->stall / 10 < 0.2 ? 0.2 : r->stall / 10 > 1 ? 1 : r->stall / 10;
	int found = look_ahead(w, r);
	for (bool seen = false; found >= CLI_LOOKED; nap(pause)) {
		found = look_once(w, r, false);
		if (found < CLI_LOOKED)
			break;
		if (found == CLI_LOOKED && !seen && r->wanted)
			return live_look_missed("watch", r->wanted);
		seen = true;
		if (r->once || found == CLI_LOOKED || (w->stalled && !r->follow))
			return w->stalled ? CLI_FINDINGS : CLI_OK;
	}
	return found;
}

static int watch_main(int argc, char **argv)
{
	struct request r = {.stall = 60};
	struct watching w = {.json = {.out = stdout}};
	int code, at = choices_parse(&watch_choices, argc, argv, &r, &code);
	if (at < 0)
		return code;
	r.wanted = at < argc ? argv[at] : NULL;
	w.names = live_names_make();
	code = w.names ? watch(&w, &r) : cli_fail(CLI_INPUT, "watch: not enough memory");
	for (size_t n = 0; n < w.n; n++)
		live_waits_free(&w.jobs[n].waits);
	free(w.jobs);
	live_names_free(w.names);
	return code;
}

const struct command watch_command = {
	.name = "watch",
	.main = watch_main,
	.group = GROUP_OBSERVE,
	.place = 90,
	.about = "which process waits in which call on which file: for jobs that hang",
	.choices = &watch_choices,
};
