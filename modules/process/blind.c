#include "blind.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "config.h"
#include "life.h"
#include "live.h"
#include "lock.h"
#include "self.h"
#include "store.h"
#include "sys.h"

enum { HEAD = 1024, PATH_ROOM = 4096 };

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#else
enum { OUR_MACHINE = EM_AARCH64 };
#endif

/* ---- the program's file ---- */

/* What the child of a vfork reads is in its own kernel counts, not in those of the parent whose memory this is. */
static ssize_t read_head(int fd, char *head)
{
	ssize_t got = sys_call(SYS_pread64, fd, (long)head, HEAD, 0, 0, 0);
	if (got > 0 && sys_pid() == life_pid())
		__atomic_fetch_add(&sys_own_read, got, __ATOMIC_RELAXED);
	return got;
}

/* Without an interpreter there is no loader that would preload anything. */
static enum live_blind of_elf(const char *head, size_t n)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)head;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != OUR_MACHINE)
		return LIVE_BLIND_MACHINE;
	for (size_t i = 0; i < e->e_phnum; i++) {
		size_t at = e->e_phoff + i * sizeof(Elf64_Phdr);
		if (e->e_phentsize != sizeof(Elf64_Phdr) || at > n || n - at < sizeof(Elf64_Phdr))
			return LIVE_BLIND_NONE; /* cannot tell */
		if (((const Elf64_Phdr *)(head + at))->p_type == PT_INTERP)
			return LIVE_BLIND_NONE;
	}
	return LIVE_BLIND_STATIC;
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

static enum live_blind of_file(int fd, int scripts);

/* `#!/interpreter argument`: what is executed is the interpreter. */
static enum live_blind of_script(char *head, ssize_t n, int scripts)
{
	char *path = head + 2 + strspn(head + 2, " \t");
	size_t length = strcspn(path, " \t\n");
	if (scripts > 3 || path + length >= head + n)
		return LIVE_BLIND_NONE;
	path[length] = '\0';
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	enum live_blind why = fd >= 0 ? of_file(fd, scripts + 1) : LIVE_BLIND_NONE;
	if (fd >= 0)
		sys_close(fd);
	return why;
}

static enum live_blind of_file(int fd, int scripts)
{
	char head[HEAD + 1] __attribute__((aligned(8))) = "";
	ssize_t n = read_head(fd, head);
	if (n > 2 && head[0] == '#' && head[1] == '!')
		return of_script(head, n, scripts);
	if (n < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return LIVE_BLIND_NONE;
	enum live_blind why = of_elf(head, (size_t)n);
	return !why && gains_rights(fd) ? LIVE_BLIND_SETUID : why;
}

/* ---- its environment ---- */

static bool environment_leads_here(char *const *environment)
{
	const char *preload = environment ? config_variable((char **)environment, "LD_PRELOAD") : NULL;
	if (!preload || !strstr(preload, "libiolens"))
		return false;
	return !config.session || config_variable((char **)environment, "IOLENS_SESSION");
}

/* As it was at the start: `env -i` empties its own. A program that was linked with us loses nothing by that. */
static bool preloaded;

__attribute__((constructor)) static void remember(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	preloaded = config_variable(environment, "LD_PRELOAD");
}

/* ---- writing it down ---- */

static void count(const char *program, enum live_blind why)
{
	static struct lock lock;
	struct live_unobserved *list = store_live()->unobserved, *at = list;
	size_t n = strlen(program);
	const char *text = n < LIVE_UNOBSERVED_TEXT ? program : program + n - (LIVE_UNOBSERVED_TEXT - 1);
	lock_take(&lock);
	for (; at < list + LIVE_UNOBSERVED - 1 && at->count; at++)
		if (at->reason == why && strcmp(at->program, text) == 0)
			break;
	if (!at->count)
		strcpy(at->program, at < list + LIVE_UNOBSERVED - 1 ? text : "<other programs>");
	at->reason = why;
	at->count++;
	lock_drop(&lock);
}

static void judge(int dir, const char *path, char *const *environment)
{
	int fd = path ? sys_open_at(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) : dir;
	enum live_blind why = fd >= 0 ? of_file(fd, 0) : LIVE_BLIND_NONE;
	char name[PATH_ROOM];
	if (!why && preloaded && !environment_leads_here(environment))
		why = LIVE_BLIND_ENVIRONMENT;
	if (!path && why) {
		char link[32] = "/proc/self/fd/";
		size_t at = 14;
		for (int unit = 1000000; unit; unit /= 10)
			if (fd >= unit || unit == 1)
				link[at++] = (char)('0' + fd / unit % 10);
		ssize_t got = sys_readlink(link, name, sizeof name - 1);
		name[got > 0 ? got : 0] = '\0';
	}
	if (path && fd >= 0)
		sys_close(fd);
	if (fd < 0 || !why || !self_ready())
		return;
	self_enter();
	count(path ? path : name, why);
	self_leave();
}

/* As execvp looks for it: the first that may be executed. */
static bool found_in_path(const char *name, char *out)
{
	const char *at = environ ? config_variable(environ, "PATH") : NULL;
	size_t length = strlen(name);
	for (at = at ? at : "/bin:/usr/bin"; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		if (n + length + 2 < PATH_ROOM) {
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

void blind_note(int dir, const char *path, char *const *environment, int search)
{
	char found[PATH_ROOM];
	if (!life_observed())
		return;
	if (path && search && !strchr(path, '/'))
		path = found_in_path(path, found) ? found : "";
	if (!path || *path)
		judge(dir, path, environment);
}
