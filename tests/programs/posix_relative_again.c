#include "must.h"

#include <sys/stat.h>

static void open_close_twice(const char *name)
{
	for (int i = 0; i < 2; i++) {
		int fd = open(name, O_RDONLY);
		MUST(fd >= 0);
		MUST(close(fd) == 0);
	}
}

int main(void)
{
	struct stat s;
	int here = open(".", O_RDONLY | O_DIRECTORY);
	MUST(here >= 0);
	open_close_twice("x");
	open_close_twice("././x");
	MUST(chdir("sub") == 0);
	open_close_twice("x");
	MUST(stat("x", &s) == 0 && stat("./x", &s) == 0);
	open_close_twice("../x");
	open_close_twice("deep//x");
	MUST(fchdir(here) == 0);
	open_close_twice("x");
	MUST(close(here) == 0);
	MUST(chdir("/") == 0);
	open_close_twice("etc/passwd");
	open_close_twice("./etc/passwd");
	MUST(chdir("/etc") == 0);
	open_close_twice("passwd");
}
