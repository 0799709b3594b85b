#include "stress.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void a_round(void)
{
	__atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
}

/* ---- I/O ---- */

static void write_file(const char *path, int times)
{
	char block[512];
	memset(block, 'x', sizeof block);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	for (int i = 0; i < times; i++) {
		counted(write(fd, block, (size_t)(i % 512) + 1));
		counted(pwrite(fd, block, 100, i * 100));
		(void)!pread(fd, block, 64, 0);
	}
	struct iovec two[2] = {{block, 10}, {block, 20}};
	counted(writev(fd, two, 2));
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	lseek(fd, 0, SEEK_SET);
	close(fd);
	if (other >= 0)
		counted(write(other, block, 7));
	void *at = other < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0);
	if (at != MAP_FAILED)
		munmap(at, 4096);
	close(other);
}

static void use_stream(const char *path)
{
	char line[64];
	FILE *f = fopen(path, "w+");
	if (!f)
		return;
	for (int i = 0; i < 20; i++)
		fprintf(f, "line %d\n", i);
	rewind(f);
	while (fgets(line, sizeof line, f))
		;
	fclose(f);
}

static void *io(void *nothing)
{
	char own[PATH_ROOM], stream[PATH_ROOM], all[PATH_ROOM];
	path_of(own, "own", "counted");
	path_of(stream, "own", "stream");
	snprintf(all, sizeof all, "%s/all.counted", directory);
	while (time_is_left()) {
		struct stat s;
		write_file(own, 20);
		write_file(all, 5);
		use_stream(stream);
		stat(own, &s);
		unlink(stream);
		a_round();
	}
	return nothing;
}

/* More files than any cache of names holds. */
static void *names(void *nothing)
{
	char own[PATH_ROOM], path[PATH_ROOM + 32];
	path_of(own, "name", "many");
	for (int i = 0; time_is_left(); i++) {
		snprintf(path, sizeof path, "%s-%d.counted", own, i % 400);
		write_file(path, 1);
		unlink(path);
		a_round();
	}
	return nothing;
}

/* ---- children ---- */

static void await(pid_t child)
{
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	a_round();
}

static void child_work(void)
{
	char path[PATH_ROOM];
	path_of(path, "child", "counted");
	write_file(path, 3);
}

static void *child_thread(void *nothing)
{
	child_work();
	return nothing;
}

static void *forks(void *nothing)
{
	for (int i = 0; time_is_left(); i++) {
		pid_t child = fork();
		if (child == 0) {
			child_work();
			_exit(0);
		}
		await(child);
	}
	return nothing;
}

/* exit() runs handlers, and waits for the locks of streams: no other thread may hold one at the fork. */
static void *exits(void *nothing)
{
	while (time_is_left()) {
		pid_t child = fork();
		if (child == 0) {
			child_work();
			quick_exit(0);
		}
		await(child);
	}
	return nothing;
}

/* A child that has threads of its own at once. */
static void *fork_threads(void *nothing)
{
	while (time_is_left()) {
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread[3];
			int n = 0;
			while (n < 3 && pthread_create(&thread[n], NULL, child_thread, NULL) == 0)
				n++;
			child_work();
			for (int i = 0; i < n; i++)
				pthread_join(thread[i], NULL);
			_exit(0);
		}
		await(child);
	}
	return nothing;
}

static void *bare_forks(void *nothing)
{
	while (time_is_left()) {
		pid_t child = _Fork();
		if (child == 0) {
			int fd = open("/dev/null", O_WRONLY);
			(void)!write(fd, "x", 1);
			_exit(0);
		}
		await(child);
	}
	return nothing;
}

static char *const no_arguments[] = {"true", NULL};

static void *vforks(void *nothing)
{
	while (time_is_left()) {
		pid_t child = vfork();
		if (child == 0) {
			execve("/bin/true", no_arguments, environ);
			_exit(127);
		}
		await(child);
	}
	return nothing;
}

static void *execs(void *nothing)
{
	while (time_is_left()) {
		pid_t child = fork();
		if (child == 0) {
			child_work();
			execve("/nowhere", no_arguments, environ);
			child_work();
			execve("/bin/true", no_arguments, environ);
			_exit(127);
		}
		await(child);
	}
	return nothing;
}

static void *spawns(void *nothing)
{
	while (time_is_left()) {
		pid_t child = 0;
		if (posix_spawn(&child, "/bin/true", NULL, NULL, no_arguments, environ) == 0)
			await(child);
	}
	return nothing;
}

/* ---- malloc, and threads that come and go ---- */

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *sorts(void *nothing)
{
	enum { MANY = 4096 };
	while (time_is_left()) {
		int *all = malloc(MANY * sizeof *all);
		for (int i = 0; i < MANY; i++)
			all[i] = (int)(i * 2654435761U >> 8);
		qsort(all, MANY, sizeof *all, by_value);
		free(all);
		a_round();
	}
	return nothing;
}

static void *threads(void *nothing)
{
	while (time_is_left()) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, child_thread, NULL) == 0)
			pthread_join(thread, NULL);
		a_round();
	}
	return nothing;
}

/* Runs until it is cancelled, in a file that nothing is counted of. */
static void close_number(void *fd)
{
	close((int)(intptr_t)fd);
}

