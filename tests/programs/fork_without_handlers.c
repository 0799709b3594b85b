#include "must.h"

static _Alignas(64) char buf[16];

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	write_file("parent");
	pid_t child = _Fork();
	MUST(child >= 0);
	if (child == 0) {
		write_file("child");
		_exit(0);
	}
	int status;
	MUST(waitpid(child, &status, 0) == child && status == 0);
	write_file("parent");
}
