#include "must.h"

#include <aio.h>

static _Alignas(64) char buf[128];

static ssize_t finish(struct aiocb *cb)
{
	const struct aiocb *list[] = {cb};
	while (aio_error(cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	return aio_return(cb);
}

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT, 0644);
	struct aiocb w = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 100, .aio_offset = 0};
	struct aiocb r = {.aio_fildes = fd, .aio_buf = buf + 1, .aio_nbytes = 30, .aio_offset = 50};
	MUST(fd >= 0);
	MUST(aio_write(&w) == 0 && finish(&w) == 100);
	w.aio_offset = 100;
	MUST(aio_write(&w) == 0 && finish(&w) == 100);
	MUST(aio_read(&r) == 0 && finish(&r) == 30);
	MUST(close(fd) == 0);
}
