#include "must.h"

#include <aio.h>

static _Alignas(64) char buf[128];

int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0644);
	struct aiocb a = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 100};
	const struct aiocb *list[] = {&a};
	MUST(fd >= 0);
	MUST(aio_write(&a) == 0);
	while (aio_error(&a) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	MUST(close(fd) == 0);
}
