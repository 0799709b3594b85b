#include "must.h"

static _Alignas(64) char buf[16];

static void write_file(int size)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(write(fd, buf, size) == size);
	MUST(close(fd) == 0);
}

int main(void)
{
	for (int i = 1; i <= 3; i++)
		if (fork() == 0) {
			write_file(i);
			_exit(0);
		}
	for (int i = 0; i < 3; i++) {
		int status;
		MUST(wait(&status) > 0 && status == 0);
	}
	write_file(3);
}
