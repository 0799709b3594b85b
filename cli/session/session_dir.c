#include "session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "other_users.h"
#include "platform.h"
#include "preload.h"

enum { ROOM = 16 << 20 }; /* bytes */
enum {
	CALIBRATION_NS = 200000
}; /* mostly over when it is asked for; two clock readings of 50 ns error each: 5e-4, in a process' first 20 ms alone */

static struct epoch calibrated(struct epoch e)
{
	struct epoch now;
	if (!e.counter)
		return e;
	do
		now = epoch_now();
	while (now.monotonic - e.monotonic < CALIBRATION_NS);
	e.per_tick = (double)(now.monotonic - e.monotonic) * 1e-9 / (double)(now.counter - e.counter);
	return e;
}

/* A few hundred processes; the containers' default of 64 MiB passes, a crowded one does not. */
static bool has_room(const char *directory)
{
	struct statvfs s;
	return statvfs(directory, &s) == 0 && (double)s.f_bavail * (double)s.f_frsize >= ROOM;
}

/* Not the number of a standard stream that the caller has closed: the command shall find it closed. */
static int open_locked(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (dir >= 0)
		close(dir);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
		return lock;
	close(lock);
	return -1;
}

/* Only once it is locked does the directory get the name by which others look for sessions. */
static int take_name(struct session_dir *s, const char *parent)
{
	char hidden[sizeof s->path];
	strcpy(hidden, s->path);
	s->lock = open_locked(hidden);
	snprintf(s->path, sizeof s->path, "%.200s/%s", parent, strrchr(hidden, '/') + 2);
	if (rename(hidden, s->path) == 0)
		return 0;
	strcpy(s->path, hidden);
	return 0;
}

static int make_below(struct session_dir *s, const char *parent)
{
	if (!parent || parent[0] != '/' || strlen(parent) > 200)
		return -1;
	if (!has_room(parent)) {
		errno = ENOSPC;
		return -1;
	}
	snprintf(s->path, sizeof s->path, "%s/.iolens-XXXXXX", parent);
	return mkdtemp(s->path) ? take_name(s, parent) : -1;
}

void session_dir_parents(const char *parents[SESSION_PARENTS])
{
	const char *const all[SESSION_PARENTS] = {getenv("IOLENS_TMPDIR"), getenv("DARSHAN_MMAP_LOGPATH"), "/dev/shm",
						  getenv("TMPDIR"), "/tmp"};
	memcpy(parents, all, sizeof all);
}

