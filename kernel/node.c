#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "job_group.h"
#include "observer.h"

enum { TICK_MS = 1000, AGAIN = 60 /* s */, TRIES = 1440, FIRST_USER = 1000, ENVIRONMENT = 1 << 17 };

static const char usage[] =
	"usage: iolens-kernel --node [--state DIRECTORY] [--users-from UID]\n"
	"\n"
	"Observes the statically linked programs of all users of this node, and writes a log for each job.\n"
	"  --node             as a service: until SIGTERM\n"
	"  --state DIRECTORY  where it keeps what belongs to jobs that run (/run/iolens-kernel)\n"
	"  --users-from UID   the first user that is observed (1000): below are those of the system\n"
	"\n"
	"Logs go to the directory IOLENS_LOGPATH of the job's environment, or else of this service's.\n"
	"`iolens run --kernel` starts it otherwise: iolens-kernel DIRECTORY EPOCH PID\n";

static struct {
	const char *state;
	uint32_t users_from;
	struct observer observer;
	struct job_group **groups;
	size_t ngroups;
	volatile sig_atomic_t ends;
} node = {.state = "/run/iolens-kernel", .users_from = FIRST_USER};

/* ---- groups ---- */

static bool add_group(struct job_group *g)
{
	struct job_group **more = realloc(node.groups, (node.ngroups + 1) * sizeof *more);
	if (!more)
		return false;
	node.groups = more;
	node.groups[node.ngroups++] = g;
	return true;
}

static bool is_group_of(const struct job_group *g, const struct image *i, int64_t job)
{
	if (g->user != i->started.user || g->writer || g->tries)
		return false;
	return job ? g->session.job == job : g->processes && g->processes == i->started.group;
}

static const struct image_session *session_of(const struct image *i)
{
	int64_t job = group_job_of(i->environment, i->nenvironment);
	for (size_t n = 0; n < node.ngroups; n++)
		if (is_group_of(node.groups[n], i, job))
			return &node.groups[n]->session;
	const char *logs = group_variable(i->environment, i->nenvironment, "IOLENS_LOGPATH");
	logs = logs ? logs : group_variable(i->environment, i->nenvironment, "DARSHAN_LOGPATH");
	logs = logs && logs[0] == '/' && !strchr(logs, '\n') ? logs : config.logpath;
	struct job_group *g = group_make(node.state, i, logs);
	if (g && add_group(g))
		return &g->session;
	fprintf(stderr, "iolens-kernel: %s: a job of user %u is not observed: %s\n", node.state, i->started.user,
		strerror(errno));
	return NULL;
}

/* ---- images ---- */

static long read_of(const struct image *i, const char *what, char *to, size_t room)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", i->started.pid, what);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, room) : -1;
	if (fd >= 0)
		close(fd);
	return n;
}

/* Of a program that has begun before us. */
static void ask_proc(struct image *i)
{
	char arguments[OBSERVED_ARGS];
	long n = read_of(i, "cmdline", arguments, sizeof arguments);
	image_set_command(i, arguments, n > 0 ? (size_t)n : 0);
	i->environment = calloc(1, ENVIRONMENT);
	n = i->environment ? read_of(i, "environ", i->environment, ENVIRONMENT - 1) : 0;
	i->nenvironment = n > 0 ? (size_t)n : 0;
}

static bool is_set(const struct image *i, const char *name)
{
	return group_variable(i->environment, i->nenvironment, name);
}

/* The user, the site, or another observer of it wants no log of it. */
static bool unwanted(const struct image *i)
{
	char program[sizeof i->command];
	snprintf(program, sizeof program, "%s", i->command);
	program[strcspn(program, " ")] = '\0';
	return is_set(i, "IOLENS_DISABLE") || is_set(i, "DARSHAN_DISABLE") || is_set(i, "IOLENS_KERNEL") ||
	       filter_leaves_out(&config.app, 0, program);
}

static void began(struct image *i, const struct image *before)
{
	if (i->started.event == OBSERVED_EVENT_RUNNING)
		ask_proc(i);
	if (i->forked)
		i->session = before ? before->session : NULL;
	else if (!unwanted(i))
		i->session = session_of(i);
	free(i->environment);
	i->environment = NULL;
	i->nenvironment = 0;
	if (!i->session)
		observer_ignore(&node.observer, i);
}

static bool has_ended(const struct image *i)
{
	return i->ended.when || i->preloaded;
}

static void write_stores(void)
{
	struct observer *o = &node.observer;
	for (size_t n = 0; n < o->nimages; n++) {
		struct image *i = o->images[n];
		if (i->dirty && i->session && image_worth_store(i) && !image_store_write(i, i->session))
			fprintf(stderr, "iolens-kernel: %s: a store cannot be written: %s\n", i->session->directory,
				strerror(errno));
		i->dirty = false;
	}
	observer_drop(o, has_ended);
}

static void count_running(void)
{
	for (size_t n = 0; n < node.ngroups; n++)
		node.groups[n]->running = 0;
	for (size_t n = 0; n < node.observer.nimages; n++)
		if (node.observer.images[n]->session)
			((struct job_group *)node.observer.images[n]->session)->running++;
}

