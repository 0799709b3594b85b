#include "ptrace_scope.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int ptrace_scope(void)
{
	char number[16] = "";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, number, sizeof number - 1);
	if (fd >= 0)
		close(fd);
	return got > 0 ? atoi(number) : -1;
}

const char *ptrace_scope_words(void)
{
	int scope = ptrace_scope();
	if (scope >= 3)
		return "kernel.yama.ptrace_scope is 3: no user can see it until the node restarts with a lower value";
	if (geteuid() == 0)
		return "this root has no CAP_SYS_PTRACE: run as root outside of the container to see it";
	if (scope > 0)
		return "kernel.yama.ptrace_scope is not 0: run as root to see it";
	return "the program changed its user, or hides from it: run as root to see it";
}
