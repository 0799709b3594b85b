#include "must.h"

static _Alignas(64) char buf[64];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	FILE *f = fdopen(fd, "w");
	MUST(f != NULL);
	MUST(fclose(f) == 0);
	int ends[2];
	MUST(pipe(ends) == 0 && ends[0] == fd);
	MUST(write(ends[1], buf, 10) == 10);
	MUST(read(ends[0], buf, 10) == 10);
}