/* ---- logs ---- */

static void drop_group(size_t n)
{
	group_remove(node.groups[n]);
	free(node.groups[n]);
	node.groups[n] = node.groups[--node.ngroups];
}

static void on_writer_end(pid_t pid, int status)
{
	for (size_t n = 0; n < node.ngroups; n++) {
		struct job_group *g = node.groups[n];
		if (g->writer != pid)
			continue;
		g->writer = 0;
		g->again = time(NULL) + AGAIN;
		g->tries++;
		if (status == 0 || g->tries >= TRIES)
			drop_group(n);
		return;
	}
}

static void write_logs(void)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		on_writer_end(pid, status);
	for (size_t n = 0; n < node.ngroups; n++) {
		struct job_group *g = node.groups[n];
		if (g->running || g->writer || g->again > time(NULL) || group_lives(g))
			continue;
		if (!group_has_stores(g) || group_is_written(g))
			drop_group(n--);
		else if (!group_write_log(g))
			g->again = time(NULL) + AGAIN;
	}
}

static void report_losses(void)
{
	struct observed_sums lost = observer_losses(&node.observer);
	if (lost.files || lost.events)
		fprintf(stderr, "iolens-kernel: partial: %llu files and %llu events had no room\n", lost.files,
			lost.events);
}

/* ---- the service ---- */

/* What is left: to ask the maps, to read what processes were started with, to become a user, and to give files to one. */
static bool drop_privileges(void)
{
	static const int kept[] = {CAP_BPF, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SETUID, CAP_SETGID, CAP_CHOWN};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	for (size_t n = 0; n < sizeof kept / sizeof *kept; n++)
		data[kept[n] / 32].permitted |= UINT32_C(1) << kept[n] % 32;
	for (int half = 0; half < 2; half++)
		data[half].effective = data[half].permitted;
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!(data[cap / 32].permitted >> cap % 32 & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return syscall(SYS_capset, &head, data) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static void on_end(int signal)
{
	(void)signal;
	node.ends = 1;
}

static int fail(int code, const char *what, const char *why)
{
	fprintf(stderr, "iolens-kernel: %s: %s\n", what, why);
	return code;
}

static int parse(int argc, char **argv)
{
	bool is_node = false, wrong = argc < 2;
	for (int n = 1; n < argc && !wrong; n++) {
		char *end = "-";
		if (!strcmp(argv[n], "--help")) {
			fputs(usage, stdout);
			return -1;
		}
		if (!strcmp(argv[n], "--node")) {
			is_node = true;
		} else if (!strcmp(argv[n], "--state") && n + 1 < argc) {
			node.state = argv[++n];
		} else if (!strcmp(argv[n], "--users-from") && n + 1 < argc) {
			node.users_from = (uint32_t)strtoul(argv[++n], &end, 10);
			wrong = *end || !*argv[n];
		} else {
			wrong = true;
		}
	}
	if (!wrong && is_node)
		return 0;
	fputs(usage, stderr);
	return 2;
}

/* The lock says that another service has it. */
static int open_state(void)
{
	struct stat s;
	if (mkdir(node.state, 0711) != 0 && errno != EEXIST)
		return fail(2, node.state, strerror(errno));
	int fd = open(node.state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(2, node.state, strerror(errno));
	if (fstat(fd, &s) != 0 || s.st_uid != geteuid() || s.st_mode & 022)
		return fail(2, node.state, "others can write there: give --state a directory of root's");
	if (fchmod(fd, 0711) != 0)
		return fail(2, node.state, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return fail(2, node.state, "another iolens-kernel --node uses it");
	return 0;
}

static void take_over(void)
{
	struct job_group **left = group_find_left(node.state);
	for (size_t n = 0; left && left[n]; n++)
		add_group(left[n]);
	free(left);
}

static void serve(void)
{
	while (!node.ends) {
		observer_wait(&node.observer, TICK_MS);
		observer_sweep(&node.observer);
		write_stores();
		count_running();
		write_logs();
		report_losses();
	}
	observer_sweep(&node.observer);
	write_stores();
}

int node_main(int argc, char **argv)
{
	char why[OBSERVER_REASON];
	int code = parse(argc, argv);
	if (code)
		return code < 0 ? 0 : code;
	if (!config.logpath || config.logpath[0] != '/')
		return fail(2, "IOLENS_LOGPATH", "must be the directory of the logs");
	if (geteuid() != 0)
		return fail(2, "--node", "root alone can observe all users");
	code = open_state();
	if (code)
		return code;
	umask(077);
	setpgid(0, 0); /* no group of processes waits for us */
	take_over();
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_end}, NULL);
	sigaction(SIGINT, &(struct sigaction){.sa_handler = on_end}, NULL);
	node.observer.began = began;
	const struct observer_scope scope = {.least_user = node.users_from};
	if (!observer_start(&node.observer, &scope, why))
		return fail(3, "static programs are not observed", why);
	if (!drop_privileges())
		return fail(3, "privileges cannot be dropped", strerror(errno));
	printf("ready\n");
	serve();
	return 0;
}
