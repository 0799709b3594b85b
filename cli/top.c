/* iolens top: what observed programs on this node read and write right now, straight from their stores. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "choices.h"
#include "cli.h"
#include "json.h"
#include "live_json.h"
#include "live_metrics.h"
#include "live_nodes.h"
#include "live_page.h"
#include "live_screen.h"
#include "output.h"
#include "units.h"

struct request {
	const char *wanted; /* NULL = all jobs */
	bool once, json, slurm, answer;
	const char *metrics; /* file */
	const char *nodes;   /* their names; NULL = this one alone */
	const char *through; /* what leads there; NULL = ssh, or srun */
	double every;        /* s */
	size_t rows;
};

static bool set_every(void *target, const struct choice *c, char *text)
{
	char *end;
	double every = strtod(text, &end);
	((struct request *)target)->every = every;
	return !*end && every >= 0.1 && every <= 86400;
}

static bool set_rows(void *target, const struct choice *c, char *text)
{
	struct request *r = target;
	char *end;
	bool all = !strcmp(text, "all");
	r->rows = all ? SIZE_MAX : strtoull(text, &end, 10);
	return all || (*text >= '0' && *text <= '9' && !*end && r->rows);
}

static const struct choice table[] = {
	{"once", NULL, choice_flag, "print once, and end; the default if standard output is no terminal",
	 .at = offsetof(struct request, once)},
	{"every", "SECONDS", set_every, "interval of updates and rates (default 1)", .letter = 'n',
	 .expect = "seconds from 0.1 on"},
	{"rows", "N", set_rows, "with --once: only the first N rows of each table, or all (default 20)",
	 .expect = "a number above 0, or all"},
	{"json", NULL, choice_flag, "once, as JSON, with every file; numbers in bytes and seconds",
	 .at = offsetof(struct request, json)},
	{"nodes", "NAME,...", choice_text,
	 "show these nodes as one, by ssh; each needs the same iolens under the same path",
	 .at = offsetof(struct request, nodes)},
	{"slurm", NULL, choice_flag, "show all nodes of JOB, a Slurm job number, by srun",
	 .at = offsetof(struct request, slurm)},
	{"through", "COMMAND", choice_text,
	 "with --nodes or --slurm: instead of ssh or srun; %h is the node's name, otherwise appended",
	 .at = offsetof(struct request, through)},
	{"answer", NULL, choice_flag, "used by iolens top on other nodes: print once per byte of standard input",
	 .at = offsetof(struct request, answer)},
	{"openmetrics", "FILE", choice_text,
	 "rewrite FILE at each update, for a node exporter's text file collector; -: standard output",
	 .at = offsetof(struct request, metrics)},
};

static const struct choices top_choices = {
	.command = "top",
	.before = "top [OPTION...] [JOB]\n"
		  "\n"
		  "What observed programs on this node read and write right now: rates by job, file, process, "
		  "interface; your\n"
		  "programs, or as root those of all users. It only reads their stores.\n"
		  "JOB: a session (name or directory), the scheduler's number of a job, or a process; without it, "
		  "all running jobs.\n",
	.after = "Times and the share in I/O count ended calls. iolens watch shows calls that wait now.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.most = 1,
	.arguments = "",
	.wanted = "give one job, or none",
};

/* ---- looking ---- */

struct watching {
	struct live_names *names;
	struct live_nodes *nodes; /* NULL = this one alone */
	struct live_look now, before;
	bool has_before;
};

static int fail_look(const struct log_error *err)
{
	return cli_fail(CLI_INPUT, "top: %s", err->message);
}

/* Takes another look; *l is of it and the one before. */
static int look_again(struct watching *w, const struct request *r, struct live *l)
{
	struct log_error err;
	live_free(l);
	live_look_free(&w->before);
	w->before = w->now;
	w->has_before = w->before.at > 0;
	int code =
		w->nodes ? live_nodes_look(w->nodes, &w->now, w->names, &err) : live_look_take(&w->now, w->names, &err);
	if (code < 0)
		return fail_look(&err);
	if (live_make(l, &w->now, w->has_before ? &w->before : NULL, w->names, r->wanted, &err) < 0)
		return fail_look(&err);
	return 0;
}

