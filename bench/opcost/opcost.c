/*
 * opcost OPERATION CALLS THREADS DIRECTORY: processor nanoseconds per call of one operation, each thread
 * on a file of its own, and for `true` those of the child. The loop holds nothing but the call, so that
 * what a preloaded library adds shows undiluted.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(that) ((that) ? (void)0 : fail(#that))

enum { FILE_SIZE = 4 << 20, NAMES = 2000 };

struct job {
	char path[512];
	long calls;
	int fd, peer;
	FILE *stream;
	double took;     /* ns */
	double children; /* ns that the children took */
};

struct operation {
	const char *name;
	void (*before)(struct job *);
	void (*loop)(struct job *);
};

extern char **environ;
static const struct operation *operation;
static char buffer[64];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Time that other programs take on a busy machine does not count. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- before: a file of FILE_SIZE bytes, open as the operation needs it ---- */

static void make_file(struct job *j)
{
	static char text[1 << 16];
	j->fd = open(j->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(j->fd >= 0);
	memset(text, 'x', sizeof text);
	for (int i = 0; i < FILE_SIZE / (int)sizeof text; i++)
		MUST(write(j->fd, text, sizeof text) == sizeof text);
	MUST(lseek(j->fd, 0, SEEK_SET) == 0);
}

/* All threads have one file, each a descriptor of its own. */
static void make_one_file(struct job *j)
{
	static char first[512];
	if (first[0])
		strcpy(j->path, first);
	else
		strcpy(first, j->path);
	make_file(j);
}

static void make_file_here(struct job *j)
{
	make_file(j);
	*strrchr(j->path, '/') = '\0';
	MUST(chdir(j->path) == 0);
	j->path[strlen(j->path)] = '/';
}

/* OPCOST_APART bytes before it in the heap: by its address a stream is found, and may stand behind another one. */
static void make_stream(struct job *j)
{
	const char *apart = getenv("OPCOST_APART");
	make_file(j);
	MUST(!apart || malloc(strtoul(apart, NULL, 10)));
	j->stream = fopen(j->path, "r+");
	MUST(j->stream);
}

static void open_excluded(struct job *j)
{
	j->fd = open("/etc/passwd", O_RDONLY);
	MUST(j->fd >= 0);
}

static void make_socket(struct job *j)
{
	int ends[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	j->fd = ends[0];
	j->peer = ends[1];
}

static void nothing(struct job *j)
{
	(void)j;
}

/* ---- the loops ---- */

/* The file's name in the working directory. */
static const char *relative(const struct job *j)
{
	return strrchr(j->path, '/') + 1;
}

#define LOOP(name, call)                            \
	static void name(struct job *j)             \
	{                                           \
		for (long i = 0; i < j->calls; i++) \
			MUST(call);                 \
	}

LOOP(do_pread, pread(j->fd, buffer, 1, i &(FILE_SIZE - 1)) == 1)
LOOP(do_read, read(j->fd, buffer, 1) == 1)
LOOP(do_write, write(j->fd, buffer, 1) == 1)
LOOP(do_readv, readv(j->fd, (struct iovec[]){{buffer, 1}, {buffer + 1, 1}}, 2) == 2)
LOOP(do_writev, writev(j->fd, (struct iovec[]){{buffer, 1}, {buffer + 1, 1}}, 2) == 2)
LOOP(do_pwrite, pwrite(j->fd, buffer, 1, i &(FILE_SIZE - 1)) == 1)
LOOP(do_lseek, lseek(j->fd, i &(FILE_SIZE - 1), SEEK_SET) >= 0)
LOOP(do_fstat, fstat(j->fd, &(struct stat){0}) == 0)
LOOP(do_stat, stat(j->path, &(struct stat){0}) == 0)
LOOP(do_stat_relative, stat(relative(j), &(struct stat){0}) == 0)
LOOP(do_excluded, pread(j->fd, buffer, 1, 0) == 1)

LOOP(do_flock, flock(j->fd, LOCK_EX) == 0 && flock(j->fd, LOCK_UN) == 0)

LOOP(do_socket, send(j->fd, buffer, 1, 0) == 1 && recv(j->peer, buffer, 1, 0) == 1)

/* One request, submitted and waited for. */
static void do_libaio(struct job *j)
{
	io_context_t context = 0;
	struct iocb block, *list[] = {&block};
	struct io_event event;
	MUST(io_setup(1, &context) == 0);
	for (long i = 0; i < j->calls; i++) {
		io_prep_pread(&block, j->fd, buffer, 1, i & (FILE_SIZE - 1));
		MUST(io_submit(context, 1, list) == 1 && io_getevents(context, 1, 1, &event, NULL) == 1);
	}
	io_destroy(context);
}

static void do_uring(struct job *j)
{
	struct io_uring ring;
	struct io_uring_cqe *done;
	MUST(io_uring_queue_init(4, &ring, 0) == 0);
	for (long i = 0; i < j->calls; i++) {
		io_uring_prep_read(io_uring_get_sqe(&ring), j->fd, buffer, 1, (unsigned long)i & (FILE_SIZE - 1));
		MUST(io_uring_submit_and_wait(&ring, 1) == 1 && io_uring_wait_cqe(&ring, &done) == 0);
		io_uring_cqe_seen(&ring, done);
	}
	io_uring_queue_exit(&ring);
}

/* From the start again before the file ends. */
#define AGAIN(size) (i & (FILE_SIZE / (size)-1) ? (void)0 : rewind(j->stream))

LOOP(do_fgetc, (AGAIN(1), fgetc(j->stream) >= 0))
LOOP(do_fputc, (AGAIN(1), fputc('x', j->stream) == 'x'))
LOOP(do_fread, (AGAIN(sizeof buffer), fread(buffer, 1, sizeof buffer, j->stream) == sizeof buffer))
LOOP(do_fwrite, (AGAIN(sizeof buffer), fwrite(buffer, 1, sizeof buffer, j->stream) == sizeof buffer))
LOOP(do_fprintf, (AGAIN(16), fprintf(j->stream, "%ld\n", i) > 0))
LOOP(do_fgets, (AGAIN(8), fgets(buffer, 9, j->stream)))

static void do_open(struct job *j)
{
	for (long i = 0; i < j->calls; i++) {
		int fd = open(j->path, O_RDONLY);
		MUST(fd >= 0 && close(fd) == 0);
	}
}

static void do_open_relative(struct job *j)
{
	for (long i = 0; i < j->calls; i++) {
		int fd = open(relative(j), O_RDONLY);
		MUST(fd >= 0 && close(fd) == 0);
	}
}

/* Files that have no records: a configuration file again and again. */
static void do_excluded_open(struct job *j)
{
	for (long i = 0; i < j->calls; i++) {
		int fd = open("/etc/passwd", O_RDONLY);
		MUST(fd >= 0 && close(fd) == 0);
	}
}

static void do_names(struct job *j)
{
	char path[600];
	for (long i = 0; i < j->calls; i++) {
		snprintf(path, sizeof path, "%s.%ld", j->path, i % NAMES);
		int fd = open(path, O_RDONLY);
		MUST(fd >= 0 && close(fd) == 0);
	}
}

static void do_fopen(struct job *j)
{
	for (long i = 0; i < j->calls; i++) {
		FILE *f = fopen(j->path, "r");
		MUST(f && fclose(f) == 0);
	}
}

static void make_names(struct job *j)
{
	char path[600];
	for (int i = 0; i < NAMES; i++) {
		snprintf(path, sizeof path, "%s.%d", j->path, i);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
}

static double nanoseconds(struct timeval t)
{
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

/* Start to end of a program that does nothing. */
static void do_true(struct job *j)
{
	char *arguments[] = {"true", NULL};
	for (long i = 0; i < j->calls; i++) {
		pid_t child;
		int status;
		struct rusage used;
		MUST(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
		MUST(wait4(child, &status, 0, &used) == child && status == 0);
		j->children += nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
	}
}

static const struct operation operations[] = {
	{"pread", make_file, do_pread},
	{"pread-one-file", make_one_file, do_pread},
	{"read", make_file, do_read},
	{"pwrite", make_file, do_pwrite},
	{"write", make_file, do_write},
	{"readv", make_file, do_readv},
	{"writev", make_file, do_writev},
	{"lseek", make_file, do_lseek},
	{"open+close", make_file, do_open},
	{"open+close-relative", make_file_here, do_open_relative},
	{"open+close-names", make_names, do_names},
	{"stat", make_file, do_stat},
	{"stat-relative", make_file_here, do_stat_relative},
	{"fstat", make_file, do_fstat},
	{"excluded-pread", open_excluded, do_excluded},
	{"send+recv", make_socket, do_socket},
	{"libaio-pread", make_file, do_libaio},
	{"io_uring-read", make_file, do_uring},
	{"flock", make_file, do_flock},
	{"excluded-open+close", nothing, do_excluded_open},
	{"fgetc", make_stream, do_fgetc},
	{"fputc", make_stream, do_fputc},
	{"fread-64", make_stream, do_fread},
	{"fwrite-64", make_stream, do_fwrite},
	{"fgets-8", make_stream, do_fgets},
	{"fprintf", make_stream, do_fprintf},
	{"fopen+fclose", make_file, do_fopen},
	{"true", nothing, do_true},
};

static const struct operation *find(const char *name)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	fprintf(stderr, "opcost: no operation %s\n", name);
	exit(2);
}

/* ---- threads ---- */

static pthread_barrier_t ready;

static void *run(void *at)
{
	struct job *j = at;
	pthread_barrier_wait(&ready);
	double start = now();
	operation->loop(j);
	j->took = j->children > 0 ? j->children : now() - start;
	return NULL;
}

static void run_all(struct job *jobs, int threads)
{
	pthread_t *thread = calloc((size_t)threads, sizeof *thread);
	MUST(thread);
	for (int i = 1; i < threads; i++)
		MUST(pthread_create(&thread[i], NULL, run, &jobs[i]) == 0);
	run(&jobs[0]);
	for (int i = 1; i < threads; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	MUST(argc == 5);
	operation = find(argv[1]);
	int threads = atoi(argv[3]);
	struct job *jobs = calloc((size_t)threads, sizeof *jobs);
	MUST(jobs && pthread_barrier_init(&ready, NULL, (unsigned)threads) == 0);
	double took = 0;
	for (int i = 0; i < threads; i++) {
		snprintf(jobs[i].path, sizeof jobs[i].path, "%s/%d", argv[4], i);
		jobs[i].calls = atol(argv[2]);
		operation->before(&jobs[i]);
	}
	run_all(jobs, threads);
	for (int i = 0; i < threads; i++)
		took += jobs[i].took / (double)jobs[i].calls / threads;
	printf("%.2f\n", took);
	fflush(stdout);
	_exit(0);
}
