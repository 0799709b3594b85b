#include "job_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assemble.h"
#include "config.h"
#include "logname.h"
#include "platform.h"

enum { DEADLINE = 600 /* s, for a log */, PROC_ENVIRONMENT = 1 << 17 };

static const char about[] = "group", written[] = "written";

/* ---- environments ---- */

struct variables {
	const char *text;
	size_t n;
};

const char *group_variable(const char *environment, size_t n, const char *name)
{
	size_t length = strlen(name);
	for (size_t at = 0; environment && at < n; at += strlen(environment + at) + 1)
		if (!strncmp(environment + at, name, length) && environment[at + length] == '=')
			return environment + at + length + 1;
	return NULL;
}

static const char *variable(void *environment, const char *name)
{
	const struct variables *v = environment;
	return group_variable(v->text, v->n, name);
}

int64_t group_job_of(const char *environment, size_t n)
{
	struct variables v = {environment, n};
	const struct platform_source from = {.variable = variable, .environment = &v};
	return environment ? platform_job(&from, config.jobid) : 0;
}

static long read_file(const char *path, char *to, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, to, n) : -1;
	if (fd >= 0)
		close(fd);
	return got;
}

/* ---- the directory ---- */

static int create(const struct job_group *g, const char *name)
{
	char path[GROUP_PATH + 32];
	snprintf(path, sizeof path, "%s/%s", g->path, name);
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool write_about(const struct job_group *g)
{
	char epoch[EPOCH_TEXT];
	int fd = create(g, about);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return false;
	epoch_print(&g->session.epoch, g->session.host, epoch);
	fprintf(f, "%u %lld %d %d\n%s\n%s\n%s\n", (unsigned)g->user, (long long)g->session.job, (int)g->processes,
		(int)g->first, epoch, g->program, g->logs);
	return fclose(f) == 0;
}

static void describe_node(const struct job_group *g, const struct image *i)
{
	char text[PLATFORM_TEXT];
	struct variables v = {i->environment, i->nenvironment};
	const struct platform_source here = {read_file, variable, &v, g->session.host};
	int fd = create(g, PLATFORM_FILE);
	size_t n = fd < 0 ? 0 : platform_describe(&here, text);
	if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || close(fd) != 0))
		fprintf(stderr, "iolens-kernel: %s: what this node is cannot be written: %s\n", g->path,
			strerror(errno));
}

/* Time begins with the first program, which was there before we heard of it. */
static struct epoch epoch_of(const struct image *i)
{
	struct epoch e = epoch_now();
	int64_t since = e.monotonic - (int64_t)i->started.when;
	return (struct epoch){.realtime = e.realtime - since, .monotonic = (int64_t)i->started.when};
}

