#include "must.h"

static _Alignas(64) char buf[16];

static void access_once(int flags)
{
	int fd = open("data", flags, 0600);
	MUST(fd >= 0);
	MUST((flags & O_WRONLY ? write(fd, buf, 10) : read(fd, buf, 10)) == 10);
	MUST(close(fd) == 0);
}

int main(void)
{
	access_once(O_WRONLY | O_CREAT);
	access_once(O_RDONLY);
	access_once(O_WRONLY);
}
