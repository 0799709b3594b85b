#include "must.h"

static _Alignas(64) char buf[2 * MIB];

int main(void)
{
	size_t edges[] = {100, 1024, 10240, 102400, 1048576};
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0);
	for (int i = 0; i < 5; i++)
		for (size_t n = edges[i]; n <= edges[i] + 1; n++)
			MUST(pwrite(fd, buf, n, 0) == (ssize_t)n);
	MUST(close(fd) == 0);
}
