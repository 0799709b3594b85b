/* iolens recover: the log of a job whose stores are still there: killed, deferred, or too slow to finish together. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "choices.h"
#include "cli.h"
#include "abandoned.h"
#include "bundle.h"
#include "job_stores.h"
#include "linked_in.h"
#include "live_job.h"
#include "progress.h"
#include "recovery.h"
#include "shown.h"
#include "units.h"

struct options {
	struct recovery of;
	const char *log;
	bool remove;
	bool live; /* the arguments are jobs that run */
	bool list;
	const char *move; /* to this directory, and no log is made */
	int64_t job;      /* of the scheduler; 0 = the arguments say which stores */
};

static int add_argument(struct options *o, const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return cli_fail(CLI_INPUT, "recover: %s: %s", path, strerror(errno));
	return S_ISDIR(s.st_mode) ? recovery_add_directory(&o->of, path) : recovery_add_store(&o->of, "", path);
}

static int add_stores(struct options *o, const struct live *l, const char *job)
{
	int code = l->n ? 0 : live_look_missed("recover", job);
	for (size_t n = 0; n < l->n; n++)
		for (size_t p = 0; !code && p < l->jobs[n].nprocesses; p++)
			code = recovery_add_store(&o->of, "", l->jobs[n].processes[p].store->path);
	return code;
}

static int add_job(struct options *o, const char *job)
{
	struct live_names *names = live_names_make();
	struct live_look look = {0};
	struct live l = {0};
	struct log_error err = {.message = "not enough memory"};
	int code = names ? live_look_take(&look, names, &err) : LOG_E_MEMORY;
	if (code >= 0)
		code = live_make(&l, &look, NULL, names, job, &err);
	code = code < 0 ? cli_fail(CLI_INPUT, "recover: %s: %s", job, err.message) : add_stores(o, &l, job);
	live_free(&l);
	live_look_free(&look);
	live_names_free(names);
	return code;
}

static const struct choice table[] = {
	{"job", "N", choice_job,
	 "instead of STORE: the stores of your ended processes of the scheduler's job N on this node",
	 .at = offsetof(struct options, job), .expect = "the number of a job"},
	{"move", "DIRECTORY", choice_text, "move the stores to DIRECTORY, and make no log",
	 .at = offsetof(struct options, move)},
	{"list", NULL, choice_flag, "print the paths of the stores, and make no log",
	 .at = offsetof(struct options, list)},
	{"live", NULL, choice_flag,
	 "instead of STORE: make the log of a running job up to now. JOB: a session, the scheduler's job\n"
	 "number, or a process, as for iolens top",
	 .at = offsetof(struct options, live)},
	{"output", "LOG", choice_file, "write the log to LOG, which must not exist", .letter = 'o',
	 .at = offsetof(struct options, log), .expect = "the name of a file: a log does not go to standard output"},
	{"remove", NULL, choice_flag, "remove the stores when the log is written",
	 .at = offsetof(struct options, remove)},
};

static const struct choices recover_choices = {
	.command = "recover",
	.before = "recover [OPTION...] STORE|DIRECTORY...\n"
		  "       iolens recover --job N [OPTION...]\n"
		  "       iolens recover --live [-o LOG] JOB\n"
		  "       iolens recover\n"
		  "\n"
		  "Makes the log of a job from the stores that its processes left behind, given one by one or as a "
		  "directory.\n"
		  "Without arguments: recovers all your sessions on this machine whose iolens run was killed, writes "
		  "their logs\n"
		  "where iolens run would have, and removes the sessions. Sessions with running processes stay, "
		  "and are listed.\n",
	.after = "If the stores belong to several MPI jobs, each gets a log: LOG, LOG-mpi2, ..., and LOG-serial for "
		 "the rest.\n"
		 "Without -o, the log goes to the directory $IOLENS_LOGPATH, or to the current one, under "
		 "Darshan's naming scheme.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
};

static void announce(void *nothing, const char *path)
{
	(void)nothing;
	progress_hide();
	shown_line(stdout, "%s", path);
}

static void show_progress(void *nothing, const char *step, size_t store, size_t stores)
{
	(void)nothing;
	progress_step(step, store, stores);
}

static int tell(const struct assemble_found *found, const struct options *o)
{
	if (found->torn)
		cli_fail(0, "recover: %zu of %s %s damaged: the log has the readable part of %s", found->torn,
			 COUNTED(o->of.used, "store"), units_agree((int64_t)found->torn, "is", "are"),
			 units_agree((int64_t)found->torn, "it", "them"));
	if (found->other_version)
		cli_fail(0,
			 "recover: %zu of %s %s of another version of iolens: the log has the counters; `iolens "
			 "recover` of that version has all",
			 found->other_version, COUNTED(o->of.used, "store"),
			 units_agree((int64_t)found->other_version, "is", "are"));
	if (found->lost)
		cli_fail(0, "recover: %zu of %s could not be read: the log is without %s", found->lost,
			 COUNTED(o->of.used, "store"), units_agree((int64_t)found->lost, "it", "them"));
	if (found->running && !o->live)
		cli_fail(0, "recover: %s still %s: the log has everything until now%s",
			 COUNTED(found->running, "process"), units_agree((int64_t)found->running, "runs", "run"),
			 o->remove ? ", and the stores are kept" : "");
	return found->torn || found->other_version || found->lost || (found->running && !o->live) ? CLI_PARTIAL
												  : CLI_OK;
}

