/* A ring without liburing, entered by syscall(), whose places are not taken in order. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { PLACES = 4, N = 50, BLOCK = 3000 };
static char text[BLOCK];
#define AT(base, offset) ((unsigned *)((char *)(base) + (offset)))
int main(int argc, char **argv)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, PLACES, &p);
	size_t size = p.sq_off.array + p.sq_entries * 4,
	       other = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	size = size > other ? size : other;
	char *q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqe =
		mmap(NULL, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	int even = open("even", O_RDWR | O_CREAT, 0600), odd = open("odd", O_RDWR | O_CREAT, 0600);
	if (ring < 0 || q == MAP_FAILED || sqe == MAP_FAILED)
		return 1;
	for (unsigned i = 0; i < N; i++) {
		unsigned tail = *AT(q, p.sq_off.tail), place = tail & *AT(q, p.sq_off.ring_mask),
			 head = *AT(q, p.cq_off.head);
		unsigned use = PLACES - 1 - place; /* places need not be taken in order */
		sqe[use] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
						 .fd = i % 2 ? odd : even,
						 .addr = (unsigned long)text,
						 .len = i % 2 ? 1000 : BLOCK,
						 .off = (unsigned long)i * BLOCK,
						 .user_data = i};
		AT(q, p.sq_off.array)[place] = use;
		__atomic_store_n(AT(q, p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			return 2;
		__atomic_store_n(AT(q, p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	}
	if (argc > 1)
		raise(SIGKILL);
	return 0;
}
