/* A ring entered by the program's own instructions. After each of its requests, THREADS close a descriptor at once. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { THREADS = 4, ROUNDS = 5000, BLOCK = 100 };
static char text[BLOCK];
static pthread_barrier_t submitted, closed;
#define AT(base, offset) ((unsigned *)((char *)(base) + (offset)))

static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#endif
}

static void *closer(void *data)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = dup(*(int *)data);
		pthread_barrier_wait(&submitted);
		close(fd);
		pthread_barrier_wait(&closed);
	}
	return NULL;
}

int main(void)
{
	struct io_uring_params p;
	pthread_t thread[THREADS];
	memset(&p, 0, sizeof p);
	int data = open("data", O_RDWR | O_CREAT, 0600);
	int ring = (int)kernel(SYS_io_uring_setup, 4, (long)&p, 0, 0, 0, 0);
	if (ring < 0)
		return 77;
	char *q = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		       IORING_OFF_SQ_RING);
	char *done = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqe =
		mmap(NULL, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	pthread_barrier_init(&submitted, NULL, THREADS + 1);
	pthread_barrier_init(&closed, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, closer, &data);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned tail = *AT(q, p.sq_off.tail), place = tail & *AT(q, p.sq_off.ring_mask);
		sqe[place] = (struct io_uring_sqe){
			.opcode = IORING_OP_WRITE, .fd = data, .addr = (unsigned long)text, .len = BLOCK};
		AT(q, p.sq_off.array)[place] = place;
		__atomic_store_n(AT(q, p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
		if (kernel(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1)
			return 2;
		__atomic_store_n(AT(done, p.cq_off.head), i + 1, __ATOMIC_RELEASE);
		pthread_barrier_wait(&submitted);
		pthread_barrier_wait(&closed);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
