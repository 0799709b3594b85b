/* iolens run: a command under observation. The command never notices; its result is ours. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assemble.h"
#include "cli.h"
#include "epoch.h"
#include "logname.h"
#include "preload.h"
#include "session_dir.h"
#include "summary.h"

struct options {
	const char *log;  /* NULL: named after the command */
	const char *json; /* NULL: none */
	bool quiet;
	char **command;
};

static const char help[] =
	"usage: iolens run [-o LOG] [--quiet] [--json FILE] [--] COMMAND [ARGUMENT...]\n"
	"\n"
	"Runs COMMAND and writes one log of what its whole process tree reads and writes.\n"
	"Standard input, output, exit code and signals of COMMAND are untouched; a summary follows on standard error.\n"
	"\n"
	"  -o, --output LOG  write the log to LOG, which must not exist\n"
	"  -q, --quiet       no summary\n"
	"      --json FILE   write the summary to FILE as JSON\n"
	"  -h, --help        this text\n"
	"\n"
	"Without -o the log goes to the directory $IOLENS_LOGPATH, else to the current one, under Darshan's naming "
	"scheme.\n"
	"Exit codes: those of COMMAND; 127 command not found, 126 not executable, 2 wrong usage.\n";

/* The value of an option, as `--name=value`, `-ovalue` or the next argument. */
static const char *value_of(char ***at, const char *shorter, const char *longer)
{
	char *a = **at;
	size_t n = strlen(longer);
	if (shorter && strncmp(a, shorter, 2) == 0 && a[1] != '-')
		return a[2] ? a + 2 : *(*at + 1) ? *++*at : "";
	if (strncmp(a, longer, n) == 0 && a[n] == '=')
		return a + n + 1;
	if (strcmp(a, longer) == 0)
		return *(*at + 1) ? *++*at : "";
	return NULL;
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

/* ---- the child ---- */

/* The terminal sends these to the whole foreground group: the command decides what they mean, we wait for it. */
static const int terminal_signals[] = {SIGINT, SIGQUIT};
static const int forwarded_signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { TERMINAL_SIGNALS = 2, FORWARDED_SIGNALS = 4 };

static volatile pid_t child;

static void forward(int signal)
{
	if (child > 0)
		kill(child, signal);
}

struct dispositions {
	struct sigaction terminal[TERMINAL_SIGNALS];
	struct sigaction forwarded[FORWARDED_SIGNALS];
	sigset_t mask;
};

static void shield(struct dispositions *old)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = forward, .sa_flags = SA_RESTART};
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old->mask);
	for (int i = 0; i < TERMINAL_SIGNALS; i++)
		sigaction(terminal_signals[i], &ignore, &old->terminal[i]);
	for (int i = 0; i < FORWARDED_SIGNALS; i++) {
		sigaction(forwarded_signals[i], NULL, &old->forwarded[i]);
		if (old->forwarded[i].sa_handler != SIG_IGN)
			sigaction(forwarded_signals[i], &pass, NULL);
	}
}

static void unshield(const struct dispositions *old)
{
	for (int i = 0; i < TERMINAL_SIGNALS; i++)
		sigaction(terminal_signals[i], &old->terminal[i], NULL);
	for (int i = 0; i < FORWARDED_SIGNALS; i++)
		sigaction(forwarded_signals[i], &old->forwarded[i], NULL);
	sigprocmask(SIG_SETMASK, &old->mask, NULL);
}

static int start_error;

static int start(const struct options *o, const struct session_dir *session, const struct dispositions *old)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) != 0)
		return cli_fail(CLI_INPUT, "run: cannot start a process: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		unshield(old);
		session_dir_environment(session);
		execvp(o->command[0], o->command);
		int error = errno;
		if (write(report[1], &error, sizeof error) < 0)
			_exit(127);
		_exit(error == ENOENT ? 127 : 126);
	}
	close(report[1]);
	start_error = 0;
	if (child > 0 && read(report[0], &start_error, sizeof start_error) < 0)
		start_error = 0;
	close(report[0]);
	return child > 0 ? 0 : cli_fail(CLI_INPUT, "run: cannot start a process: %s", strerror(errno));
}

static int await(const struct dispositions *old)
{
	int status = 0;
	sigprocmask(SIG_SETMASK, &old->mask, NULL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* ---- the log ---- */

/* A log that cannot be written is better known before the job than after it. */
static int check_log(const char *path)
{
	char directory[4096];
	if (access(path, F_OK) == 0)
		return cli_fail(CLI_USAGE, "run: %s: exists already: choose another name for the log", path);
	snprintf(directory, sizeof directory, "%s", path);
	char *slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	if (access(slash ? directory : ".", W_OK | X_OK) == 0)
		return 0;
	return cli_fail(CLI_USAGE, "run: %s: cannot write there: %s", path, strerror(errno));
}

static const char *log_root(void)
{
	const char *ours = getenv("IOLENS_LOGPATH"), *alias = getenv("DARSHAN_LOGPATH");
	return ours && *ours ? ours : alias && *alias ? alias : NULL;
}

static int write_log(const struct options *o, const struct session_dir *session, char *path, size_t room)
{
	struct assemble_job job = {.epoch = session->epoch, .ended = epoch_now().realtime, .command = o->command};
	struct log_error err;
	if (!o->log)
		logname_make(path, room, log_root(), o->command[0], session->epoch.realtime, child, child);
	else
		snprintf(path, room, "%s", o->log);
	int code = assemble_directory(&job, session->path, path, &err);
	if (code >= 0) {
		session_dir_remove(session);
		return 0;
	}
	cli_fail(0, "%s: log not written: %s%s%s: the stores are kept in %s", path, err.message, err.system ? ": " : "",
		 err.system ? strerror(err.system) : "", session->path);
	return code;
}

static void report(const struct options *o, const char *path)
{
	if (!o->quiet)
		summary_print(stderr, path);
	if (o->json)
		summary_json(o->json, path);
}

/* Ends as the command ended: with its exit code, or by its signal. */
static int same_end(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int run_main(int argc, char **argv)
{
	struct options o = {0};
	struct session_dir session;
	struct dispositions old;
	char path[4096];
	(void)argc;
	int code = parse(&o, argv + 1);
	if (code)
		return code < 0 ? 0 : code;
	if (o.log && (code = check_log(o.log)))
		return code;
	if ((code = session_dir_make(&session)))
		return code;
	shield(&old);
	if ((code = start(&o, &session, &old)))
		return code;
	int status = await(&old);
	if (start_error) {
		session_dir_remove(&session);
		cli_fail(0, "run: %s: %s", o.command[0], strerror(start_error));
		return WEXITSTATUS(status);
	}
	if (write_log(&o, &session, path, sizeof path) == 0)
		report(&o, path);
	fflush(NULL);
	unshield(&old);
	return same_end(status);
}
