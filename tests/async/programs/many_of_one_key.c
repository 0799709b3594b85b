/* Batches of reads of one file, all in flight at once, by syscall(): with one key for all, or each with its own. Prints us for one. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { N = 16384, ROUNDS = 3 };
static char block[512];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	struct io_uring_params p = {0};
	int same = argc > 1 && argv[1][0] == 's', ring = (int)syscall(SYS_io_uring_setup, N, &p);
	if (ring < 0)
		return 2;
	size_t a = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	size_t c = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	char *q = mmap(NULL, a > c ? a : c, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *s =
		mmap(NULL, p.sq_entries * sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	unsigned *tail = (unsigned *)(q + p.sq_off.tail), *array = (unsigned *)(q + p.sq_off.array);
	unsigned *head = (unsigned *)(q + p.cq_off.head), *end = (unsigned *)(q + p.cq_off.tail);
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	if (write(fd, block, sizeof block) != sizeof block)
		return 3;
	double from = now();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < N; i++) {
			unsigned at = (*tail + i) & (p.sq_entries - 1);
			s[at] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
						      .fd = fd,
						      .addr = (unsigned long)block,
						      .len = sizeof block,
						      .user_data = same ? 0 : round * N + i + 1};
			array[at] = at;
		}
		__atomic_store_n(tail, *tail + N, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, N, N, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return 4;
		__atomic_store_n(head, __atomic_load_n(end, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	}
	printf("%f\n", (now() - from) / N / ROUNDS * 1e6);
	return 0;
}
