#include "must.h"

int main(void)
{
	struct stat st;
	struct statx stx;
	int ends[2];
	int fd = open("in", O_RDONLY);
	MUST(fd >= 0 && pipe(ends) == 0);
	MUST(fstat(fd, &st) == 0 && st.st_size == 100);
	MUST(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_size == 100);
	MUST(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_TYPE, &stx) == 0 && stx.stx_size == 100);
	MUST(fstat(ends[0], &st) == 0);
	MUST(close(fd) == 0);
	MUST(fstat(fd, &st) == -1);
}
