/* iolens run: a command under observation. The command never notices; its result is ours. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assemble.h"
#include "bounded_stderr.h"
#include "child.h"
#include "choices.h"
#include "cli.h"
#include "epoch.h"
#include "kernel_companion.h"
#include "launcher.h"
#include "linked_in.h"
#include "live_line.h"
#include "abandoned.h"
#include "logname.h"
#include "other_nodes.h"
#include "preload.h"
#include "stragglers.h"
#include "recovery.h"
#include "session_dir.h"
#include "summary.h"
#include "units.h"

struct options {
	const char *log;  /* NULL: named after the command */
	const char *json; /* NULL: none */
	bool quiet;
	bool live;
	bool kernel;
	pid_t companion;    /* that observes by eBPF; 0 = none does */
	bool page, open;    /* a report beside the log */
	const char *trace;  /* value of IOLENS_TRACE; NULL: not given */
	unsigned wanted;    /* SESSION_... */
	const char *ranges; /* value of IOLENS_RANGES; NULL: not given */
	char **command;
};

static bool set_trace(void *target, const struct choice *c, char *text)
{
	struct options *o = target;
	o->trace = text ? text : "on";
	return !text || !strcmp(text, c->value);
}

static bool set_communication(void *target, const struct choice *c, char *text)
{
	struct options *o = target;
	o->wanted |= SESSION_COMMUNICATION | (text ? SESSION_SYNCHRONIZATION : 0);
	return !text || !strcmp(text, c->value);
}

static bool set_ranges(void *target, const struct choice *c, char *text)
{
	struct options *o = target;
	o->ranges = text ? text : "on";
	return true;
}

static const struct choice table[] = {
	{"output", "LOG", choice_file, "write the log to LOG, which must not exist", .letter = 'o',
	 .at = offsetof(struct options, log), .expect = "the name of a file: a log does not go to standard output"},
	{"quiet", NULL, choice_flag, "no summary", .letter = 'q', .at = offsetof(struct options, quiet)},
	{"json", "FILE", choice_file, "write the summary to FILE as JSON", .at = offsetof(struct options, json),
	 .expect = "the name of a file: standard output is that of COMMAND"},
	{"live", NULL, choice_flag, "on a terminal, show what COMMAND reads and writes while it runs",
	 .at = offsetof(struct options, live)},
	{"report", NULL, choice_flag, "also write a page about the run, next to the log and named like it",
	 .at = offsetof(struct options, page)},
	{"open", NULL, choice_flag, "the same, and open it in a browser", .at = offsetof(struct options, open)},
	{"trace", "compact", set_trace,
	 "also record every read and write: iolens trace LOG prints them;\n"
	 "compact: without the copy for Darshan's tools (iolens convert makes it later)",
	 .optional = true},
	{"mpi-communication", "sync", set_communication,
	 "also count MPI messages, collective and one-sided calls: number, bytes, time;\n"
	 "sync: synchronize ranks before each collective call, to tell waiting from transfer",
	 .optional = true},
	{"kernel", NULL, choice_flag,
	 "also observe programs that ignore preloading (static, Go, musl), by eBPF;\n"
	 "needs root, or CAP_BPF and CAP_PERFMON",
	 .at = offsetof(struct options, kernel)},
	{"ranges", "DOMAIN,...", set_ranges,
	 "use the ranges in the program as phases: NVTX, ROCTX, PyTorch;\n"
	 "DOMAIN: also those of libraries, by NVTX domain, as in NCCL; all: every domain",
	 .optional = true},
};

static const struct choices run_choices = {
	.command = "run",
	.runs_command = true,
	.before = "run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
		  "\n"
		  "Runs COMMAND and writes one log of what its whole process tree reads and writes. COMMAND keeps its "
		  "standard\n"
		  "input, output, exit code and signals; a summary follows on standard error.\n",
	.after = "Without -o, the log goes to the directory $IOLENS_LOGPATH, or to the current one, under "
		 "Darshan's naming scheme.\n"
		 "Exit codes: those of COMMAND; 127 command not found, 126 not executable, 2 wrong usage.\n",
	.table = table,
	.n = sizeof table / sizeof *table,
	.least = 1,
	.wanted = "no command given",
};

/* ---- the log ---- */

