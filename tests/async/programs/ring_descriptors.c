/* A ring that makes and closes descriptors, whose numbers had files that were closed unseen; appends by both interfaces. */
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <string.h>
#include <sys/socket.h>
#ifndef RWF_APPEND
#define RWF_APPEND 16
#endif
static char text[1000];
static int result(struct io_uring *ring)
{
	struct io_uring_cqe *done;
	if (io_uring_submit_and_wait(ring, 1) != 1 || io_uring_wait_cqe(ring, &done))
		return -1;
	int code = done->res;
	io_uring_cqe_seen(ring, done);
	return code;
}
static int stale(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	long closed;
	if (write(fd, text, 10) != 10)
		return -1;
	__asm__ volatile("syscall" : "=a"(closed) : "a"(3L), "D"((long)fd) : "rcx", "r11", "memory");
	return closed ? -1 : fd;
}
int main(void)
{
	struct io_uring ring;
	if (io_uring_queue_init(8, &ring, 0))
		return 77;
	int fd = stale("before_open");
	io_uring_prep_openat(io_uring_get_sqe(&ring), AT_FDCWD, "opened", O_RDWR | O_CREAT, 0600);
	if (result(&ring) != fd || write(fd, text, 100) != 100)
		return 1;
	struct io_uring_sqe *next = io_uring_get_sqe(&ring);
	io_uring_prep_write(next, fd, text, 50, 0);
	next->rw_flags = RWF_APPEND;
	if (result(&ring) != 50)
		return 2;
	int other = stale("before_socket");
	next = io_uring_get_sqe(&ring);
	memset(next, 0, sizeof *next);
	next->opcode = 45; /* IORING_OP_SOCKET */
	next->fd = AF_UNIX;
	next->off = SOCK_DGRAM;
	if (result(&ring) != other || write(other, text, 100) == 100)
		return 3;
	close(fd);
	int ring_fd = ring.ring_fd;
	io_uring_queue_exit(&ring);
	io_context_t context = 0;
	struct iocb block, *list = &block;
	struct io_event event;
	int file = open("appended", O_RDWR | O_CREAT, 0600);
	if (write(file, text, 1000) != 1000 || io_setup(1, &context))
		return 4;
	io_prep_pwrite(&block, file, text, 200, 0);
	block.aio_rw_flags = RWF_APPEND;
	return io_submit(context, 1, &list) != 1 || io_getevents(context, 1, 1, &event, NULL) != 1 ||
	       event.res != 200 || ring_fd < 0;
}
