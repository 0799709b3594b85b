#include "must.h"

static _Alignas(64) char buf[16];

/* The second program is born with 3 and 4, one description. */
int main(int argc, char **argv)
{
	if (argc == 1) {
		MUST(open("old", O_RDONLY) == 3 && dup(3) == 4);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		return 2;
	}
	MUST(read(3, buf, 10) == 10);
	MUST(rename("old", "new") == 0);
	MUST(read(4, buf, 10) == 10);
	return 0;
}
