/*
 * An MPI program with a habit: job [HABIT [RANK [SECONDS]]]. Rank r writes 100 * (r + 1) bytes to `own.<r>`, and as many at 10000 * r of
 * `shared`; then comes the habit, which is one rank's alone where it can be, the last one's if nothing else is said. Where
 * MARKS names a directory, each rank leaves a file `<r>` there as soon as the MPI's own MPI_Finalize begins.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;

static void put(const char *stem, int number, int bytes, long at)
{
	static const char data[65536];
	char name[64];
	snprintf(name, sizeof name, number < 0 ? "%s" : "%s.%d", stem, number);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (pwrite(fd, data, bytes, at) != bytes)
		_exit(99);
	close(fd);
}

static int odd;     /* the rank that the habit is of */
static int seconds; /* that it is late */

static int is_odd(void)
{
	return rank == odd;
}

static void habit_stop(void)
{
	if (is_odd())
		raise(SIGSTOP);
}

static void habit_late(void)
{
	if (!is_odd())
		return;
	mkdir("late", 0700); /* whoever waits for this rank to be here sees it */
	sleep(seconds);
}

static void habit_abort(void)
{
	sleep(1);
	if (is_odd())
		MPI_Abort(MPI_COMM_WORLD, 7);
	sleep(60);
}

static void habit_kill(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (is_odd())
		raise(SIGKILL);
	sleep(60);
}

static void habit_quit(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	exit(3);
}

static void habit_fork(void)
{
	if (!is_odd())
		return;
	pid_t child = fork();
	if (!child) {
		put("child", rank, 50, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void habit_spawn(void)
{
	MPI_Comm children;
	char *arguments[] = {"spawned", NULL};
	MPI_Comm_spawn("./job", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
	MPI_Comm_disconnect(&children);
}

static void habit_spawned(void)
{
	MPI_Comm parent;
	MPI_Comm_get_parent(&parent);
	MPI_Comm_disconnect(&parent);
}

static void *thread(void *number)
{
	put("thread", 10 * rank + (int)(long)number, 10, 0);
	MPI_Barrier(MPI_COMM_SELF);
	return NULL;
}

static void habit_threads(void)
{
	pthread_t threads[4];
	for (long n = 0; n < 4; n++)
		pthread_create(&threads[n], NULL, thread, (void *)n);
	for (int n = 0; n < 4; n++)
		pthread_join(threads[n], NULL);
}

/* More than a rank keeps to itself: 300 files of its own, 50 of everybody, 20 of its own and the first rank. */
static void habit_many(void)
{
	for (int n = 0; n < 300; n++)
		put("many", 1000 * rank + n, 10 + n, 0);
	for (int n = 0; n < 50; n++)
		put("all", n, 7, 7 * rank);
	for (int n = 0; n < 20; n++)
		put("some", 1000 * (rank ? rank : size - 1) + n, 3, 0);
}

/* The attributes of MPI_COMM_SELF go first: the MPI's MPI_Finalize has been called. */
static int leave_mark(MPI_Comm comm, int key, void *directory, void *nothing)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%d", (char *)directory, rank);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	return MPI_SUCCESS;
}

static void mark_the_end(void)
{
	int key;
	if (!getenv("MARKS"))
		return;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_mark, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, getenv("MARKS"));
}

/* Its launcher does not wait for it. */
static void habit_outlive(void)
{
	pid_t launcher = getppid();
	close(open("may-end", O_WRONLY | O_CREAT, 0600));
	while (getppid() == launcher)
		usleep(1000);
	put("outlived", rank, 50, 0);
	_exit(5);
}

static const struct {
	const char *name;
	void (*run)(void);
} habits[] = {
	{"stop", habit_stop},       {"late", habit_late},       {"abort", habit_abort},     {"kill", habit_kill},
	{"quit", habit_quit},       {"fork", habit_fork},       {"threads", habit_threads}, {"spawn", habit_spawn},
	{"spawned", habit_spawned}, {"outlive", habit_outlive}, {"many", habit_many},
};

int main(int argc, char **argv)
{
	const char *habit = argc > 1 ? argv[1] : "";
	int provided, finalized = 0;
	MPI_Init_thread(&argc, &argv, strcmp(habit, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	odd = argc > 2 ? atoi(argv[2]) : size - 1;
	seconds = argc > 3 ? atoi(argv[3]) : 4;
	mark_the_end();
	put(strcmp(habit, "spawned") ? "own" : "spawned", rank, 100 * (rank + 1), 0);
	put("shared", -1, 100 * (rank + 1), 10000L * rank);
	for (size_t n = 0; n < sizeof habits / sizeof *habits; n++)
		if (!strcmp(habits[n].name, habit))
			habits[n].run();
	if (rank == 0)
		puts("done");
	MPI_Finalize();
	MPI_Finalized(&finalized);
	return finalized ? 0 : 8;
}
