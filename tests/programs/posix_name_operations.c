#include "must.h"

int main(void)
{
	char target[16];
	MUST(link("a", "b") == 0);
	MUST(linkat(AT_FDCWD, "a", AT_FDCWD, "c", 0) == 0);
	MUST(symlink("a", "s") == 0);
	MUST(symlinkat("a", AT_FDCWD, "t") == 0);
	MUST(readlink("s", target, sizeof target) == 1);
	MUST(readlinkat(AT_FDCWD, "t", target, sizeof target) == 1);
	MUST(access("a", R_OK) == 0);
	MUST(faccessat(AT_FDCWD, "missing", R_OK, 0) == -1);
	MUST(chmod("a", 0600) == 0);
	MUST(fchmodat(AT_FDCWD, "a", 0640, 0) == 0);
	MUST(chown("a", -1, -1) == 0);
	MUST(lchown("s", -1, -1) == 0);
	MUST(utimensat(AT_FDCWD, "a", NULL, 0) == 0);
	MUST(unlink("b") == 0);
}
