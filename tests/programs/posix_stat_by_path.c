#include "must.h"

int main(void)
{
	struct stat st;
	struct statx stx;
	MUST(symlink("target", "link") == 0);
	MUST(stat("stat", &st) == 0 && st.st_size == 100);
	MUST(stat("stat", &st) == 0);
	MUST(lstat("lstat", &st) == 0);
	MUST(fstatat(AT_FDCWD, "fstatat", &st, 0) == 0);
	MUST(statx(AT_FDCWD, "statx", 0, STATX_SIZE | STATX_TYPE, &stx) == 0 && stx.stx_size == 100);
	MUST(stat(".", &st) == 0);
	MUST(lstat("link", &st) == 0);
	MUST(stat("missing", &st) == -1);
}
