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
	open_close("sub/deep/../.././sub/x");
	open_close("link/x");
	open_close("link/../x");
	open_close("sub/deep/back/../x");
	MUST(getcwd(name, 4096) != NULL);
	strcat(name, "/link/../x");
	open_close(name);
	MUST(unlink("link") == 0 && mkdir("link", 0777) == 0);
	errno = 77;
	open_close(name);
	MUST(errno == 77);
	open_close("/proc/../../proc/self/../self/maps");
	int directory = open("sub/.", O_RDONLY | O_DIRECTORY);
	MUST(directory >= 0);
	open_close("sub/");
	open_close("sub/deep/..");
	int fd = openat(directory, "../sub/x", O_RDONLY);
	MUST(fd >= 0 && close(fd) == 0 && close(directory) == 0);
	MUST(chdir("sub") == 0);
	open_close("x");
	open_close("./x");
}
