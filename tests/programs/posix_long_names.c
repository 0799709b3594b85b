#include "must.h"

static void touch(char *name, int length, char c)
{
	memset(name, c, length);
	name[length] = 0;
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

int main(void)
{
	char name[256];
	touch(name, 1, 'a');
	touch(name, 7, 'b');
	touch(name, 8, 'c');
	touch(name, 23, 'd');
	touch(name, 24, 'e');
	touch(name, 255, 'f');
}
