/* What makes descriptors without a file of a path, and memory in the place of a mapped file. */
#include "must.h"

#include <mqueue.h>
#include <sys/mman.h>
#include <sys/shm.h>

static char block[100];

static int stale(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && write(fd, block, 10) == 10);
	return fd;
}

/* Closed by an instruction of the program's own: nothing sees it. */
static void close_unseen(int fd)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(3L), "D"((long)fd) : "rcx", "r11", "memory");
	MUST(result == 0);
}

static void use_queue(void)
{
	char name[40];
	struct mq_attr how = {.mq_maxmsg = 2, .mq_msgsize = sizeof block};
	snprintf(name, sizeof name, "/queue.%d", (int)getpid());
	int fd = stale("before_queue");
	close_unseen(fd);
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &how);
	MUST(queue == fd && mq_unlink(name) == 0);
	MUST(mq_send(queue, block, 60, 0) == 0);
	MUST(mq_receive(queue, block, sizeof block, NULL) == 60);
	MUST(mq_close(queue) == 0);
}

static void use_memory(void)
{
	char name[40];
	snprintf(name, sizeof name, "/memory.%d", (int)getpid());
	int fd = stale("before_memory");
	close_unseen(fd);
	MUST(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) == fd && shm_unlink(name) == 0);
	MUST(write(fd, block, 100) == 100);
	MUST(close(fd) == 0);
}

static void attach_over_map(void)
{
	int fd = open("data", O_RDONLY), segment = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	MUST(fd >= 0 && segment >= 0);
	char *at = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(at != MAP_FAILED && shmat(segment, at, SHM_REMAP) == at);
	MUST(shmctl(segment, IPC_RMID, NULL) == 0);
	memset(at, 1, MIB);
	MUST(close(fd) == 0);
}

int main(void)
{
	use_queue();
	use_memory();
	attach_over_map();
}