static int fail_place(const char *file, int error)
{
	return cli_fail(CLI_USAGE, "run: %s: cannot be written: %s: choose another place", file, strerror(error));
}

/* What cannot be written is better known before the job than after it. Only the attempt tells for sure. */
static int check_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return fail_place(path, errno);
	close(fd);
	unlink(path);
	return 0;
}

static int check_log(const char *path)
{
	struct stat s;
	if (lstat(path, &s) == 0)
		return cli_fail(CLI_USAGE, "run: %s: exists already: choose another name for the log", path);
	return check_new(path);
}

static int check_file(const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return check_new(path);
	if (S_ISDIR(s.st_mode))
		return fail_place(path, EISDIR);
	return access(path, W_OK) == 0 ? 0 : fail_place(path, errno);
}

static void name_log(const struct options *o, const struct session_dir *session, int64_t job, char *path, size_t room)
{
	if (o->log)
		snprintf(path, room, "%s", o->log);
	else
		logname_make(path, room, recovery_root(), o->command[0], session->epoch.realtime, job, job);
}

/* job.darshan -> job.html */
static void name_page(const char *log, char *page, size_t room)
{
	static const char end[] = ".darshan";
	size_t n = strlen(log);
	if (n > sizeof end - 1 && !strcmp(log + n - (sizeof end - 1), end))
		n -= sizeof end - 1;
	snprintf(page, room, "%.*s.html", (int)n, log);
}

/* Of a launcher there may be a second log, of what is no rank. */
static int check_logs(const char *path, bool launcher)
{
	char rest[4096];
	struct stat s;
	assemble_name(rest, sizeof rest, path, 1, false);
	if (launcher && lstat(rest, &s) == 0)
		return cli_fail(CLI_USAGE,
				"run: %s: exists already: the log of processes that are not ranks needs this "
				"name: choose another name for the log",
				rest);
	return check_log(path);
}

static int check_outputs(const struct options *o, const struct session_dir *session)
{
	char path[4096], page[4096];
	name_log(o, session, 0, path, sizeof path);
	int code = check_logs(path, launcher_program(o->command[0]));
	name_page(path, page, sizeof page);
	if (!code && o->page && o->log)
		code = check_file(page);
	return !code && o->json ? check_file(o->json) : code;
}

static const char static_program[] = "it is statically linked";

static const char *why_unobserved(const char *command)
{
	static const char *const kinds[] = {
		[PROGRAM_STATIC] = static_program,
		[PROGRAM_MACHINE] = "it is for another machine or word size than the library",
		[PROGRAM_LIBC] = "it uses another C library than glibc",
	};
	enum program_kind kind = preload_kind(command);
	struct rlimit files;
	if (getenv("IOLENS_DISABLE") || getenv("DARSHAN_DISABLE"))
		return "IOLENS_DISABLE or DARSHAN_DISABLE is set";
	if (kind < sizeof kinds / sizeof *kinds && kinds[kind])
		return kinds[kind];
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
		return "ulimit -f may leave no room for its store";
	return "it may be setuid, or unable to open the library";
}

/* On this machine. */
static const char *what_next(const struct options *o)
{
	if (o->kernel || strcmp(why_unobserved(o->command[0]), static_program) != 0)
		return "";
	if (!kernel_companion_is_installed())
		return "; next: iolens run --kernel, for its bytes (iolens-kernel, for its files, is not installed)";
	return geteuid() == 0 ? "; next: iolens run --kernel"
			      : "; next: iolens run --kernel as root, or as this user for its bytes alone";
}

enum { WORTH_SAYING = 1 << 20 }; /* bytes */

static int fail_unobserved(const struct options *o, const struct child_end *end)
{
	char moved[128] = "";
	if (end->io[STATE_IO_READ] + end->io[STATE_IO_WRITTEN] >= WORTH_SAYING)
		snprintf(moved, sizeof moved, "; it read %s and wrote %s",
			 units_bytes((char[UNITS_TEXT]){0}, (double)end->io[STATE_IO_READ]),
			 units_bytes((char[UNITS_TEXT]){0}, (double)end->io[STATE_IO_WRITTEN]));
	return cli_fail(CLI_PARTIAL, "run: %s was not observed, no log: %s%s%s", o->command[0],
			why_unobserved(o->command[0]), moved, what_next(o));
}

