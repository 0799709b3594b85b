/* How a process ends, becomes another program, or shares its memory with a child. */
#include "wrap.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox.h"
#include "untraced.h"
#include "fds.h"
#include "life.h"
#include "names.h"
#include "readable.h"
#include "self.h"

WRAP(void, _exit, int code)
{
	life_end(STATE_END_EXIT, code);
	REAL(_exit)(code);
	__builtin_unreachable();
}
ALIAS(_Exit, _exit);

/*
 * Of the handlers of at_quick_exit the last one made is the first one called: ours is made before the program's first one.
 * `made` is atomic, `code` is written by the one thread that ends the process.
 */
static struct {
	bool made;
	int code;
} at_quick;

static void on_quick_exit(void *nothing)
{
	(void)nothing;
	life_end(STATE_END_QUICK, at_quick.code);
}

WRAP(int, __cxa_at_quick_exit, void (*handler)(void *), void *object)
{
	if (!__atomic_exchange_n(&at_quick.made, true, __ATOMIC_ACQ_REL) &&
	    REAL(__cxa_at_quick_exit)(on_quick_exit, NULL) != 0)
		__atomic_store_n(&at_quick.made, false, __ATOMIC_RELEASE);
	return REAL(__cxa_at_quick_exit)(handler, object);
}

WRAP(void, quick_exit, int code)
{
	at_quick.code = code;
	if (!__atomic_load_n(&at_quick.made, __ATOMIC_ACQUIRE))
		life_end(STATE_END_QUICK, code);
	REAL(quick_exit)(code);
	__builtin_unreachable();
}

/* ---- exec: the image ends here, unless the call comes back ---- */

/* `instead`: the same, with the environment given in words. */
#define EXEC(name, parameters, arguments, given, noted, instead)         \
	WRAP(int, name, UNPACK parameters)                               \
	{                                                                \
		char *const *environment = given;                        \
		bool without = untraced_record noted;                    \
		life_end(STATE_END_EXEC, 0);                             \
		int result = without ? (instead) : REAL(name) arguments; \
		int saved = errno;                                       \
		life_go_on();                                            \
		errno = saved;                                           \
		return result;                                           \
	}
#define UNPACK(...) __VA_ARGS__

EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp), envp,
     (AT_FDCWD, path, environment, 0), REAL(execve)(path, argv, WITHOUT_US(environment)))
EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp), envp,
     (AT_FDCWD, file, environment, 1), REAL(execvpe)(file, argv, WITHOUT_US(environment)))
EXEC(execv, (const char *path, char *const argv[]), (path, argv), environ, (AT_FDCWD, path, environment, 0),
     REAL(execve)(path, argv, WITHOUT_US(environment)))
EXEC(execvp, (const char *file, char *const argv[]), (file, argv), environ, (AT_FDCWD, file, environment, 1),
     REAL(execvpe)(file, argv, WITHOUT_US(environment)))
EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp), envp, (fd, NULL, environment, 0),
     REAL(fexecve)(fd, argv, WITHOUT_US(environment)))
EXEC(execveat, (int dir, const char *path, char *const argv[], char *const envp[], int flags),
     (dir, path, argv, envp, flags), envp, (dir, readable_text(path) && !*path ? NULL : path, environment, 0),
     REAL(execveat)(dir, path, argv, WITHOUT_US(environment), flags))

/* The list forms become the vector forms, on the stack as in libc: exec must work where malloc does not. */
static size_t count_arguments(va_list list)
{
	size_t n = 1;
	while (va_arg(list, char *))
		n++;
	return n;
}

#define COLLECT(first, argv)                              \
	va_list list, again;                              \
	va_start(list, first);                            \
	va_copy(again, list);                             \
	size_t count = count_arguments(again);            \
	va_end(again);                                    \
	char **argv = alloca((count + 1) * sizeof *argv); \
	argv[0] = (char *)first;                          \
	for (size_t i = 1; i <= count; i++)               \
	argv[i] = va_arg(list, char *)

WRAP(int, execl, const char *path, const char *first, ...)
{
	COLLECT(first, argv);
	va_end(list);
	return wrap_execv(path, argv);
}

WRAP(int, execlp, const char *file, const char *first, ...)
{
	COLLECT(first, argv);
	va_end(list);
	return wrap_execvp(file, argv);
}

WRAP(int, execle, const char *path, const char *first, ...)
{
	COLLECT(first, argv);
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	return wrap_execve(path, argv, envp);
}

/* ---- children ---- */

/* The child runs on the parent's stack frame, so no frame of ours may be in between: note it and jump. Atomic: any thread
 * writes the same address (wrap.h). */
static void *real_vfork_entry;

__attribute__((used)) static void *vfork_prepare(void)
{
	life_rouse(); /* the child must not: the memory is not its own */
	life_share();
	fds_vfork_seen();
	return wrap_real("vfork", &real_vfork_entry);
}

