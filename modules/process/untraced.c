#include "untraced.h"

#include <stdbool.h>
#include <string.h>

#include "thread.h"
#include "config.h"
#include "life.h"
#include "lock.h"
#include "names.h"
#include "process_state.h"
#include "program_file.h"
#include "readable.h"
#include "sandbox.h"
#include "self.h"
#include "store.h"
#include "sys.h"

/* ---- the program's file ---- */

/* What the child of a vfork reads is in its own kernel counts, not in those of the parent whose memory this is. */
static ssize_t read_at(int fd, void *to, size_t n, int64_t at)
{
	ssize_t got = sys_call(SYS_pread64, fd, (long)to, (long)n, at, 0, 0);
	if (got > 0 && self_is_owner())
		__atomic_fetch_add(&sys_own_read, got, __ATOMIC_RELAXED);
	return got;
}

/* The kernel runs a program of another owner in secure mode; where the mount forbids that, we report too much. */
static bool gains_rights(int fd)
{
	struct stat s;
	if (sys_fstat(fd, &s) != 0)
		return false;
	return (s.st_mode & S_ISUID && s.st_uid != getuid()) ||
	       ((s.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && s.st_gid != getgid());
}

static enum untraced_reason of_file(int fd, int scripts)
{
	static const enum untraced_reason reasons[] = {[PROGRAM_STATIC] = UNTRACED_STATIC,
						       [PROGRAM_MACHINE] = UNTRACED_MACHINE,
						       [PROGRAM_LIBC] = UNTRACED_LIBC};
	char interpreter[PROGRAM_PATH];
	enum program_kind kind = program_kind(fd, read_at, interpreter);
	if (kind == PROGRAM_SCRIPT) {
		int script = scripts < 4 ? sys_open(interpreter, O_RDONLY | O_CLOEXEC, 0) : -1;
		enum untraced_reason why = script >= 0 ? of_file(script, scripts + 1) : UNTRACED_NONE;
		if (script >= 0)
			sys_close(script);
		return why;
	}
	return kind == PROGRAM_OURS && gains_rights(fd) ? UNTRACED_SETUID : reasons[kind];
}

/* ---- its environment ---- */

static bool environment_leads_here(char *const *environment)
{
	const char *preload = config_variable((char **)environment, "LD_PRELOAD");
	if (!preload || !strstr(preload, "libiolens"))
		return false;
	return !config.session || config_variable((char **)environment, "IOLENS_SESSION");
}

/* As it was at the start, written by one thread: `env -i` empties its own. A program that was linked with us loses nothing by that. */
static bool preloaded AT_START;
static bool seen_by_kernel AT_START; /* by `iolens run --kernel`, which sets IOLENS_KERNEL: observed from outside */

__attribute__((constructor)) static void remember(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	preloaded = config_variable(environment, "LD_PRELOAD");
	seen_by_kernel = config_variable(environment, "IOLENS_KERNEL");
}

/* ---- writing it down ---- */

static void count(const char *program, enum untraced_reason why)
{
	struct state_unobserved *list = store_state()->unobserved, *at = list;
	size_t n = strlen(program);
	const char *text = n < STATE_UNOBSERVED_TEXT ? program : program + n - (STATE_UNOBSERVED_TEXT - 1);
	for (; at < list + STATE_UNOBSERVED - 1 && at->count; at++)
		if (at->reason == why && strcmp(at->program, text) == 0)
			break;
	if (!at->count)
		strcpy(at->program, at < list + STATE_UNOBSERVED - 1 ? text : "<other programs>");
	at->reason = why;
	at->count++;
}

static void remember_program(const char *program)
{
	char *to = store_state()->process.becomes;
	size_t n = strlen(program), room = sizeof store_state()->process.becomes;
	memset(to, 0, room);
	strcpy(to, n < room ? program : program + n - (room - 1));
}

/* Several threads may start programs at once. */
static void write_down(const char *program, enum untraced_reason why)
{
	static struct lock lock;
	if (!why && self_asleep() && !life_in_session()) /* nothing, and then a program that is observed itself */
		return;
	if (!self_enter_locked(&lock))
		return;
	if (why && !seen_by_kernel)
		count(program, why);
	remember_program(program);
	self_leave_locked(&lock);
}

struct started {
	int dir;
	const char *path; /* NULL: it is `dir` itself */
	bool found;
	enum untraced_reason why;
};

static void look_at(void *started)
{
	struct started *s = started;
	int fd = s->path ? sys_open_at(s->dir, s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) : s->dir;
	s->found = fd >= 0;
	s->why = s->found ? of_file(fd, 0) : UNTRACED_NONE;
	if (s->path && s->found)
		sys_close(fd);
}

static enum untraced_reason judge(int dir, const char *path, char *const *environment)
{
	struct started program = {dir, path, false, UNTRACED_NONE};
	alone_do(look_at, &program);
	enum untraced_reason why = program.why;
	PATH(name);
	name->text[0] = '\0';
	if (!why && preloaded && !environment_leads_here(environment))
		why = UNTRACED_ENVIRONMENT;
	if (!path && why)
		names_path_of_fd(name, dir);
	if (program.found)
		write_down(path ? path : name->text, why);
	return why;
}

/* As execvp looks for it: the first that may be executed. */
static bool found_in_path(const char *name, char out[NAMES_PATH_MAX])
{
	const char *at = config_variable(environ, "PATH");
	size_t length = strlen(name);
	for (at = at ? at : "/bin:/usr/bin"; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		if (n + length + 2 < NAMES_PATH_MAX) {
			memcpy(out, at, n);
			out[n] = '/';
			memcpy(out + (n ? n + 1 : 0), name, length + 1);
			if (sys_call(SYS_faccessat, AT_FDCWD, (long)out, X_OK, 0, 0, 0) == 0)
				return true;
		}
		at += n;
	}
	return false;
}

/* What cannot be read, the kernel will not execute. */
static bool acceptable(const char *path, char *const *environment, int search)
{
	return (!path || readable_text(path)) && (!environment || readable_texts(environment)) &&
	       (!search || !environ || readable_texts(environ));
}

/* Also in a process that is not observed: the library is preloaded there, too, and would be in the program. */
bool untraced_record(int dir, const char *path, char *const *environment, int search)
{
	PATH(found);
	enum untraced_reason why = UNTRACED_NONE;
	if (sandbox_kills()) {
		write_down(path ? path : "", UNTRACED_FILTER);
		return environment;
	}
	if (!acceptable(path, environment, search))
		return false;
	if (path && search && !strchr(path, '/'))
		path = found_in_path(path, found->text) ? found->text : "";
	if (!path || *path)
		why = judge(dir, path, environment);
	return environment && (why == UNTRACED_LIBC || why == UNTRACED_MACHINE);
}

/* ---- an environment without the library ---- */

static const char variable[] = "LD_PRELOAD=";

size_t untraced_room(char *const *environment)
{
	size_t n = 1, text = 0;
	for (; environment && *environment; environment++, n++)
		if (strncmp(*environment, variable, sizeof variable - 1) == 0)
			text += strlen(*environment) + 1;
	return n * sizeof *environment + text;
}

/* All entries but ours; the end of what was written. */
static char *copy_others(char *to, const char *list)
{
	memcpy(to, variable, sizeof variable);
	char *start = to + sizeof variable - 1, *at = start;
	while (*list) {
		size_t n = strcspn(list, " :");
		const char *name = memrchr(list, '/', n);
		name = name ? name + 1 : list;
		if (n && strncmp(name, "libiolens", 9) != 0) {
			at += at > start ? (*at = ':', 1) : 0;
			at = mempcpy(at, list, n);
		}
		list += n + (list[n] != '\0');
	}
	*at = '\0';
	return at > start ? at + 1 : to;
}

/* Another thread may call setenv() meanwhile: what does not fit is left as it is. */
char *const *untraced_environment(char *const *environment, void *room, size_t bytes)
{
	char **out = room;
	size_t n = 0, used = 0;
	while (environment && environment[n])
		n++;
	char *text = (char *)(out + n + 1), *end = (char *)room + bytes;
	if (!environment || text > end)
		return environment;
	for (char *const *e = environment; e < environment + n && *e; e++) {
		bool preload = strncmp(*e, variable, sizeof variable - 1) == 0 && end - text > (ptrdiff_t)strlen(*e);
		char *after = preload ? copy_others(text, *e + sizeof variable - 1) : text;
		if (!preload || after > text)
			out[used++] = preload ? text : *e;
		text = after;
	}
	out[used] = NULL;
	return out;
}
