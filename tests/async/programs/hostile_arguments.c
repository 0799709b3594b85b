/* What the kernel refuses: the program ends with 0 where every answer is the kernel's. */
#include <errno.h>
#include <libaio.h>
#include <liburing.h>
#include <string.h>
int main(void)
{
	io_context_t context = 0;
	struct iocb block, *list[2] = {&block, (struct iocb *)8};
	static struct io_uring ring;
	memset(&block, 0xff, sizeof block);
	if (io_setup(2, &context))
		return 1;
	if (io_submit(context, 1, (struct iocb **)8) != -EFAULT || io_submit(context, 1, &list[1]) != -EFAULT ||
	    io_submit(context, 2, list) >= 0 || io_submit(context, -1, list) != -EINVAL ||
	    io_submit(context, 0, NULL) != 0)
		return 2;
	if (io_getevents(context, 1, 1, (void *)8, &(struct timespec){0, 1000}) > 0)
		return 3;
	io_destroy(context);
	int fds[1] = {-5};
	return io_uring_queue_init(4, &ring, 0) || io_uring_register_files(&ring, fds, 1) >= 0 ||
	       io_uring_register_files(&ring, (int *)8, 1) != -EFAULT || io_uring_unregister_files(&ring) == 0;
}
