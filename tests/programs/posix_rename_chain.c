#include "must.h"

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

int main(void)
{
	touch("a");
	touch("b");
	MUST(rename("a", "c") == 0);
	MUST(renameat(AT_FDCWD, "b", AT_FDCWD, "c") == 0);
	MUST(renameat2(AT_FDCWD, "c", AT_FDCWD, "d", RENAME_NOREPLACE) == 0);
}
