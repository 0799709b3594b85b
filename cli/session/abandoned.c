#include "abandoned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "linked_in.h"
#include "other_users.h"
#include "recovery.h"
#include "session_dir.h"
#include "units.h"

struct search {
	const char *command;
	void (*wrote)(void *, const char *);
	size_t most;
	struct abandoned_found found;
};

static void keep(struct search *s, const char *path, const char *why)
{
	s->found.kept++;
	if (s->command)
		cli_fail(0, "%s: %s: left by an iolens run that was killed: %s", s->command, path, why);
}

/* The place that was meant for the log; another one beside it where there is a file by now. */
static void name_log(const struct recovery *r, const struct session_pointer *note, char *path, size_t room)
{
	struct stat s;
	size_t n = strlen(note->log);
	if (note->log[n - 1] == '/') {
		char root[sizeof note->log];
		snprintf(root, sizeof root, "%.*s", (int)n - 1, note->log);
		recovery_name(r, root, path, room);
		return;
	}
	snprintf(path, room, "%s", note->log);
	for (int copy = 1; lstat(path, &s) == 0 && copy < 100; copy++)
		snprintf(path, room, "%s-recovered%d", note->log, copy);
}

/* Trust what the pointer names only if no other user can have made it. */
static bool has_shared(const struct session_pointer *note)
{
	struct stat s;
	return note->shared[0] == '/' && strstr(note->shared, "/.iolens-") && lstat(note->shared, &s) == 0 &&
	       S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 077);
}

static void clear(const char *path, const struct session_pointer *note, int lock)
{
	char others[512];
	if (other_users_find(others, sizeof others, path))
		other_users_remove(others);
	if (has_shared(note))
		stores_remove(note->shared);
	int directory = openat(lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0)
		stores_remove_held(directory, path);
}

/*
 * The directory that is locked, whatever has its name by now: the owner of the directory above it may give the name to a link,
 * and this may be root.
 */
static void name_held(char *held, size_t room, int lock, const char *path)
{
	struct stat a, b;
	snprintf(held, room, "/proc/self/fd/%d", lock);
	if (stat(held, &a) != 0 || fstat(lock, &b) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		snprintf(held, room, "%s", path); /* /proc is not there */
}

/* Killed while its first process made a store: nothing was recorded. */
static bool holds_nothing(const struct recovery *r)
{
	struct stat s;
	for (size_t n = 0; n < r->used; n++)
		if (lstat(r->stores[n], &s) != 0 || s.st_size)
			return false;
	return true;
}

static void assemble(struct search *s, const char *path, const struct session_pointer *note, int lock,
		     const struct recovery *r)
{
	char log[4096 + 256], why[3 * 4096];
	struct log_error err;
	struct assemble_found found = {0};
	struct assemble_job job = {.found = &found, .durable = true, .wrote = s->wrote, .linked_in = linked_in};
	name_log(r, note, log, sizeof log);
	if (assemble_stores(&job, (const char *const *)r->stores, r->used, log, &err) < 0) {
		snprintf(why, sizeof why,
			 "its log %s was not written: %s%s%s: make it with iolens recover -o LOG %s%s%s", log,
			 err.message, err.system ? ": " : "", err.system ? strerror(err.system) : "", path,
			 has_shared(note) ? " " : "", has_shared(note) ? note->shared : "");
		keep(s, path, why);
		return;
	}
	s->found.logs++;
	clear(path, note, lock);
}

static void collect(struct search *s, const char *path, const struct session_pointer *note, int lock)
{
	struct recovery r = {0};
	char why[128];
	char others[512], held[512];
	name_held(held, sizeof held, lock, path);
	if (!other_users_find(others, sizeof others, path))
		others[0] = '\0';
	if (recovery_add_directory(&r, held) || (has_shared(note) && recovery_add_directory(&r, note->shared)) ||
	    recovery_add_others(&r, others))
		return;
	size_t running = recovery_running(&r);
	if (running) {
		snprintf(why, sizeof why, "%s of it still %s", COUNTED(running, "process"),
			 units_agree((int64_t)running, "runs", "run"));
		keep(s, path, why);
	} else if (r.used > s->most) {
		keep(s, path, "make its log with iolens recover");
	} else if (r.used && !holds_nothing(&r)) {
		assemble(s, path, note, lock, &r);
	} else {
		clear(path, note, lock);
	}
	recovery_free(&r);
}

static void look_at(struct search *s, const char *parent, const char *name)
{
	char path[512];
	struct session_pointer note;
	if (strncmp(name, "iolens-", 7) != 0 ||
	    (size_t)snprintf(path, sizeof path, "%s/%s", parent, name) >= sizeof path)
		return;
	int lock = session_dir_adopt(path, &note);
	if (lock < 0)
		return;
	collect(s, path, &note, lock);
	close(lock);
}

struct abandoned_found abandoned_collect(const char *command, void (*wrote)(void *, const char *), size_t most)
{
	struct search s = {.command = command, .wrote = wrote, .most = most};
	const char *parents[SESSION_PARENTS];
	session_dir_parents(parents);
	for (size_t n = 0; n < SESSION_PARENTS; n++) {
		if (session_dir_parent_again(parents, n))
			continue;
		DIR *dir = opendir(parents[n]);
		struct dirent *entry;
		while (dir && (entry = readdir(dir)))
			look_at(&s, parents[n], entry->d_name);
		if (dir)
			closedir(dir);
	}
	return s.found;
}
