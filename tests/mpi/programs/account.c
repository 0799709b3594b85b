/*
 * account HABIT: every rank writes, and adds up in a mapped file what it has finished, until the job is ended: by MPI_Abort
 * of rank 1, by rank 1 taking all memory, or from outside. Rank 1 ends it when all have done enough, the slowest too.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, ENOUGH = 2000 };

struct account {
	uint64_t opens, writes, bytes;
};

static struct account *enter_account(int rank)
{
	int fd = open("account", O_RDWR);
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE * (long)rank);
	close(fd);
	return at;
}

/* The ranks' accounts are pages of one file. */
static void wait_for_all(int ranks)
{
	int fd = open("account", O_RDONLY);
	const char *at = mmap(NULL, PAGE * (size_t)ranks, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	for (int rank = 0; rank < ranks; rank++) {
		const struct account *one = (const struct account *)(at + PAGE * (size_t)rank);
		while (__atomic_load_n(&one->writes, __ATOMIC_RELAXED) < ENOUGH)
			usleep(1000);
	}
}

static void end_it(const char *habit)
{
	int ranks;
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	wait_for_all(ranks);
	if (!strcmp(habit, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 7);
	while (!strcmp(habit, "memory"))
		memset(malloc(1 << 20), 1, 1 << 20);
}

int main(int argc, char **argv)
{
	int rank;
	char name[32];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	struct account *account = enter_account(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0;; i++) {
		snprintf(name, sizeof name, "work-%d-%d", rank, i % 20);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		account->opens++;
		for (int k = 0; k < 10; k++) {
			account->bytes += (uint64_t)write(fd, "0123456789", 10);
			account->writes++;
		}
		close(fd);
		if (i == ENOUGH / 10 && rank == 1)
			end_it(argv[1]);
		if (i > ENOUGH / 10)
			usleep(1000);
	}
}
