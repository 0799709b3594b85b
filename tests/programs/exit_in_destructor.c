#include "must.h"

static _Alignas(64) char buf[16];

static void write_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}

static void at_exit(void)
{
	write_file("atexit");
}

__attribute__((destructor)) static void late(void)
{
	write_file("destructor");
}

__attribute__((constructor)) static void early(void)
{
	write_file("constructor");
}

int main(void)
{
	MUST(atexit(at_exit) == 0);
}
