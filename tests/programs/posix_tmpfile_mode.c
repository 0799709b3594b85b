#include "must.h"

int main(void)
{
	struct stat st;
	umask(022);
	int fd = open(".", O_TMPFILE | O_RDWR, 0640);
	MUST(fd >= 0);
	MUST(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0640);
	MUST(write(fd, "0123456789abcdef", 16) == 16);
	MUST(close(fd) == 0);
}
