/* libaio without its library, and arguments that are none. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	static char text[2000];
	aio_context_t context = 0;
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (unsigned long)text, .aio_nbytes = 2000};
	struct iocb *list[1] = {&block};
	struct io_event event;
	block.aio_fildes = (unsigned)open("data", O_RDWR | O_CREAT, 0600);
	if (syscall(SYS_io_setup, 1, &context) || syscall(SYS_io_submit, context, 1, list) != 1)
		return 1;
	if (syscall(SYS_io_submit, context, 1, (void *)8) != -1 || syscall(SYS_io_submit, context, -1L, list) != -1)
		return 2;
	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1 || event.res != 2000;
}
