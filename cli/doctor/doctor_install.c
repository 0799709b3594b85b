#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "logname.h"
#include "other_users.h"
#include "preload.h"
#include "ptrace_scope.h"
#include "store_reader.h"
#include "units.h"
#include "witness.h"

enum { LEAST_ROOM = 16 << 20 };

/* ---- the library ---- */

/* Its store is read by this program: both are of the same version, and a place for stores is there. */
static void judge_store(struct checks *c, const char *directory)
{
	glob_t found;
	char pattern[PATH_MAX + 64], version[64] = "";
	struct store_reader i = {0};
	struct log_error err;
	const struct log_job *job;
	snprintf(pattern, sizeof pattern, "%s/*.store", directory);
	bool any = glob(pattern, 0, NULL, &found) == 0;
	bool good = any && store_reader_open_file(&i, found.gl_pathv[0], &err) >= 0 &&
		    store_reader_load_state(&i, &err) >= 0 && log_job(i.log, &job, &err) >= 0;
	for (size_t n = 0; good && n < job->nmetadata; n++)
		if (!strcmp(job->metadata[n].key, "lib_ver"))
			snprintf(version, sizeof version, "%s", job->metadata[n].value);
	store_reader_close(&i);
	if (any)
		globfree(&found);
	if (!any)
		checks_add(c, CHECK_PROBLEM, "trial", "a program with the library leaves no store");
	else if (!good || strcmp(version, "iolens-" IOLENS_VERSION) != 0)
		checks_add(c, CHECK_PROBLEM, "trial", "the library is of another version (%s) than this command: %s",
			   good ? version : err.message, "install both from one package");
	else
		checks_add(c, CHECK_OK, "trial", "a program is observed, and its store can be read (%s)", version);
}

static void try_library(struct doctor *d)
{
	char directory[PATH_MAX + 32], line[256] = "";
	const char *given = getenv("IOLENS_TMPDIR");
	snprintf(directory, sizeof directory, "%s/.iolens-doctor-XXXXXX", given && *given == '/' ? given : "/dev/shm");
	if (!mkdtemp(directory)) {
		checks_add(&d->checks, CHECK_PROBLEM, "trial", "%s: %s: no store can be made there", directory,
			   strerror(errno));
		return;
	}
	struct witness w = {.library = d->library, .session = directory, .bare = true};
	FILE *told = witness_start(&w);
	bool complains = told && fgets(line, sizeof line, told);
	line[strcspn(line, "\n")] = '\0';
	int status = told ? witness_end(&w, told) : -1;
	if (complains)
		checks_add(&d->checks, CHECK_PROBLEM, "trial", "the loader says: %s", line);
	else if (status != 0)
		checks_add(&d->checks, CHECK_PROBLEM, "trial", "the program true, started with it, ends with status %d",
			   status);
	else
		judge_store(&d->checks, directory);
	stores_remove(directory);
}

/* What stands between `from` and `to` in the name of the last piece of a path. */
static void check_backends(struct doctor *d)
{
	glob_t found;
	char pattern[PATH_MAX + 32], names[256] = "";
	const char *slash = strrchr(d->library, '/');
	snprintf(pattern, sizeof pattern, "%.*s/libiolens-mpi-*.so", (int)(slash - d->library), d->library);
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t n = 0; n < found.gl_pathc; n++) {
			const char *name = strrchr(found.gl_pathv[n], '/') + sizeof "libiolens-mpi-";
			size_t used = strlen(names);
			snprintf(names + used, sizeof names - used, "%s%.*s", used ? ", " : "", (int)strlen(name) - 3,
				 name);
		}
		globfree(&found);
	}
	if (*names)
		checks_add(&d->checks, CHECK_OK, "mpi", "back ends for %s", names);
	else
		checks_add(&d->checks, CHECK_NOTE, "mpi",
			   "no back end next to the library: ranks of MPI programs write no common log");
}

