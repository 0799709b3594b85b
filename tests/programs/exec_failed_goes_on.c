#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, 10) == 10);
	MUST(execl("./missing", "missing", (char *)NULL) == -1 && errno == ENOENT);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
