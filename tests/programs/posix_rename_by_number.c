#include "must.h"

/* As libraries do that call the kernel by number. */
int main(void)
{
	int fd = open("a", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0 && close(fd) == 0);
	MUST(syscall(SYS_renameat, AT_FDCWD, "a", AT_FDCWD, "b") == 0);
	MUST(syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "c", 0) == 0);
	MUST(syscall(SYS_renameat, AT_FDCWD, "none", AT_FDCWD, "d") < 0 && errno == ENOENT);
}