static int recover(struct options *o)
{
	char name[4096], what[64];
	struct log_error err;
	struct assemble_found found = {0};
	struct assemble_job job = {
		.found = &found, .durable = true, .wrote = announce, .reads = show_progress, .linked_in = linked_in};
	if (o->log)
		snprintf(name, sizeof name, "%s", o->log);
	else
		recovery_name(&o->of, recovery_root(), name, sizeof name);
	snprintf(what, sizeof what, "recovering what %s left", COUNTED(o->of.used, "process"));
	progress_begin(what, 0);
	int images = assemble_stores(&job, (const char *const *)o->of.stores, o->of.used, name, &err);
	progress_end();
	if (images < 0)
		return cli_fail(CLI_INPUT, "recover: %s: %s%s%s", found.unwritten[0] ? found.unwritten : name,
				err.message, err.system ? ": " : "", err.system ? strerror(err.system) : "");
	for (size_t n = 0; o->remove && !found.running && !found.other_version && n < o->of.used; n++)
		recovery_remove_store(o->of.stores[n]);
	return tell(&found, o);
}

/* Their stores are abandoned. */
static void report_logged(struct recovery *r, bool remove)
{
	for (struct recovery logged; (logged = recovery_take_logged(r)).used; recovery_free(&logged)) {
		cli_fail(0, "recover: %s of an MPI job whose ranks have written its log: %s",
			 COUNTED(logged.used, "store"), remove ? "removed" : "left out (--remove removes such)");
		for (size_t n = 0; remove && n < logged.used; n++)
			recovery_remove_store(logged.stores[n]);
	}
}

static int recover_all(void)
{
	struct abandoned_found found = abandoned_collect("recover", announce, LEFTOVER_ALL);
	if (!found.logs && !found.kept)
		cli_fail(0, "recover: no iolens run of yours was killed here: nothing to do");
	return found.kept ? CLI_PARTIAL : CLI_OK;
}

/* Those of a job in a scheduler: to have left none is how most jobs end. */
static int add_left(struct options *o)
{
	struct job_stores left = {0};
	int code = job_stores_find(&left, o->job);
	o->of = left.of;
	if (!code && left.running)
		cli_fail(0, "recover: %s of job %lld still %s: left alone", COUNTED(left.running, "process"),
			 (long long)o->job, units_agree((int64_t)left.running, "runs", "run"));
	return code;
}

static int list(const struct options *o)
{
	for (size_t n = 0; n < o->of.used; n++)
		shown_line(stdout, "%s", o->of.stores[n]);
	return CLI_OK;
}

static int move(const struct options *o)
{
	int code = CLI_OK;
	for (size_t n = 0; n < o->of.used; n++) {
		int error = recovery_move_store(o->of.stores[n], o->move);
		if (error)
			code = cli_fail(CLI_INPUT, "recover: %s: not moved to %s: %s", o->of.stores[n], o->move,
					strerror(error));
	}
	for (size_t n = 0; code == CLI_OK && n < o->of.used; n++)
		if (bundle_names(o->of.stores[n]))
			recovery_remove_store(o->of.stores[n]);
	return code;
}

static int fail_usage(const struct options *o, int arguments)
{
	if (o->live && (o->remove || o->list))
		return cli_fail(CLI_USAGE, "recover: --live and --%s: give one of them: a running job needs its stores",
				o->remove ? "remove" : "list");
	if (o->move && (o->live || o->list))
		return cli_fail(CLI_USAGE, "recover: --move and --%s: give one of them", o->live ? "live" : "list");
	if (o->job && (o->live || arguments))
		return cli_fail(CLI_USAGE, "recover: --job takes neither --live nor stores");
	if (!o->job && !arguments)
		return cli_fail(CLI_USAGE, "recover: no store given: see iolens recover --help");
	return CLI_OK;
}

static int recover_main(int argc, char **argv)
{
	signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is an error like a full disk */
	struct options o = {0};
	if (argc == 1)
		return recover_all();
	int code, at = choices_parse(&recover_choices, argc, argv, &o, &code);
	if (at < 0)
		return code;
	code = fail_usage(&o, argc - at);
	if (!code && o.job)
		code = add_left(&o);
	for (int i = at; i < argc && !code; i++)
		code = o.live ? add_job(&o, argv[i]) : add_argument(&o, argv[i]);
	if (!code && !o.of.used && !o.job)
		code = cli_fail(CLI_USAGE, "recover: no store there: see iolens recover --help");
	if (!code && !o.list && !o.move)
		report_logged(&o.of, o.remove);
	if (!code && o.of.used)
		code = o.list ? list(&o) : o.move ? move(&o) : recover(&o);
	recovery_free(&o.of);
	return code;
}

const struct command recover_command = {
	.name = "recover",
	.main = recover_main,
	.group = GROUP_OBSERVE,
	.place = 20,
	.about = "make the log of a job from what its processes left behind",
	.choices = &recover_choices,
};
