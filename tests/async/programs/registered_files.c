/* Files and buffers that a ring knows by number; a descriptor that the ring closes and open gives again. */
#include <fcntl.h>
#include <liburing.h>
#include <string.h>
enum { N = 6, BLOCK = 5000 };
static char text[BLOCK];
static int finish(struct io_uring *ring, unsigned n)
{
	for (; n; n--) {
		struct io_uring_cqe *done;
		if (io_uring_wait_cqe(ring, &done) || done->res < 0)
			return 1;
		io_uring_cqe_seen(ring, done);
	}
	return 0;
}
int main(void)
{
	struct io_uring ring;
	int fds[3] = {open("a", O_RDWR | O_CREAT, 0600), open("b", O_RDWR | O_CREAT, 0600), -1};
	struct iovec buffer = {text, BLOCK};
	if (io_uring_queue_init(8, &ring, 0) || io_uring_register_files(&ring, fds, 3) ||
	    io_uring_register_buffers(&ring, &buffer, 1))
		return 1;
	close(fds[0]);
	close(fds[1]);
	for (int i = 0; i < N; i++) {
		struct io_uring_sqe *next = io_uring_get_sqe(&ring);
		io_uring_prep_write_fixed(next, i % 2, text, BLOCK, (long)i * BLOCK, 0);
		next->flags |= IOSQE_FIXED_FILE;
	}
	if (io_uring_submit(&ring) != N || finish(&ring, N))
		return 2;
	int c = open("c", O_RDWR | O_CREAT, 0600), none = -1;
	if (io_uring_register_files_update(&ring, 2, &c, 1) != 1 ||
	    io_uring_register_files_update(&ring, 0, &none, 1) != 1)
		return 3;
	struct io_uring_sqe *next = io_uring_get_sqe(&ring);
	io_uring_prep_write(next, 2, text, 100, 0);
	next->flags |= IOSQE_FIXED_FILE;
	next = io_uring_get_sqe(&ring);
	io_uring_prep_fsync(next, c, IORING_FSYNC_DATASYNC);
	if (io_uring_submit_and_wait(&ring, 2) != 2 || finish(&ring, 2))
		return 4;
	next = io_uring_get_sqe(&ring);
	io_uring_prep_close(next, c);
	if (io_uring_submit(&ring) != 1 || finish(&ring, 1))
		return 5;
	int d = open("d", O_RDWR | O_CREAT, 0600); /* takes the number of the one that the ring has closed */
	if (d != c || write(d, text, 7) != 7)
		return 6;
	io_uring_unregister_files(&ring);
	io_uring_queue_exit(&ring);
	return 0;
}
