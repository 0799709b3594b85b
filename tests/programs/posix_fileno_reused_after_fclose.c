#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	FILE *f = fopen("stream", "w");
	MUST(f != NULL);
	int old = fileno(f);
	MUST(fclose(f) == 0);
	int ends[2];
	MUST(pipe(ends) == 0 && ends[0] == old);
	MUST(write(ends[1], buf, 10) == 10);
	MUST(read(ends[0], buf, 10) == 10);
	MUST(close(ends[0]) == 0);
	int fd = open("file", O_WRONLY | O_CREAT, 0600);
	MUST(fd == old);
	MUST(write(fd, buf, 10) == 10);
	MUST(close(fd) == 0);
}
