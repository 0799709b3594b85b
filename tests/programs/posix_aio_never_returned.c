#include "must.h"

#include <aio.h>

/* Nobody asks for a result: one that is waited for, one whose control block is used again, one whose result is overwritten. */
static _Alignas(64) char buf[128];
static struct aiocb first, again, list_1, list_2, last;

static void prepare(struct aiocb *a, int fd, off_t at, size_t n, int opcode)
{
	*a = (struct aiocb){
		.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = n, .aio_offset = at, .aio_lio_opcode = opcode};
}

static void write_out(struct aiocb *a)
{
	MUST(aio_write(a) == 0);
	while (__atomic_load_n(&a->__error_code, __ATOMIC_ACQUIRE) == EINPROGRESS)
		usleep(1000);
}

int main(void)
{
	int fd = open("out", O_RDWR | O_CREAT, 0644);
	const struct aiocb *list[] = {&first};
	struct aiocb *both[] = {&list_1, NULL, &list_2};
	MUST(fd >= 0);
	prepare(&first, fd, 0, 100, 0);
	MUST(aio_write(&first) == 0);
	MUST(aio_suspend(list, 1, NULL) == 0);
	prepare(&again, fd, 100, 10, 0);
	for (int i = 0; i < 3; i++)
		write_out(&again);
	prepare(&again, fd, 110, 20, 0); /* whose result is overwritten unseen */
	write_out(&again);
	prepare(&again, fd, 110, 20, 0);
	prepare(&list_1, fd, 0, 50, LIO_READ);
	prepare(&list_2, fd, 130, 70, LIO_WRITE);
	MUST(lio_listio(LIO_WAIT, both, 3, NULL) == 0);
	prepare(&last, fd, 0, 30, 0);
	MUST(aio_read(&last) == 0);
	while (__atomic_load_n(&last.__error_code, __ATOMIC_ACQUIRE) == EINPROGRESS)
		usleep(1000);
	MUST(close(fd) == 0);
}
