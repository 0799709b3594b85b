#include "must.h"

#include <dirent.h>

int main(void)
{
	MUST(mkdir("d", 0700) == 0);
	MUST(mkdirat(AT_FDCWD, "e", 0700) == 0);
	MUST(mkdir("d", 0700) == -1);
	DIR *dir = opendir("d");
	MUST(dir != NULL);
	MUST(readdir(dir) != NULL);
	MUST(readdir64(dir) != NULL);
	MUST(readdir(dir) == NULL);
	MUST(closedir(dir) == 0);
	MUST(opendir("missing") == NULL);
	MUST(rmdir("d") == 0);
	MUST(unlinkat(AT_FDCWD, "e", AT_REMOVEDIR) == 0);
}
