#include "other_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534 /* root on a file system of another machine */ };
enum { PASSED = 0711 /* known names may be reached, none be listed */, SHARED = 01733, NAME = 32 };

static bool is_roots(const char *path, mode_t mode)
{
	struct stat s;
	return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == 0 && (s.st_mode & 07777) == mode;
}

/* Hidden beside the session; its length. */
static size_t place_of(char *path, size_t room, const char *session)
{
	const char *name = strrchr(session, '/');
	return (size_t)snprintf(path, room, "%.*s/.%s.others", name ? (int)(name - session) : 0, session,
				name ? name + 1 : "");
}

/* By its number: a wheel runs where libc has no getrandom. */
static long random_bytes(void *to, size_t n)
{
	return syscall(SYS_getrandom, to, n, GRND_NONBLOCK);
}

void other_users_make(char *path, size_t room, const char *session)
{
	uint64_t secret[2];
	path[0] = '\0';
	if (geteuid() != 0 || random_bytes(secret, sizeof secret) != sizeof secret)
		return;
	size_t n = place_of(path, room, session);
	if (mkdir(path, 0700) == 0) {
		snprintf(path + n, room - n, "/%016llx%016llx", (unsigned long long)secret[0],
			 (unsigned long long)secret[1]);
		if (mkdir(path, 0700) == 0 && chmod(path, SHARED) == 0) {
			path[n] = '\0';
			chmod(path, PASSED);
			path[n] = '/';
			return;
		}
		path[n] = '\0';
		rmdir(path);
	}
	path[0] = '\0';
}

bool other_users_find(char *path, size_t room, const char *session)
{
	size_t n = place_of(path, room, session);
	DIR *dir = n < room && is_roots(path, PASSED) ? opendir(path) : NULL;
	struct dirent *entry;
	bool found = false;
	while (dir && !found && (entry = readdir(dir)))
		if (strlen(entry->d_name) == NAME)
			found = (size_t)snprintf(path + n, room - n, "/%s", entry->d_name) < room - n &&
				is_roots(path, SHARED);
	if (dir)
		closedir(dir);
	return found;
}

/* The bundle on a disk, to which a session has a link. In a directory that others may write to it is none of ours. */
static void remove_moved(int directory)
{
	char path[4096];
	struct stat s;
	ssize_t n = fstat(directory, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & 077)
			    ? readlinkat(directory, SESSION_MOVED, path, sizeof path - 1)
			    : -1;
	path[n > 0 ? n : 0] = '\0';
	const char *name = strrchr(path, '/');
	if (name && strncmp(name, "/.iolens-", 9) == 0 && lstat(path, &s) == 0 && S_ISREG(s.st_mode) &&
	    s.st_uid == geteuid())
		unlink(path);
}

void stores_remove_moved(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory >= 0) {
		remove_moved(directory);
		close(directory);
	}
}

void stores_remove_held(int directory, const char *path)
{
	DIR *dir = fdopendir(directory);
	struct dirent *entry;
	remove_moved(directory);
	while (dir && (entry = readdir(dir)))
		unlinkat(directory, entry->d_name, 0);
	if (dir)
		closedir(dir);
	else
		close(directory);
	rmdir(path);
}

void stores_remove(const char *path)
{
	struct stat s;
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return;
	if (fstat(directory, &s) == 0 && (s.st_uid == geteuid() || s.st_uid == NOBODY))
		stores_remove_held(directory, path);
	else
		close(directory);
}

void other_users_remove(const char *path)
{
	char above[512];
	stores_remove(path);
	snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
	rmdir(above);
}
