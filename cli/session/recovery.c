#include "recovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"
#include "cli.h"
#include "store_reader.h"
#include "logname.h"
#include "other_users.h"
#include "session_dir.h"
#include "platform.h"
#include "precompressed.h"
#include "trace_reader.h"
#include "snapshot.h"

int recovery_add_store(struct recovery *r, const char *directory, const char *name)
{
	if (r->used == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		r->stores = realloc(r->stores, r->room * sizeof *r->stores);
	}
	size_t n = strlen(directory) + strlen(name) + 2;
	char *path = r->stores ? malloc(n) : NULL;
	if (!path)
		return cli_fail(CLI_INPUT, "recover: not enough memory");
	snprintf(path, n, "%s%s%s", directory, *directory ? "/" : "", name);
	r->stores[r->used++] = path;
	return 0;
}

static int add_entry(void *context, const char *entry)
{
	return recovery_add_store(context, "", entry);
}

static int add_bundle(struct recovery *r, const char *directory, const char *name)
{
	char path[4096];
	return (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) < sizeof path
		       ? bundle_each(path, add_entry, r)
		       : 0;
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* A link of another user may lead anywhere, and this may be root. */
static bool is_foreign_link(DIR *dir, const char *name)
{
	struct stat s;
	return fstatat(dirfd(dir), name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(s.st_mode) && s.st_uid != geteuid();
}

int recovery_add_directory(struct recovery *r, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int code = dir ? 0 : cli_fail(CLI_INPUT, "recover: %s: %s", path, strerror(errno));
	while (!code && (entry = readdir(dir))) {
		bool bundle = ends_in(entry->d_name, BUNDLE_SUFFIX);
		if (!bundle && !ends_in(entry->d_name, ".store"))
			continue;
		if (is_foreign_link(dir, entry->d_name))
			cli_fail(0, "recover: %s/%s: is a link of another user: left out", path, entry->d_name);
		else
			code = (bundle ? add_bundle : recovery_add_store)(r, path, entry->d_name);
	}
	if (dir)
		closedir(dir);
	return code;
}

int recovery_add_others(struct recovery *r, const char *path)
{
	struct stat s;
	size_t kept = r->used;
	int code = *path ? recovery_add_directory(r, path) : 0;
	for (size_t n = kept; n < r->used; n++)
		if (lstat(r->stores[n], &s) == 0 && S_ISREG(s.st_mode))
			r->stores[kept++] = r->stores[n];
		else
			free(r->stores[n]);
	r->used = kept;
	return code;
}

const char *recovery_root(void)
{
	const char *ours = getenv("IOLENS_LOGPATH"), *alias = getenv("DARSHAN_LOGPATH");
	return ours && *ours ? ours : alias && *alias ? alias : NULL;
}

/* What a name is made of, of the store that began first. */
struct beginning {
	int64_t started, job, pid;
	char program[sizeof((struct state_process *)0)->exe];
};

static void look_at(const char *store, struct beginning *first)
{
	struct store_reader i;
	struct log_error err;
	const struct log_job *job;
	if (store_reader_open_file(&i, store, &err) >= 0 && store_reader_load_state(&i, &err) >= 0 &&
	    log_job(i.log, &job, &err) >= 0 && (!first->started || i.state->process.started < first->started)) {
		*first = (struct beginning){i.state->process.started, job->id, i.state->process.pid, ""};
		memcpy(first->program, i.state->process.exe, sizeof first->program - 1);
	}
	store_reader_close(&i);
}

void recovery_name(const struct recovery *r, const char *root, char *path, size_t room)
{
	struct beginning first = {0};
	for (size_t n = 0; n < r->used; n++)
		look_at(r->stores[n], &first);
	if (first.started)
		logname_make(path, room, root, first.program, first.started, first.job, first.pid);
	else
		snprintf(path, room, "%s%srecovered.darshan", root ? root : "", root ? "/" : "");
}

size_t recovery_running(const struct recovery *r)
{
	size_t running = 0;
	for (size_t n = 0; n < r->used; n++) {
		struct store_reader i;
		struct log_error err;
		if (store_reader_open_file(&i, r->stores[n], &err) >= 0 && store_reader_load_state(&i, &err) >= 0)
			running +=
				!i.state->process.end_reason && snapshot_process_runs(&i.state->process, r->stores[n]);
		store_reader_close(&i);
	}
	return running;
}

/* ---- jobs that have their log ---- */

/* Of an MPI job's rank, else 0. */
static uint64_t world_of(const char *store, bool *logged)
{
	struct store_reader i;
	struct log_error err;
	bool good = store_reader_open_file(&i, store, &err) >= 0 && store_reader_load_state(&i, &err) >= 0;
	uint64_t world = good && i.state->process.mpi_size > 0 ? i.state->process.mpi_world : 0;
	*logged = world && i.state->process.end_reason == STATE_END_LOGGED;
	store_reader_close(&i);
	return world;
}

struct recovery recovery_take_logged(struct recovery *r)
{
	struct recovery taken = {0};
	uint64_t world = 0;
	bool logged = false;
	for (size_t n = 0; n < r->used && !logged; n++)
		world = world_of(r->stores[n], &logged);
	if (!logged)
		return taken;
	size_t kept = 0;
	for (size_t n = 0; n < r->used; n++) {
		char *store = r->stores[n];
		if (world_of(store, &logged) != world)
			r->stores[kept++] = store;
		else if (recovery_add_store(&taken, "", store) == 0)
			free(store);
	}
	r->used = kept;
	return taken;
}

/* What ranks that were killed in MPI_Finalize were about to tell each other; named as the directory of their stores. */
static void remove_meeting(const char *slash)
{
	char path[512];
	if (slash && (size_t)snprintf(path, sizeof path, "/dev/shm%s.meeting", slash) < sizeof path)
		unlink(path);
}

/* What else is in the directory of a session, or of the ranks of an MPI job. */
static const char *const marks[] = {"note", "libiolens.so", "left", PLATFORM_FILE};

/* Beside a session of root that is gone: what other users have left there is removed with the last store. */
static void remove_others(const char *session)
{
	char others[512];
	if (other_users_find(others, sizeof others, session) && !session_dir_holds_store(others))
		other_users_remove(others);
}

/* -1 where another user's link has the directory's name: it may lead to the files of a third. */
static int open_directory(const char *path)
{
	enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };
	struct stat s;
	int directory = open(path, FLAGS | O_NOFOLLOW);
	bool own = directory < 0 && lstat(path, &s) == 0 && S_ISLNK(s.st_mode) && s.st_uid == geteuid();
	return own ? open(path, FLAGS) : directory;
}

/* An entry goes with its bundle, whose others are of the same session. */
static void remove_bundle(const char *entry)
{
	char path[4096];
	size_t n = (size_t)snprintf(path, sizeof path, "%s", entry);
	for (int parts = 0; parts < 2 && n < sizeof path && n; parts += path[n] == '/')
		n--;
	path[n] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash) {
		unlink(path);
		return;
	}
	*slash = '\0';
	if (strcmp(slash + 1, SESSION_MOVED) == 0)
		stores_remove_moved(path);
	int directory = open_directory(path);
	if (directory >= 0) {
		unlinkat(directory, slash + 1, 0);
		close(directory);
	}
}

