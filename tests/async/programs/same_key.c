/* Pairs of requests without user data, the first of which the kernel gives to a worker. */
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>
enum { N = 100, SMALL = 1000, LARGE = 50000 };
static char in[SMALL], out[LARGE];
int main(void)
{
	struct io_uring ring;
	int a = open("a", O_RDWR | O_CREAT, 0600), b = open("b", O_RDWR | O_CREAT, 0600);
	if (ftruncate(a, SMALL) || io_uring_queue_init(8, &ring, 0))
		return 1;
	for (int i = 0; i < N; i++) {
		struct io_uring_sqe *next = io_uring_get_sqe(&ring);
		io_uring_prep_read(next, a, in, SMALL, 0);
		next->flags |= IOSQE_ASYNC;
		io_uring_prep_write(io_uring_get_sqe(&ring), b, out, LARGE, 0);
		if (io_uring_submit(&ring) != 2)
			return 2;
		for (int k = 0; k < 2; k++) {
			struct io_uring_cqe *done;
			if (io_uring_wait_cqe(&ring, &done) || done->res < SMALL)
				return 3;
			io_uring_cqe_seen(&ring, done);
		}
	}
	io_uring_queue_exit(&ring);
	return 0;
}
