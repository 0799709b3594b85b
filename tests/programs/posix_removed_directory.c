#include "must.h"

int main(void)
{
	MUST(mkdir("gone", 0700) == 0);
	MUST(chdir("gone") == 0);
	MUST(rmdir("../gone") == 0);
	MUST(open("x", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOENT);
	MUST(fopen("x", "w") == NULL && errno == ENOENT);
}
