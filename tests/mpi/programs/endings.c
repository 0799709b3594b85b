/*
 * An MPI program that ends in an odd way: endings WAY. Rank r writes 100 * (r + 1) bytes to `own.<r>`, and then ends. What it
 * does at once with its ending is named after the way.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;

static void put(const char *stem, int number, int bytes, long at)
{
	static const char data[65536];
	char name[64];
	snprintf(name, sizeof name, "%s.%d", stem, number);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (pwrite(fd, data, bytes, at) != bytes)
		_exit(99);
	close(fd);
}

static void finalize(void)
{
	MPI_Finalize();
}

static void by_atexit(void)
{
	put("before", rank, 10, 0);
	atexit(finalize);
}

/* I/O, and the calls that are allowed then. */
static void after(void)
{
	int finalized = 0, version, subversion;
	MPI_Finalize();
	put("after", rank, 70, 0);
	MPI_Get_version(&version, &subversion);
	MPI_Finalized(&finalized);
	if (!finalized || version < 3)
		exit(8);
}

static int stop;
static long done[4];

static void *write_on(void *number)
{
	int n = (int)(long)number;
	for (long at = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); at += 10) {
		put("thread", 10 * rank + n, 10, at);
		__atomic_add_fetch(&done[n], 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Threads write while MPI_Finalize runs; `written` tells how often each had when it began. */
static void threads(void)
{
	pthread_t thread[4];
	long before[4];
	for (long n = 0; n < 4; n++)
		pthread_create(&thread[n], NULL, write_on, (void *)n);
	usleep(20000);
	for (int n = 0; n < 4; n++)
		while (!(before[n] = __atomic_load_n(&done[n], __ATOMIC_ACQUIRE)))
			usleep(1000);
	MPI_Finalize();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int n = 0; n < 4; n++)
		pthread_join(thread[n], NULL);
	for (int n = 0; n < 4; n++)
		put("written", 10 * rank + n, (int)before[n], 0);
}

/* The child goes on when its parent is gone. */
static void child(void)
{
	pid_t parent = getpid();
	if (!fork()) {
		while (getppid() == parent)
			usleep(1000);
		put("child", rank, 50, 0);
		_exit(0);
	}
	MPI_Finalize();
}

static void at_once(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	put("at_once", rank, 10, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	_exit(0);
}

static void again(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Barrier(MPI_COMM_WORLD); /* all have written when an MPI ends the job for it */
	int code = MPI_Init(NULL, NULL);
	printf("%s\n", code ? "refused" : "done");
	MPI_Finalize();
}

static void elsewhere(void)
{
	char name[32];
	snprintf(name, sizeof name, "d.%d", rank);
	mkdir(name, 0700);
	if (chdir(name) != 0)
		_exit(98);
	MPI_Finalize();
}

static void no_environment(void)
{
	clearenv();
	MPI_Finalize();
}

/* Of one rank: nothing of the machine is there any more. */
static void in_a_root(void)
{
	if (rank == size - 1 && (mkdir("root", 0700) != 0 || chroot("root") != 0))
		_exit(97);
	MPI_Finalize();
}

/* Two worlds at once, beside ours. */
static void spawns(void)
{
	MPI_Comm children[2];
	char *arguments[] = {"spawned", NULL};
	for (int n = 0; n < 2; n++)
		MPI_Comm_spawn("./endings", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children[n],
			       MPI_ERRCODES_IGNORE);
	for (int n = 0; n < 2; n++) {
		MPI_Barrier(children[n]); /* MPICH 5 aborts where a child ends before each of its parents has met it */
		MPI_Comm_disconnect(&children[n]);
	}
	MPI_Finalize();
}

static void spawned(void)
{
	MPI_Comm parent;
	MPI_Comm_get_parent(&parent);
	put("spawned", rank, 30, 0);
	MPI_Barrier(parent);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"by_atexit", by_atexit}, {"after", after},       {"threads", threads},     {"child", child},
	{"at_once", at_once},     {"again", again},       {"elsewhere", elsewhere}, {"no_environment", no_environment},
	{"in_a_root", in_a_root}, {"finalize", finalize}, {"spawns", spawns},       {"spawned", spawned},
};

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "finalize";
	int provided;
	MPI_Init_thread(&argc, &argv, strcmp(way, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	put("own", rank, 100 * (rank + 1), 0);
	for (size_t n = 0; n < sizeof ways / sizeof *ways; n++)
		if (!strcmp(ways[n].name, way))
			ways[n].run();
	return 0;
}
