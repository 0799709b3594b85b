#include "must.h"

static void open_close(int flags, int mode)
{
	int fd = open("file", flags, mode);
	MUST(fd >= 0);
	MUST(close(fd) == 0);
}

int main(void)
{
	umask(077);
	open_close(O_WRONLY | O_CREAT, 0644);
	open_close(O_RDWR | O_CREAT | O_TRUNC, 0640);
	open_close(O_RDONLY, 0);
}