struct job_group *group_make(const char *state, const struct image *i, const char *logs)
{
	struct job_group *g = calloc(1, sizeof *g);
	const char *slash = strrchr(i->exe, '/');
	if (!g)
		return NULL;
	gethostname(g->session.host, sizeof g->session.host - 1);
	g->session.epoch = epoch_of(i);
	g->session.job = group_job_of(i->environment, i->nenvironment);
	g->session.directory = g->path;
	g->user = i->started.user;
	g->processes = g->session.job ? 0 : i->started.group;
	g->first = i->started.pid;
	snprintf(g->program, sizeof g->program, "%s", slash ? slash + 1 : "program");
	for (char *c = g->program; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	snprintf(g->logs, sizeof g->logs, "%s", logs);
	snprintf(g->path, sizeof g->path, "%.256s/%u-%d-%llx", state, (unsigned)g->user, (int)g->first,
		 (unsigned long long)i->started.when);
	if (mkdir(g->path, 0700) != 0 || !write_about(g)) {
		free(g);
		return NULL;
	}
	describe_node(g, i);
	return g;
}

static void cut_line(char *text)
{
	text[strcspn(text, "\n")] = '\0';
}

static struct job_group *read_left(const char *state, const char *name)
{
	char path[GROUP_PATH + 32], numbers[96], epoch[EPOCH_TEXT + 1];
	struct job_group *g = calloc(1, sizeof *g);
	unsigned user;
	long long job;
	int processes, first;
	if (!g)
		return NULL;
	snprintf(g->path, sizeof g->path, "%.256s/%.48s", state, name);
	snprintf(path, sizeof path, "%s/%s", g->path, about);
	gethostname(g->session.host, sizeof g->session.host - 1);
	FILE *f = fopen(path, "re");
	bool good = f && fgets(numbers, sizeof numbers, f) && fgets(epoch, sizeof epoch, f) &&
		    fgets(g->program, sizeof g->program, f) && fgets(g->logs, sizeof g->logs, f) &&
		    sscanf(numbers, "%u %lld %d %d", &user, &job, &processes, &first) == 4;
	if (f)
		fclose(f);
	cut_line(epoch);
	cut_line(g->program);
	cut_line(g->logs);
	if (!good || !epoch_parse(&g->session.epoch, epoch, g->session.host)) {
		fprintf(stderr, "iolens-kernel: %s: left by another service, and not to be understood: remove it\n",
			g->path);
		free(g);
		return NULL;
	}
	g->session.directory = g->path;
	g->session.job = job;
	g->user = user;
	g->processes = processes;
	g->first = first;
	return g;
}

struct job_group **group_find_left(const char *state)
{
	struct dirent *entry;
	size_t n = 0;
	struct job_group **list = calloc(1, sizeof *list);
	DIR *dir = opendir(state);
	while (dir && list && (entry = readdir(dir))) {
		struct job_group *g =
			entry->d_name[0] == '.' || entry->d_type == DT_REG ? NULL : read_left(state, entry->d_name);
		struct job_group **more = g ? realloc(list, (n + 2) * sizeof *list) : NULL;
		if (!more)
			continue;
		list = more;
		list[n++] = g;
		list[n] = NULL;
	}
	if (dir)
		closedir(dir);
	return list;
}

/* For each file in the directory; the last word is what is done to it. */
static bool each_file(const struct job_group *g, bool (*each)(const struct job_group *g, int dir, const char *name))
{
	struct dirent *entry;
	DIR *dir = opendir(g->path);
	bool good = dir;
	while (good && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			good = each(g, dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	return good;
}

static bool remove_file(const struct job_group *g, int dir, const char *name)
{
	(void)g;
	return unlinkat(dir, name, 0) == 0;
}

void group_remove(struct job_group *g)
{
	if (!each_file(g, remove_file) || rmdir(g->path) != 0)
		fprintf(stderr, "iolens-kernel: %s: cannot be removed: %s\n", g->path, strerror(errno));
}

/* ---- who is still there ---- */

static bool is_of_job(const struct job_group *g, const char *pid)
{
	static char environment[PROC_ENVIRONMENT];
	char path[64];
	struct stat s;
	snprintf(path, sizeof path, "/proc/%.16s", pid);
	if (stat(path, &s) != 0 || s.st_uid != g->user)
		return false;
	snprintf(path, sizeof path, "/proc/%.16s/environ", pid);
	long n = read_file(path, environment, sizeof environment - 1);
	environment[n > 0 ? n : 0] = '\0';
	return n > 0 && group_job_of(environment, (size_t)n) == g->session.job;
}

bool group_lives(const struct job_group *g)
{
	struct dirent *entry;
	bool lives = false;
	if (g->processes)
		return kill(-g->processes, 0) == 0 || errno == EPERM;
	DIR *dir = opendir("/proc");
	while (dir && !lives && (entry = readdir(dir)))
		lives = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_of_job(g, entry->d_name);
	if (dir)
		closedir(dir);
	return lives;
}

/* ---- the log ---- */

static bool is_no_store(const struct job_group *g, int dir, const char *name)
{
	(void)g, (void)dir;
	return !strstr(name, ".store");
}

bool group_has_stores(const struct job_group *g)
{
	return !each_file(g, is_no_store);
}

static bool give_away(const struct job_group *g, int dir, const char *name)
{
	if (!strcmp(name, about) || !strcmp(name, written))
		return true;
	return fchownat(dir, name, g->user, (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0;
}

static _Noreturn void fail(const struct job_group *g, const char *what, const char *why)
{
	fprintf(stderr, "iolens-kernel: user %u: %s: log not written: %s\n", (unsigned)g->user, what, why);
	_exit(1);
}

/* From here on it is nothing but a process of the user. */
static void become(const struct job_group *g)
{
	const struct passwd *user = getpwuid(g->user);
	gid_t group = user ? user->pw_gid : g->user;
	char path[GROUP_LOGS];
	if ((user ? initgroups(user->pw_name, group) : setgroups(0, NULL)) != 0 || setgid(group) != 0 ||
	    setuid(g->user) != 0)
		fail(g, "this user", strerror(errno));
	unsetenv("LOGNAME");
	if (user)
		setenv("LOGNAME", user->pw_name, 1);
	if (logname_opt_out(NULL, user ? user->pw_dir : NULL, path, sizeof path) && access(path, F_OK) == 0)
		_exit(0); /* by iolens disable */
}

static _Noreturn void write_log(const struct job_group *g, int done)
{
	char path[4096];
	struct log_error err = {0};
	int64_t job = g->session.job ? g->session.job : g->first;
	const struct assemble_job of = {.epoch = g->session.epoch, .id = job};
	alarm(DEADLINE);
	become(g);
	logname_make(path, sizeof path, g->logs, g->program, g->session.epoch.realtime, job, g->first);
	if (assemble_directory(&of, g->path, path, &err) < 0)
		fail(g, path, err.system ? strerror(err.system) : err.message);
	_exit(write(done, "1", 1) != 1);
}

/* Held by who makes the log, also beyond our own end. -1: it is being made. */
static int lock_written(const struct job_group *g)
{
	char path[GROUP_PATH + 32];
	snprintf(path, sizeof path, "%s/%s", g->path, written);
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

bool group_is_written(const struct job_group *g)
{
	struct stat s;
	int fd = lock_written(g);
	bool is = fd >= 0 && fstat(fd, &s) == 0 && s.st_size > 0;
	if (fd >= 0)
		close(fd);
	return is;
}

bool group_write_log(struct job_group *g)
{
	int done = lock_written(g);
	if (done < 0)
		return false;
	if (!each_file(g, give_away) || chmod(g->path, 0755) != 0) {
		fprintf(stderr, "iolens-kernel: %s: cannot be given to user %u: %s\n", g->path, (unsigned)g->user,
			strerror(errno));
		close(done);
		return false;
	}
	fflush(NULL);
	g->writer = fork();
	if (g->writer == 0)
		write_log(g, done);
	close(done);
	g->writer = g->writer < 0 ? 0 : g->writer;
	return g->writer;
}
