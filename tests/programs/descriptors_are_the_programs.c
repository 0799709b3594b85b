#include "must.h"

int main(void)
{
	int fd = open("in", O_RDONLY);
	MUST(fd == 3);
	MUST(dup(fd) == 4);
	MUST(fopen("in", "r") != NULL);
	MUST(open("in", O_RDONLY) == 6);
	for (int i = 3; i < 1000; i++)
		MUST(close(i) == (i < 7 ? 0 : -1));
	MUST(open("in", O_RDONLY) == 3);
}
