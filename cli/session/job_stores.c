#include "job_stores.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session_dir.h"
#include "snapshot.h"
#include "store_reader.h"

/* The directory is one that others cannot have made: /dev/shm is for everybody to write to. */
static DIR *open_own(const char *path)
{
	struct stat s;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 && fstat(fd, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & 077) ? fdopendir(fd) : NULL;
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static bool is_store(DIR *dir, const char *name)
{
	struct stat s;
	size_t n = strlen(name);
	return n > 6 && strcmp(name + n - 6, ".store") == 0 &&
	       fstatat(dirfd(dir), name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid();
}

static int look_at(struct job_stores *s, int64_t job, const char *directory, const char *name)
{
	char path[1024];
	struct store_reader i;
	struct log_error err;
	const struct log_job *of;
	snprintf(path, sizeof path, "%s/%s", directory, name);
	bool good = store_reader_open_file(&i, path, &err) >= 0 && store_reader_load_state(&i, &err) >= 0 &&
		    log_job(i.log, &of, &err) >= 0 && of->id == job;
	bool runs = good && !i.state->process.end_reason && snapshot_process_runs(&i.state->process, path);
	if (good && !runs)
		s->without_file += log_names(i.log, &err) >= 0 && !log_names_count(i.log);
	store_reader_close(&i);
	s->running += runs;
	return good && !runs ? recovery_add_store(&s->of, directory, name) : 0;
}

/* iolens-UID, and iolens-UID-... of ranks of MPI jobs. */
static bool is_mine(const char *name)
{
	char mine[32];
	size_t n = (size_t)snprintf(mine, sizeof mine, "iolens-%u", (unsigned)geteuid());
	return strncmp(name, mine, n) == 0 && (!name[n] || name[n] == '-');
}

static int find_below(struct job_stores *s, int64_t job, const char *parent)
{
	int code = 0;
	DIR *dir = opendir(parent);
	for (struct dirent *e; dir && !code && (e = readdir(dir));) {
		char path[512];
		if (!is_mine(e->d_name) ||
		    (size_t)snprintf(path, sizeof path, "%s/%s", parent, e->d_name) >= sizeof path)
			continue;
		DIR *stores = open_own(path);
		for (struct dirent *f; stores && !code && (f = readdir(stores));)
			if (is_store(stores, f->d_name))
				code = look_at(s, job, path, f->d_name);
		if (stores)
			closedir(stores);
	}
	if (dir)
		closedir(dir);
	return code;
}

int job_stores_find(struct job_stores *s, int64_t job)
{
	const char *parents[SESSION_PARENTS];
	int code = 0;
	session_dir_parents(parents);
	for (size_t n = 0; n < SESSION_PARENTS && !code; n++)
		if (!session_dir_parent_again(parents, n))
			code = find_below(s, job, parents[n]);
	return code;
}