#if defined(__x86_64__)
__asm__(".globl vfork\n.type vfork, @function\n"
	"vfork:\n"
	"	subq $8, %rsp\n"
	"	call vfork_prepare\n"
	"	addq $8, %rsp\n"
	"	jmp *%rax\n"
	".size vfork, .-vfork\n"
	".globl __vfork\n.type __vfork, @function\n.set __vfork, vfork\n");
#elif defined(__aarch64__)
__asm__(".globl vfork\n.type vfork, @function\n"
	"vfork:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	bl vfork_prepare\n"
	"	ldp x29, x30, [sp], #16\n"
	"	br x0\n"
	".size vfork, .-vfork\n"
	".globl __vfork\n.type __vfork, @function\n.set __vfork, vfork\n");
#endif

/* Runs no atfork handlers. */
WRAP(int, _Fork, void)
{
	life_share();
	int pid = REAL(_Fork)();
	if (pid == 0) {
		resolve_forked();
		self_admit_none();
	}
	return pid;
}

WRAP(int, clone, int (*run)(void *), void *stack, int flags, void *argument, ...)
{
	va_list rest;
	va_start(rest, argument);
	void *parent_tid = va_arg(rest, void *), *tls = va_arg(rest, void *), *child_tid = va_arg(rest, void *);
	va_end(rest);
	if (flags & CLONE_VM) {
		life_rouse();
		fds_vfork_seen();
		if (!(flags & CLONE_VFORK))
			lock_share();
	}
	if (!(flags & CLONE_VM) || !(flags & CLONE_FILES))
		life_share();
	return REAL(clone)(run, stack, flags, argument, parent_tid, tls, child_tid);
}

/* ---- a process that gives up system calls ---- */

WRAP(int, prctl, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	bool no_clock =
		(option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) || (option == PR_SET_TSC && a == PR_TSC_SIGSEGV);
	if (option == PR_SET_SECCOMP || no_clock)
		life_confine(no_clock);
	int result = REAL(prctl)(option, a, b, c, d);
	if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_FILTER && result == 0)
		sandbox_filter_set((const struct sock_fprog *)b);
	return result;
}

/* ---- a process that goes where its store is out of reach, or narrows what it may do ---- */

static void rouse(void)
{
	int saved = errno;
	life_rouse();
	errno = saved;
}

#define ROUSING(name, parameters, arguments) \
	WRAP(int, name, UNPACK parameters)   \
	{                                    \
		rouse();                     \
		return REAL(name) arguments; \
	}

ROUSING(mount, (const char *what, const char *where, const char *type, unsigned long flags, const void *data),
	(what, where, type, flags, data))
ROUSING(umount, (const char *where), (where))
ROUSING(umount2, (const char *where, int flags), (where, flags))
ROUSING(setuid, (uid_t user), (user))
ROUSING(seteuid, (uid_t user), (user))
ROUSING(setreuid, (uid_t real, uid_t effective), (real, effective))
ROUSING(setresuid, (uid_t real, uid_t effective, uid_t saved_user), (real, effective, saved_user))
ROUSING(setfsuid, (uid_t user), (user))
ROUSING(setfsgid, (gid_t group), (group))
ROUSING(setrlimit, (int resource, const struct rlimit *limit), (resource, limit))
ALIAS(setrlimit64, setrlimit);

WRAP(int, prlimit, pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
	if (limit)
		rouse();
	return REAL(prlimit)(pid, resource, limit, old);
}
ALIAS(prlimit64, prlimit);

/* ---- the working directory ---- */

#define MOVING(type, name, parameters, arguments)   \
	WRAP(type, name, UNPACK parameters)         \
	{                                           \
		names_directory_moving();           \
		type result = REAL(name) arguments; \
		names_directory_moved();            \
		return result;                      \
	}

MOVING(int, chdir, (const char *path), (path))
MOVING(int, fchdir, (int fd), (fd))

/* libc goes from directory to directory, and calls the program in between, or returns to it. */
MOVING(int, nftw, (const char *path, void *each, int descriptors, int flags), (path, each, descriptors, flags))
MOVING(void *, fts_open, (char *const *paths, int options, void *order), (paths, options, order))
MOVING(void *, fts_read, (void *walk), (walk))
MOVING(void *, fts_children, (void *walk, int options), (walk, options))
MOVING(int, fts_close, (void *walk), (walk))
ALIAS(nftw64, nftw);
ALIAS(fts64_open, fts_open);
ALIAS(fts64_read, fts_read);
ALIAS(fts64_children, fts_children);
ALIAS(fts64_close, fts_close);

WRAP(int, chroot, const char *path)
{
	rouse();
	names_directory_changing();
	int result = REAL(chroot)(path);
	names_directory_changed();
	return result;
}

/* Afterwards this thread has a working directory, or descriptors, that others do not have. */
WRAP(int, unshare, int flags)
{
	rouse();
	names_directory_changing();
	if (flags & CLONE_FILES)
		life_share();
	int result = REAL(unshare)(flags);
	if (result == 0 && flags & CLONE_FILES && !lock_is_needless() && self_ready())
		fds_part(true);
	return result;
}

WRAP(int, setns, int fd, int kind)
{
	rouse();
	names_directory_changing();
	return REAL(setns)(fd, kind);
}
