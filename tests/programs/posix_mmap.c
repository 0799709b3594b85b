#include "must.h"

int main(void)
{
	int fd = open("data", O_RDWR);
	MUST(fd >= 0);
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *again = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	char *none = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(map != MAP_FAILED && again != MAP_FAILED && none != MAP_FAILED);
	MUST(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1) == MAP_FAILED);
	map[0] = none[0] = 1;
	MUST(msync(map, 8192, MS_SYNC) == 0);
	MUST(munmap(map, 8192) == 0);
	MUST(close(fd) == 0);
}