static void *endless(void *nothing)
{
	char path[PATH_ROOM];
	path_of(path, "cancelled", "left");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pthread_cleanup_push(close_number, (void *)(intptr_t)fd);
	for (;;)
		(void)!pwrite(fd, "x", 1, 0);
	pthread_cleanup_pop(1);
	return nothing;
}

static void *cancels(void *nothing)
{
	while (time_is_left()) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, endless, NULL) != 0)
			continue;
		usleep(2000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		a_round();
	}
	return nothing;
}

/* ---- signals ---- */

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump, jumps;

static void on_signal(int signal)
{
	int saved = errno, fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "x", 1);
	close(fd);
	errno = saved;
	if (may_jump && ++jumps % 2)
		siglongjmp(back, 1);
}

/* Is interrupted by another thread all the time, and jumps out of half of the handlers. */
static void *interrupted(void *jumping)
{
	char path[PATH_ROOM], block[64] = {0};
	path_of(path, "interrupted", "left");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	sigsetjmp(back, 1);
	may_jump = jumping != NULL;
	while (time_is_left()) {
		(void)!pwrite(fd, block, sizeof block, 0);
		(void)!pread(fd, block, sizeof block, 0);
		a_round();
	}
	may_jump = 0;
	close(fd);
	return NULL;
}

static void *signals(void *nothing)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t thread[2];
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, interrupted, i ? &thread : NULL) != 0)
			return nothing;
	while (time_is_left()) {
		for (int i = 0; i < 2; i++)
			pthread_kill(thread[i], SIGUSR1);
		usleep(300);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return nothing;
}

/* A handler that interrupts malloc and everything else, and ends the process: what happens then may not wait for a lock. */
static void end_here(int signal)
{
	_exit(0);
}

static void *busy(void *nothing)
{
	for (;;)
		free(malloc(5000));
	return nothing;
}

static void *ends(void *nothing)
{
	while (time_is_left()) {
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread;
			child_work();
			signal(SIGALRM, end_here);
			ualarm(2000, 0);
			if (pthread_create(&thread, NULL, busy, NULL) == 0)
				busy(NULL);
			_exit(0);
		}
		await(child);
	}
	return nothing;
}

/* ---- arguments that the kernel refuses ---- */

/* What the headers declare as never null is null on purpose. */
__attribute__((no_sanitize("undefined"))) static void refused_addresses(int fd, int other, void *bad)
{
	struct iovec v[2] = {{bad, 100}, {bad, SIZE_MAX}};
	(void)!read(fd, bad, 100);
	(void)!write(fd, bad, 100);
	(void)!pread(fd, bad, 100, 0);
	(void)!pwrite(fd, bad, 100, INT64_MAX);
	(void)!readv(fd, bad, 2);
	(void)!writev(fd, bad, 2);
	(void)!readv(fd, v, 2);
	(void)!writev(fd, v, -1);
	(void)!preadv(fd, v, INT32_MAX, -5);
	(void)!pwritev(fd, v, 2, INT64_MIN);
	(void)!sendfile(other, fd, bad, 10);
	(void)!copy_file_range(fd, bad, other, bad, 10, 0);
	(void)!fstat(fd, bad);
	(void)!mmap(bad, SIZE_MAX, 77, 77, fd, 12345);
	(void)!munmap(bad, SIZE_MAX);
}

static void refused_numbers(int fd)
{
	static char block[16];
	lseek(fd, INT64_MIN, 77);
	lseek(fd, INT64_MAX, SEEK_END);
	(void)!ftruncate(fd, INT64_MIN);
	(void)!pread(fd, block, sizeof block, INT64_MAX);
	(void)!pwrite(fd, block, sizeof block, -1);
	(void)!read(INT32_MAX, block, sizeof block);
	(void)!write(INT32_MIN, block, sizeof block);
	(void)!dup2(fd, INT32_MAX);
	(void)!dup2(-1, fd);
	(void)!dup3(fd, -7, 77);
	(void)!fcntl(fd, F_DUPFD, INT32_MAX);
	(void)!fcntl(INT32_MAX, F_GETFL);
	(void)!close(INT32_MAX);
	(void)!close(-1);
	(void)!openat(-5, "nothing", 0xffffff, 0xffffff);
	(void)!open("", O_RDWR);
	(void)!posix_fallocate(fd, INT64_MAX, INT64_MAX);
}

static void *hostile(void *nothing)
{
	static void *const bad[] = {NULL, (void *)8, (void *)(UINTPTR_MAX / 2 - 4095), (void *)(UINTPTR_MAX - 7)};
	char path[PATH_ROOM];
	path_of(path, "hostile", "left");
	while (time_is_left()) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			refused_addresses(fd, other, bad[i]);
		refused_numbers(fd);
		close(other);
		close(fd);
		a_round();
	}
	return nothing;
}

const struct actor actors[] = {
	{"io", io},
	{"names", names},
	{"forks", forks},
	{"exits", exits},
	{"fork-threads", fork_threads},
	{"bare-forks", bare_forks},
	{"vforks", vforks},
	{"execs", execs},
	{"spawns", spawns},
	{"sorts", sorts},
	{"threads", threads},
	{"cancels", cancels},
	{"signals", signals},
	{"ends", ends},
	{"hostile", hostile},
	{NULL, NULL},
};
