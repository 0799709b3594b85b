#include "must.h"

#include <aio.h>

static _Alignas(64) char buf[256];

int main(void)
{
	int fd = open("data", O_RDWR);
	struct aiocb r = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 64, .aio_lio_opcode = LIO_READ};
	struct aiocb w = {.aio_fildes = fd,
			  .aio_buf = buf + 128,
			  .aio_nbytes = 32,
			  .aio_offset = 200,
			  .aio_lio_opcode = LIO_WRITE};
	struct aiocb nop = {.aio_fildes = fd, .aio_lio_opcode = LIO_NOP};
	struct aiocb *list[] = {&r, NULL, &nop, &w};
	MUST(fd >= 0);
	MUST(lio_listio(LIO_WAIT, list, 4, NULL) == 0);
	MUST(aio_return(&r) == 64);
	MUST(aio_return(&w) == 32);
	MUST(close(fd) == 0);
}