static void check_library(struct doctor *d)
{
	struct stat s;
	if (!preload_find(d->library, sizeof d->library)) {
		const char *given = getenv("IOLENS_PRELOAD");
		checks_add(&d->checks, CHECK_PROBLEM, "library", "%s: not found: %s", given ? given : "libiolens.so",
			   given ? "correct IOLENS_PRELOAD" : "set IOLENS_PRELOAD to its path");
		d->library[0] = '\0';
		return;
	}
	if (stat(d->library, &s) != 0 || (s.st_mode & 0444) != 0444)
		checks_add(&d->checks, CHECK_PROBLEM, "library", "%s: not readable by all users: chmod a+r",
			   d->library);
	else
		checks_add(&d->checks, CHECK_OK, "library", "%s", d->library);
	if (!preload_loadable(d->library))
		checks_add(&d->checks, CHECK_NOTE, "library",
			   "LD_PRELOAD cannot name this path: only iolens run works, through a link");
	try_library(d);
	check_backends(d);
}

/* Of those that wrap calls: "libiolens.so" or "libiolens-communication.so", "libdarshan...". */
static const char *wraps(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (strcmp(name, "libiolens.so") == 0 || strcmp(name, "libiolens-communication.so") == 0)
		return "iolens";
	return strncmp(name, "libdarshan", 10) == 0 ? "Darshan" : NULL;
}

/* The loader has its own value of $LIB, and loads a file once whatever its names. */
static bool one_file(const char *a, const char *b)
{
	struct stat s, t;
	if (strchr(a, '$') || strchr(b, '$') || strcmp(a, b) == 0)
		return true;
	return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static void check_together(struct doctor *d, const char *path, char before[PATH_MAX])
{
	const char *one = wraps(path), *other = wraps(before);
	if (!one)
		return;
	if (!other)
		snprintf(before, PATH_MAX, "%s", path);
	else if (one != other)
		checks_add(&d->checks, CHECK_PROBLEM, "LD_PRELOAD",
			   "%s and %s: iolens and Darshan wrap the same calls: preload one of them", before, path);
	else if (!one_file(path, before))
		checks_add(&d->checks, CHECK_PROBLEM, "LD_PRELOAD",
			   "%s and %s: two libraries of %s: preload one of them", before, path, one);
}

static void check_preload(struct doctor *d)
{
	const char *list = getenv("LD_PRELOAD");
	char before[PATH_MAX] = "";
	bool ours = false;
	for (size_t n; list && *list; list += n + (list[n] != 0)) {
		char path[PATH_MAX];
		n = strcspn(list, ": ");
		snprintf(path, sizeof path, "%.*s", (int)n, list);
		ours = ours || preload_is_ours(list, n);
		if (*path == '/' && !strchr(path, '$') && access(path, R_OK) != 0)
			checks_add(&d->checks, CHECK_PROBLEM, "LD_PRELOAD", "%s: %s: every program complains", path,
				   strerror(errno));
		check_together(d, path, before);
	}
	if (ours)
		checks_add(&d->checks, CHECK_OK, "LD_PRELOAD", "%s", getenv("LD_PRELOAD"));
	else
		checks_add(&d->checks, CHECK_NOTE, "LD_PRELOAD", "%s: programs are observed under iolens run only",
			   getenv("LD_PRELOAD") ? "another library" : "not set");
}

/* ---- settings ---- */

/* "LOGPATH  /logs  site.conf:3  # ..." in pieces. */
static bool take_apart(char *line, char **value, char **origin)
{
	char *hash = strstr(line, " # "), *last = NULL;
	size_t name = strcspn(line, " ");
	if (!hash || !line[name])
		return false;
	for (char *end = hash; end > line && *end == ' '; end--)
		*end = '\0';
	line[name] = '\0';
	*value = line + name + 1 + strspn(line + name + 1, " ");
	for (char *at = *value; (at = strstr(at, " environment ")); at++)
		last = at;
	last = last ? last : strrchr(*value, ' ');
	if (!last)
		return false;
	*origin = last + 1;
	for (char *end = last; end >= *value && *end == ' '; end--)
		*end = '\0';
	return true;
}

static void remember(struct doctor *d, const char *name, const char *value, const char *origin)
{
	const char *variable = strncmp(origin, "environment ", 12) == 0 ? getenv(origin + 12) : NULL;
	value = variable ? variable : value; /* in full */
	if (!strcmp(name, "LOGPATH"))
		snprintf(d->logs, sizeof d->logs, "%s", value);
	if (!strcmp(name, "TMPDIR"))
		snprintf(d->stores, sizeof d->stores, "%s", value);
	d->all = d->all || !strcmp(name, "ENABLE_NONMPI");
	d->group_readable = d->group_readable || !strcmp(name, "GROUP_READABLE");
	bool off = !strcmp(name, "DISABLE");
	checks_add(&d->checks, off ? CHECK_PROBLEM : CHECK_OK, "setting", "%s %s (%s)%s", name, value, origin,
		   off ? ": nothing is observed" : "");
}

static void check_settings(struct doctor *d)
{
	char line[1024], path[PATH_MAX], *value, *origin;
	struct witness w = {.library = d->library};
	const char *file = getenv("IOLENS_CONFIG_PATH");
	file = file ? file : getenv("DARSHAN_CONFIG_PATH");
	FILE *told = *d->library ? witness_start(&w) : NULL;
	while (told && fgets(line, sizeof line, told)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "warning: ", 9))
			checks_add(&d->checks, CHECK_PROBLEM, "setting", "%s", line + 9);
		else if (take_apart(line, &value, &origin) && strcmp(origin, "default") != 0 &&
			 strcmp(line, "DUMP_CONFIG") != 0)
			remember(d, line, value, origin);
	}
	if (told)
		witness_end(&w, told);
	if (!file)
		checks_add(&d->checks, CHECK_OK, "file", "no configuration file: IOLENS_CONFIG_PATH is not set");
	if (logname_opt_out(getenv("XDG_CONFIG_HOME"), getenv("HOME"), path, sizeof path) && access(path, F_OK) == 0)
		checks_add(&d->checks, CHECK_PROBLEM, "disabled",
			   "%s: only iolens run observes your programs: iolens enable undoes it", path);
	/* The trial, which would leave a log, is without these two. */
	d->all = d->all || getenv("IOLENS_ENABLE_NONMPI") || getenv("DARSHAN_ENABLE_NONMPI");
	if (!d->all && !getenv("IOLENS_SESSION"))
		checks_add(&d->checks, CHECK_NOTE, "non-MPI",
			   "IOLENS_ENABLE_NONMPI is not set: programs without MPI are observed under iolens run only");
}

