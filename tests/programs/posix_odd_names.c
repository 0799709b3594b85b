#include "must.h"

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

int main(void)
{
	touch("with space");
	touch("gr\303\274n");
	touch("#hash");
	touch("...");
	touch("x.");
}
