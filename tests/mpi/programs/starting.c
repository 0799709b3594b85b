/*
 * An MPI program whose files are open before, while and after the MPI starts. Rank r writes 5 bytes to `own.<r>`; 10 before
 * MPI_Init and 10 after it to `early.<r>`; 50 times one byte to `beside.<r>`, from a thread that begins before MPI_Init and
 * ends when it is over; and reads $HOME/.openmpi/mca-params.conf, where there is one, once and whole.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char beside[32];

static void put(int fd, int bytes)
{
	if (write(fd, "0123456789", bytes) != bytes)
		_exit(99);
}

static void *opens(void *nothing)
{
	for (int i = 0; i < 50; i++) {
		int fd = open(beside, O_WRONLY | O_CREAT | O_APPEND, 0600);
		put(fd, 1);
		close(fd);
		usleep(1000);
	}
	return nothing;
}

static int launcher_rank(void)
{
	const char *hydra = getenv("PMI_RANK"), *orte = getenv("OMPI_COMM_WORLD_RANK");
	return atoi(hydra ? hydra : orte ? orte : "0");
}

static void read_parameters(void)
{
	char name[4096], text[64];
	snprintf(name, sizeof name, "%s/.openmpi/mca-params.conf", getenv("HOME"));
	int fd = open(name, O_RDONLY);
	if (fd < 0)
		return;
	while (read(fd, text, sizeof text) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	int rank, support;
	char name[32];
	pthread_t thread;
	snprintf(beside, sizeof beside, "beside.%d", launcher_rank());
	snprintf(name, sizeof name, "early.%d", launcher_rank());
	int early = open(name, O_WRONLY | O_CREAT, 0600);
	put(early, 10);
	pthread_create(&thread, NULL, opens, NULL);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &support);
	pthread_join(thread, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	put(early, 10);
	close(early);
	read_parameters();
	snprintf(name, sizeof name, "own.%d", rank);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	put(fd, 5);
	close(fd);
	MPI_Finalize();
	return 0;
}
