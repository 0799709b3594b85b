#include "must.h"

static _Alignas(64) char buf[16];

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1]) {
		MUST(write(1, buf, 10) == 10);
		return 0;
	}
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 16) == 16);
	MUST(dup2(fd, 1) == 1);
	MUST(close(fd) == 0);
	execl("/proc/self/exe", "exec_redirected_stdout", "again", (char *)NULL);
	MUST(!"exec");
}
