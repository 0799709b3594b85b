#include "must.h"

#include <sched.h>

static _Alignas(64) char buf[16];
static char stack[64 * KIB];

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

static int child(void *name)
{
	write_file(name);
	_exit(0);
}

static void wait_for(pid_t pid)
{
	int status;
	MUST(pid > 0 && waitpid(pid, &status, __WALL) == pid && status == 0);
}

static long fork_by_instruction(void)
{
#if defined(__x86_64__)
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_fork) : "rcx", "r11", "memory");
	return result;
#else
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

int main(void)
{
	write_file("parent");
	wait_for(clone(child, stack + sizeof stack, SIGCHLD, "clone"));
	pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		child("syscall");
	wait_for(pid);
	pid = fork_by_instruction();
	if (pid == 0)
		child("instruction");
	wait_for(pid);
	write_file("parent");
}