/* Several MPI jobs in one session: the summary is of the first log, the others are named. */
struct logs_written {
	char first[4096];
	bool quiet;
};

static void remember_log(void *context, const char *path)
{
	struct logs_written *w = context;
	if (!w->first[0])
		snprintf(w->first, sizeof w->first, "%s", path);
	else if (!w->quiet)
		cli_fail(0, "run: %s: another log of the same session", path);
}

/* What the log's reader would not expect: told once, where the summary goes. */
static void tell(const struct options *o, const struct child_end *end, const struct assemble_found *found)
{
	if (o->quiet)
		return;
	if (WIFSIGNALED(end->status))
		cli_fail(0, "run: %s was ended by signal %d (%s): the log has everything until then", o->command[0],
			 WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
	if (found->running)
		cli_fail(0, "run: %s still %s: the log has everything until now", COUNTED(found->running, "process"),
			 units_agree((int64_t)found->running, "runs", "run"));
}

/* With what processes that ended before, those on other nodes, and those of other users have left. */
static int assemble(const struct assemble_job *job, const struct session_dir *session, const char *path,
		    struct log_error *err)
{
	struct recovery all = {0};
	int code = LOG_E_MEMORY;
	if (!recovery_add_directory(&all, session->path) &&
	    (!session->shared[0] || !recovery_add_directory(&all, session->shared)) &&
	    !recovery_add_others(&all, session->others))
		code = assemble_stores(job, (const char *const *)all.stores, all.used, path, err);
	recovery_free(&all);
	return code;
}

static int write_log(const struct options *o, const struct session_dir *session, const struct child_end *end,
		     const char *path, struct assemble_found *found, struct logs_written *w)
{
	struct assemble_job job = {.epoch = session->epoch,
				   .durable = true,
				   .linked_in = linked_in,
				   .ended = epoch_now().realtime,
				   .command = end->pid,
				   .status = end->status,
				   .command_io = end->io[STATE_IO_READS] ? end->io : NULL,
				   .command_used = end->used,
				   .found = found,
				   .wrote = remember_log,
				   .context = w};
	struct log_error err = {0};
	/* Asked for the kernel's view and refused: the totals are what is left of it. */
	if (o->kernel && !o->companion && end->io[STATE_IO_READS] && session_dir_empty(session))
		kernel_totals_write(o->command, session, end);
	const char *others = session->others[0] && session_dir_holds_store(session->others) ? session->others : "";
	int code = 0;
	if (session_dir_empty(session))
		code = fail_unobserved(o, end);
	else if (assemble(&job, session, path, &err) < 0)
		return cli_fail(CLI_INPUT, "run: %s: log not written: %s%s%s: make it with iolens recover %s%s%s%s%s",
				found->unwritten[0] ? found->unwritten : path, err.message, err.system ? ": " : "",
				err.system ? strerror(err.system) : "", session->path, session->shared[0] ? " " : "",
				session->shared, others[0] ? " " : "", others);
	session_dir_remove(session);
	return code;
}

/* By a process of its own: what it prints goes where the summary goes, and it is not observed itself. */
static void write_page(const struct options *o, const char *log)
{
	char page[4096];
	char *opening[] = {"report", "--open", "-o", page, "--", (char *)log, NULL};
	char *silent[] = {"report", "-o", page, "--", (char *)log, NULL};
	name_page(log, page, sizeof page);
	fflush(stderr);
	pid_t child = fork();
	if (child < 0)
		cli_fail(0, "run: no report: %s: make it with iolens report %s", strerror(errno), log);
	if (child == 0) { /* returns where there is no Python */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		setenv("IOLENS_DISABLE", "1", 1);
		int code = o->open ? python_main(6, opening) : python_main(5, silent);
		fflush(stderr);
		_exit(code);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void report(const struct options *o, const char *path)
{
	if (!o->quiet)
		summary_print(stderr, path);
	if (o->json)
		summary_json(o->json, path);
	if (o->page)
		write_page(o, path);
}

static void leave_pointer(const struct options *o, const struct session_dir *session)
{
	char place[4096];
	const char *root = recovery_root();
	if (o->log)
		snprintf(place, sizeof place, "%s", o->log);
	else
		snprintf(place, sizeof place, "%s%s", root ? root : "", root ? "/" : "");
	session_dir_leave_pointer(session, place);
}

static void announce_leftover(void *nothing, const char *path)
{
	(void)nothing;
	cli_fail(0, "run: %s: the log of an earlier iolens run that was killed", path);
}

static void ignore_leftover(void *nothing, const char *path)
{
	(void)nothing;
	(void)path;
}

/* The directory of the log is the one that other nodes are most likely to see, and no memory. */
static void place_beside_log(const struct options *o, struct session_dir *session)
{
	char place[4096];
	const char *root = recovery_root();
	snprintf(place, sizeof place, "%s", o->log ? o->log : "");
	char *slash = strrchr(place, '/');
	if (slash)
		slash[slash == place] = '\0';
	else
		snprintf(place, sizeof place, "%s", o->log || !root ? "." : root);
	if (!realpath(place, session->logs))
		session->logs[0] = '\0';
	if (other_nodes_likely(o->command[0]))
		session_dir_share(session, place);
}

/* Negative: help was asked for. */
static int parse(struct options *o, int argc, char **argv)
{
	int code, at = choices_parse(&run_choices, argc, argv, o, &code);
	if (at < 0)
		return code ? code : -1;
	o->command = argv + at;
	o->page = o->page || o->open;
	return 0;
}

static int prepare(struct options *o, struct session_dir *session, int argc, char **argv)
{
	int code = parse(o, argc, argv);
	if (!o->ranges)
		o->ranges = getenv("IOLENS_RANGES");
	if (preload_communication_asked())
		o->wanted |= SESSION_COMMUNICATION;
	if (o->ranges && strcmp(o->ranges, "off") != 0)
		o->wanted |= SESSION_RANGES;
	if (!code)
		code = session_dir_make(session, o->wanted);
	if (code)
		return code;
	if ((code = check_outputs(o, session))) {
		session_dir_remove(session);
		return code;
	}
	place_beside_log(o, session);
	leave_pointer(o, session);
	if (o->trace)
		setenv("IOLENS_TRACE", o->trace, 1);
	if (o->ranges)
		setenv("IOLENS_RANGES", o->ranges, 1);
	if (session->ranges[0] && getenv("NVTX_INJECTION64_PATH") && !o->quiet)
		cli_fail(0,
			 "run: NVTX_INJECTION64_PATH is set: ranges of NVTX go to that tool and do not become phases");
	return 0;
}

static int run_main(int argc, char **argv)
{
	struct options o = {0};
	struct session_dir session;
	struct child_end end = {0};
	char path[4096];
	struct logs_written written = {0};
	struct assemble_found found = {0};
	child_ignore_file_size();
	int code = prepare(&o, &session, argc, argv);
	if (code)
		return code < 0 ? 0 : code;
	pid_t line = o.live ? live_line_begin(session.path) : 0;
	o.companion = o.kernel ? kernel_companion_begin(&session) : 0;
	if (o.companion)
		setenv("IOLENS_KERNEL", "1", 1); /* what is started and cannot be preloaded is observed all the same */
	else
		unsetenv("IOLENS_KERNEL");
	code = child_run(o.command, &session, &end);
	live_line_end(line);
	kernel_companion_end(o.companion);
	if (code || end.start_error)
		session_dir_remove(&session);
	if (code)
		return code;
	bounded_stderr();
	if (end.start_error) {
		cli_fail(0, "run: %s: %s", o.command[0], strerror(end.start_error));
		child_same_end(end.status);
	}
	stragglers_await(session.path);
	written.quiet = o.quiet;
	name_log(&o, &session, end.pid, path, sizeof path);
	if (write_log(&o, &session, &end, path, &found, &written) == 0)
		report(&o, written.first);
	tell(&o, &end, &found);
	if (!o.quiet)
		config_warn();
	abandoned_collect(o.quiet ? NULL : "run", o.quiet ? ignore_leftover : announce_leftover, LEFTOVER_FEW);
	child_same_end(end.status);
}

const struct command run_command = {
	.name = "run",
	.main = run_main,
	.group = GROUP_OBSERVE,
	.place = 10,
	.about = "run a command and write one log of what its process tree reads and writes",
	.choices = &run_choices,
};