static void nap(double s)
{
	struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static int look_twice(struct watching *w, const struct request *r, struct live *l)
{
	int code = look_again(w, r, l);
	if (code)
		return code;
	nap(r->every);
	return look_again(w, r, l);
}

/* ---- once ---- */

static size_t width_of_terminal(void)
{
	struct winsize size = {0};
	if (!isatty(STDOUT_FILENO))
		return 0;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return size.ws_col ? size.ws_col : 80;
}

static int print_page(const struct request *r, const struct live *l)
{
	struct output out;
	if (!output_open(&out, STDOUT_FILENO) || !live_put_page(&out, l, r->rows, width_of_terminal()))
		return cli_fail(CLI_INPUT, "top: not enough memory");
	return output_close(&out) == 0 ? CLI_OK : cli_fail(CLI_INPUT, "top: cannot write the page");
}

static int write_metrics(const struct request *r, const struct live *l)
{
	if (!strcmp(r->metrics, "-")) {
		live_metrics(stdout, l);
		return fflush(stdout) == 0 ? 0 : cli_fail(CLI_INPUT, "top: cannot write: %s", strerror(errno));
	}
	char part[4096];
	if ((size_t)snprintf(part, sizeof part, "%s.part", r->metrics) >= sizeof part)
		return cli_fail(CLI_USAGE, "top: %s: %s", r->metrics, strerror(ENAMETOOLONG));
	FILE *out = fopen(part, "we");
	if (out)
		live_metrics(out, l);
	bool good = out && !ferror(out);
	good = out && fclose(out) == 0 && good;
	if (good && rename(part, r->metrics) == 0)
		return 0;
	int error = errno;
	if (out)
		unlink(part);
	return cli_fail(CLI_INPUT, "top: %s: cannot be written: %s", r->metrics, strerror(error));
}

/* What is not there, and what could not be read. */
static int judge(const struct request *r, const struct watching *w, const struct live *l)
{
	if (w->now.unreadable)
		return cli_fail(CLI_PARTIAL, "top: %s %s of another version of iolens: that version shows %s",
				COUNTED(w->now.unreadable, "store"),
				units_agree((int64_t)w->now.unreadable, "is", "are"),
				units_agree((int64_t)w->now.unreadable, "it", "them"));
	size_t silent = 0;
	for (size_t n = 0; n < l->nnodes; n++)
		silent += l->nodes[n].problem[0] && cli_fail(1, "top: %s: %s", l->nodes[n].name, l->nodes[n].problem);
	if (silent && silent == l->nnodes)
		return CLI_INPUT;
	if (r->wanted && !l->n)
		return live_look_missed("top", r->wanted);
	return silent ? CLI_PARTIAL : CLI_OK;
}

static int show_once(const struct request *r, struct watching *w, struct live *l)
{
	struct json j = {.out = stdout};
	int code = look_twice(w, r, l);
	if (code)
		return code;
	if (r->metrics)
		code = write_metrics(r, l);
	else if (r->json)
		live_json(&j, l, &w->now);
	else if (l->n || !r->wanted)
		code = print_page(r, l);
	if (!code && fflush(stdout) != 0)
		code = cli_fail(CLI_INPUT, "top: cannot write: %s", strerror(errno));
	return code ? code : judge(r, w, l);
}

/* Until a signal ends it. */
static int write_again(const struct request *r, struct watching *w, struct live *l)
{
	for (int code;; nap(r->every))
		if ((code = look_again(w, r, l)) || (code = write_metrics(r, l)))
			return code;
}

struct screen_context {
	struct watching *watching;
	const struct request *request;
};

static int look_for_screen(void *context, struct live *l)
{
	const struct screen_context *c = context;
	return look_again(c->watching, c->request, l);
}

static int show(const struct request *r, struct watching *w, struct live *l)
{
	if (r->metrics && !r->once)
		return write_again(r, w, l);
	if (r->metrics || r->once || r->json || !live_screen_possible())
		return show_once(r, w, l);
	return live_screen_run(r->wanted, r->every, look_for_screen, &(struct screen_context){w, r});
}

/* Ways to other nodes, where there shall be some. Returns an exit code. */
static int open_nodes(const struct request *r, struct watching *w)
{
	char list[1 << 16], srun[200];
	const char *nodes = r->nodes, *through = r->through ? r->through : "ssh -o BatchMode=yes -o ConnectTimeout=10";
	struct log_error err;
	if (r->nodes && r->slurm)
		return cli_fail(CLI_USAGE, "top: --nodes and --slurm: give one of them");
	if (r->through && !r->nodes && !r->slurm)
		return cli_fail(CLI_USAGE, "top: --through goes with --nodes or --slurm");
	if (r->slurm && (!r->wanted || r->wanted[strspn(r->wanted, "0123456789")]))
		return cli_fail(CLI_USAGE, "top: --slurm needs the number of a job: iolens top --slurm 4711");
	if (r->slurm && !live_nodes_of_slurm(r->wanted, list, sizeof list))
		return cli_fail(CLI_INPUT, "top: %s: no running job of Slurm: squeue lists them", r->wanted);
	if (r->slurm) {
		snprintf(srun, sizeof srun, "srun --overlap --quiet --jobid=%.20s --nodes=1 --ntasks=1 --nodelist=%%h",
			 r->wanted);
		nodes = list;
		through = r->through ? r->through : srun;
	}
	if (nodes && !(w->nodes = live_nodes_start(nodes, through, &err)))
		return cli_fail(err.code == LOG_E_USAGE ? CLI_USAGE : CLI_INPUT, "top: %s", err.message);
	return 0;
}

static int answer(struct watching *w)
{
	struct log_error err;
	return live_nodes_answer(STDIN_FILENO, STDOUT_FILENO, w->names, &err) < 0 ? fail_look(&err) : CLI_OK;
}

static int top_main(int argc, char **argv)
{
	struct request r = {.every = 1, .rows = 20};
	struct watching w = {0};
	struct live l = {0};
	int code, at = choices_parse(&top_choices, argc, argv, &r, &code);
	if (at < 0)
		return code;
	r.wanted = at < argc ? argv[at] : NULL;
	w.names = live_names_make();
	if (!w.names)
		return cli_fail(CLI_INPUT, "top: not enough memory");
	code = r.answer ? answer(&w) : open_nodes(&r, &w);
	if (!code && !r.answer)
		code = show(&r, &w, &l);
	live_nodes_end(w.nodes);
	live_free(&l);
	live_look_free(&w.now);
	live_look_free(&w.before);
	live_names_free(w.names);
	return code;
}

const struct command top_command = {
	.name = "top",
	.main = top_main,
	.group = GROUP_OBSERVE,
	.place = 80,
	.about = "what programs read and write right now, by job, file and process",
	.choices = &top_choices,
};