bool session_dir_parent_again(const char *const *parents, size_t n)
{
	struct stat a, b;
	if (!parents[n] || parents[n][0] != '/' || stat(parents[n], &a) != 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (parents[i] && stat(parents[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	return false;
}

static int make_somewhere(struct session_dir *s)
{
	const char *parents[SESSION_PARENTS];
	session_dir_parents(parents);
	for (size_t i = 0; i < SESSION_PARENTS; i++)
		if (make_below(s, parents[i]) == 0)
			return 0;
	return cli_fail(CLI_INPUT, "run: no directory for the stores: %s: set IOLENS_TMPDIR to one that is writable",
			strerror(errno));
}

/* A link of the session stands for an installation below a name that the loader would take apart. */
static int link_preload(struct session_dir *s, char *library, const char *name)
{
	char link[sizeof s->path + 32];
	if (preload_loadable(library))
		return 0;
	snprintf(link, sizeof link, "%s/%s", s->path, name);
	if (!preload_loadable(link) || symlink(library, link) != 0) {
		session_dir_remove(s);
		return cli_fail(CLI_INPUT,
				"run: %s: LD_PRELOAD cannot name this: set IOLENS_TMPDIR to a directory without blanks",
				library);
	}
	strcpy(library, link);
	return 0;
}

static long read_file(const char *path, char *to, size_t n)
{
	size_t used = 0;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && used < n && (got = read(fd, to + used, n - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : (long)used;
}

int session_dir_make(struct session_dir *s, unsigned wanted)
{
	struct utsname u;
	s->epoch = epoch_now();
	int mode = PR_TSC_ENABLE;
	prctl(PR_GET_TSC, &mode);
	if (mode != PR_TSC_ENABLE || !epoch_counter_usable(read_file)) /* the command itself reads nothing for us */
		s->epoch.counter = 0;
	s->shared[0] = s->logs[0] = s->ranges[0] = s->synchronization[0] = '\0';
	if (!preload_find(s->preload, sizeof s->preload))
		return cli_fail(
			CLI_INPUT,
			"run: libiolens.so is not in this program's installation: set IOLENS_PRELOAD to its path");
	if (wanted & SESSION_COMMUNICATION && !preload_communication(s->preload, sizeof s->preload))
		return cli_fail(CLI_INPUT, "run: %s not found: MPI communication cannot be counted", s->preload);
	if (wanted & SESSION_SYNCHRONIZATION &&
	    !preload_synchronization(s->preload, s->synchronization, sizeof s->synchronization))
		return cli_fail(CLI_INPUT, "run: libiolens-synchronization.so is not next to %s", s->preload);
	if (wanted & SESSION_RANGES && !preload_ranges(s->preload, s->ranges, sizeof s->ranges))
		return cli_fail(CLI_INPUT, "run: libiolens-ranges.so is not next to %s: ranges cannot be recorded",
				s->preload);
	const char *slash = strrchr(s->ranges, '/');
	snprintf(s->python, sizeof s->python, "%.*spython", slash ? (int)(slash + 1 - s->ranges) : 0, s->ranges);
	int code = make_somewhere(s);
	if (code == 0)
		code = link_preload(s, s->preload, "libiolens.so");
	if (code == 0)
		code = link_preload(s, s->ranges, "libiolens-ranges.so");
	if (code == 0)
		code = link_preload(s, s->synchronization, "libiolens-synchronization.so");
	s->others[0] = '\0';
	if (code)
		return code;
	other_users_make(s->others, sizeof s->others, s->path);
	uname(&u);
	snprintf(s->host, sizeof s->host, "%.64s", u.nodename);
	return code;
}

void session_dir_share(struct session_dir *s, const char *directory)
{
	char *whole = realpath(directory, NULL);
	s->shared[0] = '\0';
	if (!whole || (size_t)snprintf(s->shared, sizeof s->shared, "%s/.iolens-XXXXXX", whole) >= sizeof s->shared ||
	    !mkdtemp(s->shared))
		s->shared[0] = '\0';
	free(whole);
}

/*
 * In front of what the caller preloads; in a session within a session it is there already. Of the two libraries that observe a
 * process it gets one: both would count all twice.
 */
static void add_preload(const struct session_dir *s)
{
	char value[8192];
	const char *others = getenv("LD_PRELOAD");
	size_t used = (size_t)snprintf(value, sizeof value, "%s%s%s%s%s", s->preload, s->synchronization[0] ? ":" : "",
				       s->synchronization, s->ranges[0] ? ":" : "", s->ranges);
	for (const char *at = others ? others : ""; *at && used < sizeof value;) {
		size_t n = strcspn(at, " :");
		if (n && !preload_is_ours(at, n))
			used += (size_t)snprintf(value + used, sizeof value - used, ":%.*s", (int)n, at);
		at += n + (at[n] != 0);
	}
	if (used < sizeof value)
		setenv("LD_PRELOAD", value, 1);
}

/* A path with a colon would be two. */
static void add_python(const struct session_dir *s)
{
	char value[16384];
	const char *others = getenv("PYTHONPATH");
	size_t used = (size_t)snprintf(value, sizeof value, "%s%s%s", s->python, others && *others ? ":" : "",
				       others ? others : "");
	if (!strchr(s->python, ':') && used < sizeof value)
		setenv("PYTHONPATH", value, 1);
}

void session_dir_environment(const struct session_dir *s, bool preload)
{
	char text[EPOCH_TEXT];
	struct epoch epoch = calibrated(s->epoch);
	epoch_print(&epoch, s->host, text);
	setenv("IOLENS_SESSION", s->path, 1);
	if (s->shared[0])
		setenv("IOLENS_SESSION_SHARED", s->shared, 1);
	else
		unsetenv("IOLENS_SESSION_SHARED");
	if (s->others[0])
		setenv("IOLENS_SESSION_OTHERS", s->others, 1);
	else
		unsetenv("IOLENS_SESSION_OTHERS");
	setenv("IOLENS_EPOCH", text, 1);
	if (preload)
		add_preload(s);
	if (preload && s->ranges[0]) {
		setenv("NVTX_INJECTION64_PATH", s->ranges, 0);
		add_python(s);
	}
}

bool session_dir_holds_store(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool holds = false;
	while (dir && !holds && (entry = readdir(dir)))
		holds = strstr(entry->d_name, ".store");
	if (dir)
		closedir(dir);
	return holds;
}

bool session_dir_empty(const struct session_dir *s)
{
	return !session_dir_holds_store(s->path) && !(s->shared[0] && session_dir_holds_store(s->shared)) &&
	       !(s->others[0] && session_dir_holds_store(s->others));
}

/* ---- for the next run ---- */

static const char add_name_id[] = "note";

/* Empty where /proc is not there. */
static void read_namespace(char *text, size_t room)
{
	char numbers[64];
	struct utsname u;
	ssize_t n = readlink("/proc/self/ns/pid", numbers, sizeof numbers - 1);
	text[0] = '\0';
	if (n > 0 && uname(&u) == 0)
		snprintf(text, room, "%.64s %.*s", u.nodename, (int)n, numbers);
}

void session_dir_leave_pointer(const struct session_dir *s, const char *log)
{
	struct session_pointer note = {0};
	snprintf(note.shared, sizeof note.shared, "%s", s->shared);
	char here[4096] = "";
	read_namespace(note.namespace, sizeof note.namespace);
	int fd = s->lock < 0 ? -1 : openat(s->lock, add_name_id, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || (*log != '/' && !getcwd(here, sizeof here - 1)))
		return;
	if (*log != '/')
		strcat(here, "/");
	if ((size_t)snprintf(note.log, sizeof note.log, "%s%s", here, log) >= sizeof note.log ||
	    write(fd, &note, sizeof note) != sizeof note)
		unlinkat(s->lock, add_name_id, 0);
	close(fd);
}

static const char *variable(void *environment, const char *name)
{
	(void)environment;
	return getenv(name);
}

void session_dir_describe_node(const struct session_dir *s)
{
	char text[PLATFORM_TEXT];
	const struct platform_source here = {read_file, variable, NULL, s->host};
	int fd = s->lock < 0 ? -1 : openat(s->lock, PLATFORM_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t n = fd < 0 ? 0 : platform_describe(&here, text);
	if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || close(fd) != 0))
		unlinkat(s->lock, PLATFORM_FILE, 0);
}

static bool read_pointer(int dir, struct session_pointer *note)
{
	char namespace[sizeof note->namespace];
	struct stat s;
	if (fstat(dir, &s) != 0 || s.st_uid != geteuid() || s.st_mode & 077)
		return false;
	int fd = openat(dir, add_name_id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool whole = fd >= 0 && read(fd, note, sizeof *note) == sizeof *note;
	if (fd >= 0)
		close(fd);
	read_namespace(namespace, sizeof namespace);
	return whole && note->log[0] == '/' && !note->log[sizeof note->log - 1] &&
	       !note->shared[sizeof note->shared - 1] && namespace[0] &&
	       strncmp(note->namespace, namespace, sizeof namespace) == 0;
}

int session_dir_adopt(const char *path, struct session_pointer *note)
{
	int lock = open_locked(path);
	if (lock < 0 || read_pointer(lock, note))
		return lock;
	close(lock);
	return -1;
}

void session_dir_remove(const struct session_dir *s)
{
	if (s->shared[0])
		stores_remove(s->shared);
	if (s->others[0])
		other_users_remove(s->others);
	stores_remove(s->path);
}