/* ---- places ---- */

static void check_room(struct doctor *d, const char *what, const char *path)
{
	struct statvfs s;
	char room[UNITS_TEXT];
	if (statvfs(path, &s) != 0)
		return;
	double bytes = (double)s.f_bavail * (double)s.f_frsize;
	bool small = bytes < LEAST_ROOM, full = s.f_files && !s.f_favail;
	checks_add(&d->checks, small || full ? CHECK_PROBLEM : CHECK_OK, what, "%s: writable, %s free%s", path,
		   units_bytes(room, bytes),
		   full    ? ", and no inodes: make room"
		   : small ? ": make room"
			   : "");
}

/* As in containers: what stores may take of it (runtime/store/store_limit.h). */
static void check_share(struct doctor *d, const char *path)
{
	enum { SMALL = 1 << 30, SHARE = 4, EACH = 64 << 10 };
	struct statvfs s;
	char room[UNITS_TEXT];
	double bytes = statvfs(path, &s) == 0 ? (double)s.f_bavail * (double)s.f_frsize / SHARE : SMALL;
	if (bytes < SMALL / SHARE)
		checks_add(&d->checks, CHECK_NOTE, "stores",
			   "%s: stores take at most %s of it: enough for %s at a time with few files; more "
			   "files get less detail, more processes no record: set IOLENS_TMPDIR to a larger one",
			   path, units_bytes(room, bytes), COUNTED(bytes / EACH, "process"));
}

static const char *what_to_do(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "make room, or set ";
	case ENOENT:
		return "make it with mode 1777, or set ";
	default:
		return "set ";
	}
}

