#include "must.h"

static _Alignas(64) char buf[16];

static void read_at(const char *name, off_t at)
{
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(pread(fd, buf, 10, at) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	read_at("at0", 0);
	read_at("at1", 1);
	read_at("at5", 5);
}
