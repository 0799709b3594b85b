#include "must.h"

#define KEEPS(call)                          \
	do {                                 \
		errno = 77;                  \
		MUST((call) && errno == 77); \
	} while (0)

int main(void)
{
	static _Alignas(64) char buf[16];
	int fd;
	FILE *f;
	struct stat st;
	KEEPS((fd = open("out", O_RDWR | O_CREAT | O_APPEND, 0600)) >= 0);
	KEEPS(write(fd, buf, 10) == 10);
	KEEPS(pread(fd, buf, 10, 0) == 10);
	KEEPS(lseek(fd, 0, SEEK_SET) == 0);
	KEEPS(fstat(fd, &st) == 0);
	KEEPS(stat("out", &st) == 0);
	KEEPS(fsync(fd) == 0);
	KEEPS((f = fdopen(dup(fd), "r")) != NULL);
	KEEPS(fileno(f) > fd);
	KEEPS(fseek(f, 5, SEEK_SET) == 0);
	KEEPS(fclose(f) == 0);
	KEEPS(rename("out", "new") == 0);
	KEEPS(unlink("new") == 0);
	KEEPS(close(fd) == 0);
}
