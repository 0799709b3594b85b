#include "must.h"

static _Alignas(64) char buf[16];

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1]) {
		MUST(write(1, buf, 10) == 10);
		return 0;
	}
	int out = open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int other = open("other", O_RDWR | O_CREAT, 0600);
	MUST(out >= 0 && other >= 0);
	MUST(write(out, buf, 16) == 16);
	pid_t child = vfork();
	if (child == 0) {
		dup2(out, 1);
		dup2(out, other);
		execl("/proc/self/exe", "vfork_dup2_exec", "child", (char *)NULL);
		_exit(98);
	}
	int status;
	MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	MUST(write(other, buf, 8) == 8);
	MUST(close(out) == 0);
	MUST(close(other) == 0);
}