/* Only the attempt tells for sure: of quotas, read-only mounts, rules of the system. */
static bool takes_file(struct doctor *d, const char *what, const char *path, const char *variable)
{
	char file[DOCTOR_PATH + 32];
	snprintf(file, sizeof file, "%s/.iolens-doctor-XXXXXX", path);
	int fd = mkstemp(file);
	bool good = fd >= 0 && write(fd, "\n", 1) == 1;
	if (!good)
		checks_add(&d->checks, CHECK_PROBLEM, what, "%s: no file can be made there: %s: %s%s to another", path,
			   strerror(errno), what_to_do(errno), variable);
	if (fd >= 0) {
		close(fd);
		unlink(file);
	}
	return good;
}

/* LOGPATH/2026/11/25, if it is there. */
static bool day_directory(const struct doctor *d, int ahead, char *day, size_t room)
{
	struct stat s;
	time_t now = time(NULL);
	struct tm t = *localtime(&now);
	t.tm_mday += ahead;
	t.tm_hour = 12; /* no change of the clock is near */
	t.tm_isdst = -1;
	mktime(&t);
	snprintf(day, room, "%s/%d/%d/%d", d->logs, t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
	return stat(day, &s) == 0 && S_ISDIR(s.st_mode);
}

/* A site's LOGPATH has directories of days, and users cannot write to itself: a log needs that of its day. */
static bool needs_days(const char *logs, const char *day)
{
	char year[DOCTOR_PATH + 16], stores[DOCTOR_PATH + 16];
	struct stat s;
	snprintf(year, sizeof year, "%.*s", (int)(strlen(logs) + 1 + strcspn(day + strlen(logs) + 1, "/")), day);
	snprintf(stores, sizeof stores, "%s/.stores", logs);
	return stat(logs, &s) == 0 && !(s.st_mode & S_IWOTH) && (access(year, F_OK) == 0 || access(stores, F_OK) == 0);
}

static void check_days(struct doctor *d)
{
	char day[DOCTOR_PATH + 64], next[DOCTOR_PATH + 64];
	bool today = day_directory(d, 0, day, sizeof day);
	if (!needs_days(d->logs, day))
		return;
	if (!today)
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: not there: today's jobs of most users leave no log",
			   day);
	else if (!day_directory(d, 1, next, sizeof next))
		checks_add(&d->checks, CHECK_NOTE, "logs", "%s: not there yet: tomorrow's jobs need it", next);
}

static void check_logs(struct doctor *d)
{
	char day[DOCTOR_PATH + 64];
	struct stat s;
	if (!*d->logs) {
		checks_add(&d->checks, CHECK_NOTE, "logs",
			   "LOGPATH is not set: a log goes to the directory in which its program was started");
		return;
	}
	bool today = day_directory(d, 0, day, sizeof day);
	const char *path = today ? day : d->logs;
	check_days(d);
	if (!takes_file(d, "logs", path, "IOLENS_LOGPATH"))
		return;
	check_room(d, "logs", path);
	if (stat(path, &s) == 0 && s.st_mode & S_IWOTH && !(s.st_mode & S_ISVTX))
		checks_add(&d->checks, CHECK_PROBLEM, "logs", "%s: users may remove other users' logs: chmod +t", path);
}

static void check_limits(struct doctor *d)
{
	struct rlimit files;
	char text[UNITS_TEXT];
	int scope = ptrace_scope();
	if (scope > 0)
		checks_add(&d->checks, CHECK_NOTE, "yama",
			   "kernel.yama.ptrace_scope is %d: %s can see the call of a thread (iolens watch)", scope,
			   scope >= 3 ? "no user" : "only root");
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < LEAST_ROOM)
		checks_add(&d->checks, CHECK_PROBLEM, "limits", "ulimit -f allows files of %s: a store needs %s",
			   units_bytes(text, (double)files.rlim_cur), "16 MiB");
	else
		checks_add(&d->checks, CHECK_OK, "limits", "file size limit: enough for a store");
}

void doctor_installation(struct doctor *d)
{
	d->checks.about = "installation";
	check_library(d);
	check_preload(d);
	d->checks.about = "settings";
	check_settings(d);
	d->checks.about = "node";
	const char *stores = *d->stores == '/' ? d->stores : "/dev/shm";
	if (takes_file(d, "stores", stores, "IOLENS_TMPDIR")) {
		check_room(d, "stores", stores);
		check_share(d, stores);
	}
	check_logs(d);
	check_limits(d);
}
