#include "must.h"

enum { SIZE = MIB };

static char *map_file(int fd)
{
	char *at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(at != MAP_FAILED);
	return at;
}

int main(void)
{
	int fd = open("data", O_RDONLY), memory = PROT_READ | PROT_WRITE, alone = MAP_PRIVATE | MAP_ANONYMOUS;
	MUST(fd >= 0);
	char *at = map_file(fd);
	MUST(mmap(at, SIZE, memory, alone | MAP_FIXED, -1, 0) == at);
	memset(at, 1, SIZE);
	char *other = mmap(NULL, SIZE, memory, alone, -1, 0);
	MUST(other != MAP_FAILED);
	at = map_file(fd);
	MUST(mremap(other, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
	memset(at, 1, SIZE);
	at = map_file(fd);
	MUST((char *)syscall(SYS_mmap, at, SIZE, memory, alone | MAP_FIXED, -1, 0) == at);
	memset(at, 1, SIZE);
	MUST(close(fd) == 0);
}