static void remove_file(int directory, const char *store)
{
	static const char *const ahead[] = {PRECOMPRESSED_SUFFIX, TRACES_AHEAD_SUFFIX};
	char mark[4096];
	unlinkat(directory, store, 0);
	for (size_t n = 0; n < sizeof ahead / sizeof *ahead; n++)
		if ((size_t)snprintf(mark, sizeof mark, "%s%s", store, ahead[n]) < sizeof mark)
			unlinkat(directory, mark, 0);
}

/* What is left of a session, or of an MPI job's ranks, when no store is. */
static void remove_rest(int directory, const char *path)
{
	if (strstr(path, ".others/") && !session_dir_holds_store(path))
		other_users_remove(path);
	if (!strstr(path, "/iolens-") || session_dir_holds_store(path))
		return;
	for (size_t n = 0; n < sizeof marks / sizeof *marks; n++)
		unlinkat(directory, marks[n], 0);
	if (rmdir(path) == 0)
		remove_meeting(strrchr(path, '/'));
	remove_others(path);
}

void recovery_remove_store(char *path)
{
	if (bundle_names(path))
		remove_bundle(path);
	char *slash = strrchr(path, '/');
	if (!slash) {
		remove_file(AT_FDCWD, path);
		return;
	}
	for (char *end = slash; end > path && end[-1] == '/';) /* with a slash behind it a link is followed */
		*--end = '\0';
	*slash = '\0';
	int directory = open_directory(*path ? path : "/");
	if (directory < 0)
		return;
	remove_file(directory, slash + 1);
	remove_rest(directory, path);
	close(directory);
}

/* Stores are sparse. */
static int copy_data(int from, int to, off_t size)
{
	char block[65536];
	for (off_t at = 0, end; at < size; at = end) {
		at = lseek(from, at, SEEK_DATA);
		end = at < 0 ? size : lseek(from, at, SEEK_HOLE);
		for (ssize_t n; at >= 0 && at < end; at += n) {
			size_t want = end - at < (off_t)sizeof block ? (size_t)(end - at) : sizeof block;
			n = pread(from, block, want, at);
			if (n <= 0 || pwrite(to, block, (size_t)n, at) != n)
				return n ? errno : EIO;
		}
	}
	return ftruncate(to, size) == 0 ? 0 : errno;
}

int recovery_move_store(char *path, const char *directory)
{
	char name[4096];
	struct stat s;
	const char *slash = strrchr(path, '/');
	snprintf(name, sizeof name, "%s/%s", directory, slash ? slash + 1 : path);
	int from = bundle_names(path) ? store_open(path) : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = from >= 0 ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	int error = to >= 0 && fstat(from, &s) == 0 ? copy_data(from, to, s.st_size) : errno;
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) != 0 && !error)
		error = errno;
	if (!error && !bundle_names(path))
		recovery_remove_store(path);
	else if (error && to >= 0)
		unlink(name);
	return error;
}

void recovery_free(struct recovery *r)
{
	for (size_t n = 0; n < r->used; n++)
		free(r->stores[n]);
	free(r->stores);
	*r = (struct recovery){0};
}
