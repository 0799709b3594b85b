#include "must.h"

static void open_close(const char *name)
{
	int fd = open(name, O_RDONLY);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

int main(void)
{
	char name[4096 + 32];
	open_close("sub/x");
	open_close("./sub//x");
	open_close("sub/./x");
	open_close(".//sub/././//x");
	MUST(getcwd(name, 4096) != NULL);
	strcat(name, "//sub/x");
	open_close(name);
	open_close("sub/../sub/x");
	open_close("link/x");
	MUST(chdir("sub") == 0);
	open_close("x");
	open_close("./x");
}
