#include "must.h"

static _Alignas(64) char buf[16];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	FILE *f = fdopen(fd, "w");
	MUST(f != NULL && fputs("0123456789", f) >= 0 && fflush(f) == 0);
	MUST(write(fd, buf, 5) == 5);
	MUST(fclose(f) == 0);
}
