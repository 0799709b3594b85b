/* iolens run: a command under observation. The command never notices; its result is ours. */
#include <errno.h>
#include <fcntl.h>
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
#include "cli.h"
#include "epoch.h"
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
	const char *trace;  /* value of IOLENS_TRACE; NULL: not given */
	unsigned wanted;    /* SESSION_... */
	const char *ranges; /* value of IOLENS_RANGES; NULL: not given */
	char **command;
};

static const char help[] =
	"usage: iolens run [-o LOG] [--quiet] [--json FILE] [--trace[=compact]] [--mpi-communication[=sync]]\n"
	"                  [--ranges[=DOMAIN,...]] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND and writes one log of what its whole process tree reads and writes.\n"
	"Standard input, output, exit code and signals of COMMAND are untouched; a summary follows on standard error.\n"
	"\n"
	"  -o, --output LOG  write the log to LOG, which must not exist\n"
	"  -q, --quiet       no summary\n"
	"      --json FILE   write the summary to FILE as JSON\n"
	"      --trace       record every read and write, too: iolens trace LOG prints them\n"
	"      --trace=compact\n"
	"                    the same without the copy that Darshan's tools read; iolens convert makes it later\n"
	"      --mpi-communication\n"
	"                    count MPI's messages, collective and one-sided calls, too: how often, bytes, time\n"
	"      --mpi-communication=sync\n"
	"                    and have ranks meet before each collective call: waiting is told apart from transfer\n"
	"      --ranges      phases by the ranges that the program has: NVTX, ROCTX, PyTorch\n"
	"      --ranges=DOMAIN,...\n"
	"                    and those of libraries, by NVTX's domain, as NCCL; all: of every one\n"
	"  -h, --help        this text\n"
	"\n"
	"Without -o the log goes to the directory $IOLENS_LOGPATH, else to the current one, under Darshan's naming "
	"scheme.\n"
	"Exit codes: those of COMMAND; 127 command not found, 126 not executable, 2 wrong usage.\n";

/* The value of an option, as `--name=value`, `-ovalue` or the next argument; "" if it lacks. */
static const char *value_of(char ***at, const char *shorter, const char *longer)
{
	char *a = **at, *next = *(*at + 1);
	size_t n = strlen(longer);
	if (strncmp(a, longer, n) == 0 && a[n] == '=')
		return a + n + 1;
	if (shorter && strncmp(a, shorter, 2) == 0 && a[2])
		return a + 2;
	if (strcmp(a, longer) != 0 && !(shorter && strcmp(a, shorter) == 0))
		return NULL;
	if (!next || strcmp(next, "--") == 0)
		return "";
	++*at;
	return next;
}

static int parse(struct options *o, char **at)
{
	for (; *at && **at == '-'; at++) {
		const char *value;
		if (strcmp(*at, "--") == 0) {
			at++;
			break;
		} else if (strcmp(*at, "-h") == 0 || strcmp(*at, "--help") == 0) {
			fputs(help, stdout);
			return -1;
		} else if (strcmp(*at, "-q") == 0 || strcmp(*at, "--quiet") == 0) {
			o->quiet = true;
		} else if (strcmp(*at, "--trace") == 0) {
			o->trace = "on";
		} else if (strcmp(*at, "--trace=compact") == 0) {
			o->trace = "compact";
		} else if (strcmp(*at, "--mpi-communication") == 0) {
			o->wanted |= SESSION_COMMUNICATION;
		} else if (strcmp(*at, "--mpi-communication=sync") == 0) {
			o->wanted |= SESSION_COMMUNICATION | SESSION_SYNCHRONIZATION;
		} else if (strcmp(*at, "--ranges") == 0) {
			o->ranges = "on";
		} else if (strncmp(*at, "--ranges=", 9) == 0) {
			o->ranges = *at + 9;
		} else if ((value = value_of(&at, "-o", "--output"))) {
			o->log = value;
		} else if ((value = value_of(&at, NULL, "--json"))) {
			o->json = value;
		} else {
			return cli_fail(CLI_USAGE, "run: unknown option %s (see iolens run --help)", *at);
		}
	}
	o->command = at;
	if ((o->log && !*o->log) || (o->json && !*o->json))
		return cli_fail(CLI_USAGE, "run: an option lacks its file name (see iolens run --help)");
	return *at ? 0 : cli_fail(CLI_USAGE, "run: no command given (see iolens run --help)");
}

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

static int check_json(const char *path)
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

static int check_outputs(const struct options *o, const struct session_dir *session)
{
	char path[4096];
	name_log(o, session, 0, path, sizeof path);
	int code = check_log(path);
	return !code && o->json ? check_json(o->json) : code;
}

