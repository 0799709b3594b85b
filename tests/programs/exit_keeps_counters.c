#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	FILE *f = fopen("stream", "w");
	MUST(fd >= 0 && f != NULL);
	MUST(write(fd, buf, 10) == 10);
	MUST(fputs("not flushed", f) >= 0);
	_exit(0);
}
