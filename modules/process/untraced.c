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

/* What one look at it has found: another thread may call setenv() meanwhile. */
struct environment {
	bool readable;
	bool leads_here;  /* LD_PRELOAD names the library, */
	bool has_session; /* and there is its session */
};

static bool names_library(struct readable_copy *c, const char *list)
{
	size_t n;
	for (const char *bytes; (bytes = readable_bytes(c, list, &n)) && *bytes; list++)
		if (*bytes == 'l' && readable_begins(c, list, "libiolens"))
			return true;
	return false;
}

static const char variable[] = "LD_PRELOAD=";

static struct environment look_through(char *const *environment)
{
	struct environment seen = {.readable = true};
	struct readable_copy entries = {0}, c = {0};
	char *entry;
	for (size_t n = 0; environment && seen.readable; n++) {
		seen.readable = readable_entry(&entries, environment, n, &entry);
		if (!seen.readable || !entry)
			break;
		if (readable_begins(&c, entry, variable))
			seen.leads_here = names_library(&c, entry + sizeof variable - 1);
		else if (readable_begins(&c, entry, "IOLENS_SESSION="))
			seen.has_session = true;
		seen.readable = readable_length(&c, entry) >= 0;
	}
	seen.leads_here = seen.leads_here && (!config.session || seen.has_session);
	return seen;
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

/* Not by strcpy, which the linker would bind now: the stack may be small (runtime/process/dso_handle.c). */
static void put_text(char *to, const char *text)
{
	memcpy(to, text, strlen(text) + 1);
}

static void count(const char *program, enum untraced_reason why)
{
	struct state_unobserved *list = store_state()->unobserved, *at = list;
	size_t n = strlen(program);
	const char *text = n < STATE_UNOBSERVED_TEXT ? program : program + n - (STATE_UNOBSERVED_TEXT - 1);
	for (; at < list + STATE_UNOBSERVED - 1 && at->count; at++)
		if (at->reason == why && strcmp(at->program, text) == 0)
			break;
	if (!at->count)
		put_text(at->program, at < list + STATE_UNOBSERVED - 1 ? text : "<other programs>");
	at->reason = why;
	at->count++;
}

static void remember_program(const char *program)
{
	char *to = store_state()->process.becomes;
	size_t n = strlen(program), room = sizeof store_state()->process.becomes;
	memset(to, 0, room);
	put_text(to, n < room ? program : program + n - (room - 1));
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

static enum untraced_reason judge(int dir, const char *path, bool leads_here)
{
	struct started program = {dir, path, false, UNTRACED_NONE};
	alone_do(look_at, &program);
	enum untraced_reason why = program.why;
	PATH(name);
	name->text[0] = '\0';
	if (!why && preloaded && !leads_here)
		why = UNTRACED_ENVIRONMENT;
	if (!path && why)
		names_path_of_fd(name, dir);
	if (program.found)
		write_down(path ? path : name->text, why);
	return why;
}

/* The value of PATH as it is now. */
static const char *search_path(char *const *list)
{
	static const char name[] = "PATH=";
	struct readable_copy entries = {0}, c = {0};
	char *entry;
	for (size_t n = 0; list && readable_entry(&entries, list, n, &entry) && entry; n++)
		if (readable_begins(&c, entry, name))
			return entry + sizeof name - 1;
	return "/bin:/usr/bin";
}

/* As execvp looks for it: the first that may be executed. */
static bool found_in_path(const char *name, char out[NAMES_PATH_MAX])
{
	struct readable_copy c = {0};
	const char *at = search_path(environ), *bytes = NULL;
	size_t length = strlen(name), n, some;
	do {
		for (n = 0; (bytes = readable_bytes(&c, at, &some)) && *bytes && *bytes != ':'; at++)
			if (n < NAMES_PATH_MAX)
				out[n++] = *bytes;
		if (n + length + 2 < NAMES_PATH_MAX) {
			out[n] = '/';
			memcpy(out + (n ? n + 1 : 0), name, length + 1);
			if (sys_call(SYS_faccessat, AT_FDCWD, (long)out, X_OK, 0, 0, 0) == 0)
				return true;
		}
		at++;
	} while (bytes && *bytes);
	return false;
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
	struct environment seen = look_through(environment);
	if ((path && !readable_text(path)) || !seen.readable) /* the kernel will not execute it */
		return false;
	if (path && search && !strchr(path, '/'))
		path = found_in_path(path, found->text) ? found->text : "";
	if (!path || *path)
		why = judge(dir, path, seen.leads_here);
	return environment && (why == UNTRACED_LIBC || why == UNTRACED_MACHINE);
}

/* ---- an environment without the library ---- */

size_t untraced_room(char *const *environment)
{
	struct readable_copy entries = {0}, c = {0};
	size_t n = 0, text = 0;
	for (char *entry; environment && readable_entry(&entries, environment, n, &entry) && entry; n++)
		if (readable_begins(&c, entry, variable))
			text += (size_t)(readable_length(&c, entry) + 1);
	return (n + 1) * sizeof *environment + text;
}

/* Of a list of libraries all but ours, in its own place; the end of what is left. */
static char *keep_others(char *list)
{
	char *at = list;
	for (const char *from = list; *from;) {
		size_t n = strcspn(from, " :");
		const char *name = memrchr(from, '/', n);
		name = name ? name + 1 : from;
		bool more = from[n];
		if (n && strncmp(name, "libiolens", 9) != 0) {
			if (at > list)
				*at++ = ':';
			memmove(at, from, n);
			at += n;
		}
		from += n + more;
	}
	*at = '\0';
	return at;
}

/* Behind the end of what was written; `to` where nothing is to be kept; NULL where it does not fit any more. */
static char *copy_others(struct readable_copy *c, char *to, const char *end, const char *entry)
{
	char *at = to;
	size_t n;
	for (const char *bytes; at < end && (bytes = readable_bytes(c, entry, &n)); entry++)
		if (!(*at++ = *bytes)) {
			char *list = to + sizeof variable - 1, *kept = keep_others(list);
			return kept > list ? kept + 1 : to;
		}
	return NULL;
}

/* Another thread may call setenv() meanwhile: what does not fit is left as it is. */
char *const *untraced_environment(char *const *environment, void *room, size_t bytes)
{
	struct readable_copy entries = {0}, c = {0};
	char **out = room, *entry;
	size_t most = 0, used = 0;
	while (environment && readable_entry(&entries, environment, most, &entry) && entry)
		most++;
	char *text = (char *)(out + most + 1), *end = (char *)room + bytes;
	if (!environment || text > end)
		return environment;
	for (size_t n = 0; n < most && readable_entry(&entries, environment, n, &entry) && entry; n++) {
		char *after = readable_begins(&c, entry, variable) ? copy_others(&c, text, end, entry) : NULL;
		if (!after)
			out[used++] = entry;
		else if (after > text)
			out[used++] = text;
		text = after ? after : text;
	}
	out[used] = NULL;
	return out;
}