static const char *why_unobserved(const char *command)
{
	static const char *const kinds[] = {
		[PROGRAM_STATIC] = "it is statically linked",
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
	return "is it setuid, or without a way to the library?";
}

enum { WORTH_SAYING = 1 << 20 }; /* bytes */

static int fail_unobserved(const struct options *o, const struct child_end *end)
{
	char moved[128] = "";
	if (end->io[STATE_IO_READ] + end->io[STATE_IO_WRITTEN] >= WORTH_SAYING)
		snprintf(moved, sizeof moved, "; it read %s and wrote %s",
			 units_bytes((char[UNITS_TEXT]){0}, (double)end->io[STATE_IO_READ]),
			 units_bytes((char[UNITS_TEXT]){0}, (double)end->io[STATE_IO_WRITTEN]));
	return cli_fail(CLI_PARTIAL, "run: %s was not observed, no log: %s%s", o->command[0],
			why_unobserved(o->command[0]), moved);
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
		cli_fail(0, "run: %s was ended by signal %d (%s): the log has all that was done until then",
			 o->command[0], WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
	if (found->running)
		cli_fail(0, "run: %zu process%s still run%s: what %s from now on is not in the log", found->running,
			 found->running == 1 ? "" : "es", found->running == 1 ? "s" : "",
			 found->running == 1 ? "it does" : "they do");
}

/* With what processes on other nodes, and of other users, have left. */
static int assemble(const struct assemble_job *job, const struct session_dir *session, const char *path,
		    struct log_error *err)
{
	struct recovery all = {0};
	int code = LOG_E_MEMORY;
	if (!session->shared[0] && !session->others[0])
		return assemble_directory(job, session->path, path, err);
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
				   .ended = epoch_now().realtime,
				   .command = end->pid,
				   .status = end->status,
				   .command_io = end->io[STATE_IO_READS] ? end->io : NULL,
				   .found = found,
				   .wrote = remember_log,
				   .context = w};
	struct log_error err = {0};
	const char *others = session->others[0] && session_dir_holds_store(session->others) ? session->others : "";
	int code = 0;
	if (session_dir_empty(session))
		code = fail_unobserved(o, end);
	else if (assemble(&job, session, path, &err) < 0)
		return cli_fail(CLI_INPUT, "run: %s: log not written: %s%s%s: make it with iolens recover %s%s%s%s%s",
				path, err.message, err.system ? ": " : "", err.system ? strerror(err.system) : "",
				session->path, session->shared[0] ? " " : "", session->shared, others[0] ? " " : "",
				others);
	session_dir_remove(session);
	return code;
}

static void report(const struct options *o, const char *path)
{
	if (!o->quiet)
		summary_print(stderr, path);
	if (o->json)
		summary_json(o->json, path);
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

/* The directory of the log is the one that other nodes are most likely to see. */
static void share(const struct options *o, struct session_dir *session)
{
	char place[4096];
	const char *root = recovery_root();
	if (!other_nodes_likely(o->command[0]))
		return;
	snprintf(place, sizeof place, "%s", o->log ? o->log : "");
	char *slash = strrchr(place, '/');
	if (slash)
		slash[slash == place] = '\0';
	else
		snprintf(place, sizeof place, "%s", o->log || !root ? "." : root);
	session_dir_share(session, place);
}

static int prepare(struct options *o, struct session_dir *session, char **arguments)
{
	int code = parse(o, arguments);
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
	share(o, session);
	leave_pointer(o, session);
	session_dir_describe_node(session);
	if (o->trace)
		setenv("IOLENS_TRACE", o->trace, 1);
	if (o->ranges)
		setenv("IOLENS_RANGES", o->ranges, 1);
	if (session->ranges[0] && getenv("NVTX_INJECTION64_PATH") && !o->quiet)
		cli_fail(0, "run: NVTX_INJECTION64_PATH is set: ranges of NVTX go to that tool and are no phases");
	return 0;
}

int run_main(int argc, char **argv)
{
	struct options o = {0};
	struct session_dir session;
	struct child_end end = {0};
	char path[4096];
	struct logs_written written = {0};
	struct assemble_found found = {0};
	(void)argc;
	child_ignore_file_size();
	int code = prepare(&o, &session, argv + 1);
	if (code)
		return code < 0 ? 0 : code;
	if ((code = child_run(o.command, &session, &end)) || end.start_error)
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
	abandoned_collect(o.quiet ? NULL : "run", o.quiet ? ignore_leftover : announce_leftover, LEFTOVER_FEW);
	child_same_end(end.status);
}
