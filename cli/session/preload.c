#include "preload.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema.h"

#define IN_PACKAGE "/iolens/lib/libiolens.so"

/* Relative to the program's directory. */
static const char *const places[] = {
	"../runtime/libiolens.so",
	"../lib/python3*/site-packages" IN_PACKAGE,
	"../lib64/python3*/site-packages" IN_PACKAGE,
	"../lib/python3*/dist-packages" IN_PACKAGE, /* Debian, in /usr/local */
	"../local/lib/python3*/dist-packages" IN_PACKAGE,
	".." IN_PACKAGE, /* pip install --target */
	"../lib/iolens/libiolens.so",
	"../lib/*/iolens/libiolens.so",
	"libiolens.so",
};

static bool first_match(const char *pattern, char *path, size_t room)
{
	glob_t found;
	bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
	if (any && !realpath(found.gl_pathv[0], path))
		snprintf(path, room, "%s", found.gl_pathv[0]);
	globfree(&found);
	return any;
}

/* Likewise. */
static const char *const static_places[] = {
	"../runtime/linked/libiolens.a", "../../.venv/../build/runtime/linked/libiolens.a", /* .venv/bin of a clone */
	"../lib/iolens/libiolens.a",     "../lib64/iolens/libiolens.a",
	"../lib/*/iolens/libiolens.a",
};

static bool find_among(const char *const *patterns, size_t n, char *path, size_t room)
{
	char program[PATH_MAX], pattern[PATH_MAX + 128];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	program[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(program, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < n; i++) {
		snprintf(pattern, sizeof pattern, "%s/%s", program, patterns[i]);
		if (first_match(pattern, path, room))
			return true;
	}
	return false;
}

static bool find_installed(char *path, size_t room)
{
	return find_among(places, sizeof places / sizeof *places, path, room);
}

bool preload_find_static(char *path, size_t room)
{
	return find_among(static_places, sizeof static_places / sizeof *static_places, path, room);
}

bool preload_find(char *path, size_t room)
{
	const char *given = getenv("IOLENS_PRELOAD");
	if (!given)
		return find_installed(path, room);
	snprintf(path, room, "%s", given);
	return access(path, R_OK) == 0;
}

bool preload_package_parent(char *path, size_t room)
{
	size_t in = strlen(IN_PACKAGE), n = find_installed(path, room) ? strlen(path) : 0;
	if (n <= in || strcmp(path + n - in, IN_PACKAGE) != 0)
		return false;
	path[n - in] = '\0';
	return true;
}

static const char plain[] = "libiolens.so", counting[] = "libiolens-communication.so", ranges[] = "libiolens-ranges.so",
		  synchronization[] = "libiolens-synchronization.so";

bool preload_communication(char *path, size_t room)
{
	char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	if (strcmp(name, plain) == 0 && (size_t)(name - path) + sizeof counting <= room)
		strcpy(name, counting);
	return strcmp(name, counting) == 0 && access(path, R_OK) == 0;
}

static bool find_beside(const char *library, const char *name, char *path, size_t room)
{
	static const char *const beside[] = {"", "../ranges/"};
	const char *slash = strrchr(library, '/');
	int n = slash ? (int)(slash + 1 - library) : 0;
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		char whole[PATH_MAX];
		size_t used = (size_t)snprintf(path, room, "%.*s%s%s", n, library, beside[i], name);
		if (used < room && realpath(path, whole) && strlen(whole) < room) {
			strcpy(path, whole);
			return true;
		}
	}
	return false;
}

bool preload_ranges(const char *library, char *path, size_t room)
{
	return find_beside(library, ranges, path, room);
}

bool preload_synchronization(const char *library, char *path, size_t room)
{
	return find_beside(library, synchronization, path, room);
}

static bool has_word(const char *list, const char *word)
{
	for (size_t n; list && *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ", \t");
		if (n == strlen(word) && strncmp(list, word, n) == 0)
			return true;
	}
	return false;
}

bool preload_communication_asked(void)
{
	const char *module = schema_modules[LOG_MOD_APMPI].name;
	return has_word(getenv("IOLENS_MOD_ENABLE"), module) || has_word(getenv("DARSHAN_MOD_ENABLE"), module);
}

bool preload_is_ours(const char *entry, size_t n)
{
	static const char *const names[] = {plain, counting, ranges, synchronization};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		size_t length = strlen(names[k]);
		bool whole = n == length || (n > length && entry[n - length - 1] == '/');
		if (whole && strncmp(entry + n - length, names[k], length) == 0)
			return true;
	}
	return false;
}

bool preload_loadable(const char *path)
{
	return !strpbrk(path, " :;$");
}

/* ---- the command ---- */

static ssize_t read_at(int fd, void *to, size_t n, int64_t at)
{
	return pread(fd, to, n, (off_t)at);
}

bool preload_command_path(const char *command, char *path, size_t room)
{
	const char *at = getenv("PATH");
	if (strchr(command, '/'))
		return (size_t)snprintf(path, room, "%s", command) < room && access(path, X_OK) == 0;
	for (at = at ? at : "/bin:/usr/bin"; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		snprintf(path, room, "%.*s/%s", n ? (int)n : 1, n ? at : ".", command);
		if (access(path, X_OK) == 0)
			return true;
		at += n;
	}
	return false;
}

static enum program_kind kind_of(const char *path, char interpreter[PROGRAM_PATH])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum program_kind kind = fd >= 0 ? program_kind(fd, read_at, interpreter) : PROGRAM_UNKNOWN;
	if (fd >= 0)
		close(fd);
	return kind;
}

enum program_kind preload_kind_of_file(const char *path)
{
	return kind_of(path, (char[PROGRAM_PATH]){0});
}

bool preload_is_linked(const char *path)
{
	char interpreter[PROGRAM_PATH];
	return kind_of(path, interpreter) == PROGRAM_OURS && !*interpreter;
}

enum program_kind preload_kind(const char *command)
{
	enum { SCRIPTS = 4 };
	char path[PATH_MAX], interpreter[PROGRAM_PATH];
	enum program_kind kind = PROGRAM_SCRIPT;
	if (!preload_command_path(command, path, sizeof path))
		return PROGRAM_SCRIPT;
	for (int scripts = 0; kind == PROGRAM_SCRIPT && scripts <= SCRIPTS; scripts++) {
		kind = kind_of(path, interpreter);
		if (kind == PROGRAM_SCRIPT)
			snprintf(path, sizeof path, "%s", interpreter);
	}
	return kind;
}

bool preload_refused(enum program_kind kind)
{
	return kind == PROGRAM_MACHINE || kind == PROGRAM_LIBC;
}
