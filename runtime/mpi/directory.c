/*
 * Ranks of one node meet in the directory of their stores: who has come renames its store to *.done.store, or leaves a file
 * <rank>.done when it has none. The first rank counts, makes the log and removes the stores, which the others wait for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "finalize.h"
#include "job_log.h"
#include "session.h"
#include "sys.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Where this rank's mark is. */
static bool come(const struct life_world *world, bool has_store, char *mark, size_t room)
{
	if (has_store)
		return session_mark_store(mark, room);
	snprintf(mark, room, "%s/%lld.done", session_world_directory(), (long long)world->rank);
	int fd = sys_open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		sys_close(fd);
	return fd >= 0;
}

static int64_t count(void)
{
	DIR *dir = opendir(session_world_directory());
	struct dirent *entry;
	int64_t n = 0;
	while (dir && (entry = readdir(dir)))
		n += ends_with(entry->d_name, ".done.store") || ends_with(entry->d_name, ".done");
	if (dir)
		closedir(dir);
	return n;
}

/* The marks' paths, stores first; *stores says how many are. */
static char **list(int64_t n, size_t *stores, size_t *marks)
{
	char **paths = calloc((size_t)n, sizeof *paths);
	DIR *dir = paths ? opendir(session_world_directory()) : NULL;
	struct dirent *entry;
	*stores = *marks = 0;
	while (dir && (entry = readdir(dir)) && *marks < (size_t)n) {
		bool store = ends_with(entry->d_name, ".done.store");
		char path[768];
		if (!store && !ends_with(entry->d_name, ".done"))
			continue;
		snprintf(path, sizeof path, "%s/%s", session_world_directory(), entry->d_name);
		char *copy = strdup(path);
		if (!copy)
			break;
		paths[(*marks)++] = copy;
		if (store) {
			paths[*marks - 1] = paths[*stores];
			paths[(*stores)++] = copy;
		}
	}
	if (dir)
		closedir(dir);
	return paths;
}

static bool make_log(int64_t ranks, double waited, const struct patience *p)
{
	size_t stores, marks;
	const struct assemble_phase phase = {"wait", waited};
	char **paths = list(ranks, &stores, &marks);
	bool done = paths && marks == (size_t)ranks && job_log((const char *const *)paths, stores, &phase, 1, p->until);
	for (size_t n = 0; n < marks; n++) {
		if (done)
			sys_unlink_at(AT_FDCWD, paths[n]);
		free(paths[n]);
	}
	free(paths);
	if (done)
		sys_remove_directory(session_world_directory());
	return done;
}

static bool lead(const struct life_world *world, struct patience *p)
{
	uint64_t begun = clock_monotonic();
	while (count() < world->size) {
		if (!patience_rest(p)) {
			finalize_not_all(world);
			return false;
		}
	}
	return make_log(world->size, (double)(clock_monotonic() - begun) * 1e-9, p);
}

static bool follow(const char *mark, struct patience *p)
{
	while (sys_exists(mark))
		if (!patience_rest(p))
			return false;
	return true;
}

bool meet_in_directory(const struct life_world *world, bool has_store, struct patience *p)
{
	char mark[768];
	if (patience_given_up() || !come(world, has_store, mark, sizeof mark))
		return false;
	return world->rank == 0 ? lead(world, p) : follow(mark, p);
}
