#include "must.h"

static _Alignas(64) char buf[16];

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		write_file(argv[1]);
		return 0;
	}
	int kept = open("parent", O_WRONLY | O_CREAT, 0600);
	pid_t child = vfork();
	if (child == 0) {
		close(kept);
		execl("/proc/self/exe", "vfork_exec", "child", (char *)NULL);
		_exit(98);
	}
	int status;
	MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	MUST(write(kept, buf, 10) == 10);
	MUST(close(kept) == 0);
}
