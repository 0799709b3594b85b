/*
 * Runs a list of operations. Each argument is one: "PROCESS.THREAD VERB WORDS...", with a | in front where it may run
 * at the same time as the one before it. All processes and threads know the whole list. Each waits for its turn, a
 * count of finished operations in shared memory, does what is its own and prints one line about it.
 */
#include "interpreter.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char **argument;
static const char *home;
static int first_op, op_count, shared_id;
static _Atomic int *done;
static _Atomic pid_t children[PROCESSES];
enum { PERIOD = 17 * 23 };

static char pattern[PERIOD + LARGEST];
static unsigned crc_table[256];
static int process;
static _Thread_local int thread;
_Thread_local char *buffer;
extern char **environ;
pid_t __vfork(void);

static void say(const struct op *op, const char *format, ...)
{
	char line[256];
	va_list args;
	int n = snprintf(line, sizeof line, "%d %s ", op->index, op->verb);
	va_start(args, format);
	n += vsnprintf(line + n, sizeof line - n, format, args);
	va_end(args);
	line[n++] = '\n';
	if (write(1, line, n) != n)
		syscall(SYS_exit_group, 98);
}

static void finished(void)
{
	atomic_fetch_add(done, 1);
	syscall(SYS_futex, done, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static void wait_until(int count)
{
	for (int seen; (seen = atomic_load(done)) < count;)
		syscall(SYS_futex, done, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static const char *op_text(int index)
{
	return argument[first_op + index];
}

/* The first operation that may run together with this one. */
static int group_start(int index)
{
	while (*op_text(index) == '|')
		index--;
	return index;
}

long long num(const struct op *op, int k)
{
	return op->word[k] ? strtoll(op->word[k], NULL, 0) : 0;
}

const char *path(struct op *op, int k)
{
	const char *word = op->word[k];
	if (*word != '@')
		return word;
	snprintf(op->path[k & 1], sizeof op->path[0], "%s%s", home, word + 1);
	return op->path[k & 1];
}

void hash(struct op *op, const char *data, long long n)
{
	unsigned crc = ~op->hash;
	for (long long i = 0; i < n; i++)
		crc = crc_table[(crc ^ (unsigned char)data[i]) & 255] ^ crc >> 8;
	op->hash = ~crc;
	op->hashed = 1;
}

char *filled(const struct op *op, int k, long long n, int shift)
{
	return memcpy(buffer + shift, pattern + (op->index * 7 + k) % PERIOD, n);
}

VERB(unshare)
{
	return unshare(num(op, 0));
}

static long long work(int index);

static void *threads_work(void *arg)
{
	const int *start = arg;
	int index = start[0];
	thread = start[1];
	free(arg);
	work(index);
	return NULL;
}

VERB(thread)
{
	pthread_t made;
	int *start = malloc(2 * sizeof *start);
	start[0] = op->index + 1;
	start[1] = num(op, 0);
	errno = pthread_create(&made, NULL, threads_work, start);
	if (errno)
		return -1;
	errno = UNTOUCHED;
	return pthread_detach(made);
}

static void born(struct op *op)
{
	alarm(60);
	say(op, "born %d", process);
	finished();
}

/* The child, not its parent, prints the line and gives the turn to the next. */
VERB(fork)
{
	int child = num(op, 0);
	pid_t pid = fork();
	if (pid)
		return (children[child] = pid) < 0 ? -1 : SAID;
	process = child;
	thread = 0;
	born(op);
	return SAID;
}

/* The arguments of the same program that goes on at the next operation as process `as`. */
static char **continued(const struct op *op, int as, char (*word)[16])
{
	char **list = calloc(op_count + 7, sizeof *list);
	snprintf(word[0], sizeof word[0], "%d", shared_id);
	snprintf(word[1], sizeof word[1], "%d", as);
	snprintf(word[2], sizeof word[2], "%d", op->index);
	char *head[] = {argument[0], "--", (char *)home, word[0], word[1], word[2]};
	memcpy(list, head, sizeof head);
	memcpy(list + 6, argument + first_op, op_count * sizeof *list);
	return list;
}

VERB(spawn)
{
	char word[3][16];
	pid_t pid;
	int child = num(op, 0);
	errno = posix_spawn(&pid, argument[0], NULL, NULL, continued(op, child, word), environ);
	if (errno)
		return -1;
	children[child] = pid;
	return SAID;
}

/* CHILD HOW: by libc's other name */
VERB(vfork)
{
	char word[3][16];
	int child = num(op, 0);
	char **list = continued(op, child, word);
	pid_t pid = num(op, 1) ? __vfork() : vfork();
	if (pid == 0) {
		execv(argument[0], list);
		_exit(97);
	}
	children[child] = pid;
	return pid < 0 ? -1 : SAID;
}

VERB(exec)
{
	char word[3][16];
	return execv(argument[0], continued(op, process, word));
}

static pid_t child_pid(int child)
{
	while (!children[child])
		sched_yield();
	return children[child];
}

VERB(wait)
{
	int status;
	if (waitpid(child_pid(num(op, 0)), &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

VERB(kill)
{
	return kill(child_pid(num(op, 0)), num(op, 1));
}

VERB(end)
{
	const char *how = op->word[0];
	int with = num(op, 1);
	say(op, "%s %d", how, with);
	finished();
	if (!strcmp(how, "exit"))
		exit(with);
	if (!strcmp(how, "_exit"))
		_exit(with);
	if (!strcmp(how, "quick_exit"))
		quick_exit(with);
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, with);
	if (!strcmp(how, "abort"))
		abort();
	kill(getpid(), with);
	for (;;)
		pause();
}

static const struct verb process_verbs[] = {
	ROW(unshare), ROW(thread), ROW(fork), ROW(spawn), ROW(vfork), ROW(exec), ROW(wait), ROW(kill), ROW(end), {0},
};

static const struct verb *verb_of(const char *name)
{
	const struct verb *tables[] = {call_verbs, stream_verbs, process_verbs};
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct verb *v = tables[t]; v->name; v++)
			if (!strcmp(v->name, name))
				return v;
	syscall(SYS_exit_group, 96);
	return NULL;
}

static void run(struct op *op)
{
	const struct verb *verb = verb_of(op->verb);
	errno = UNTOUCHED;
	long long result = verb->run(op);
	int error = errno;
	if (result == SAID)
		return;
	if (op->hashed)
		say(op, "%lld e%d %08x", result, error, op->hash);
	else
		say(op, "%lld e%d", result, error);
	finished();
}

static int parse(struct op *op, int index)
{
	const char *text = op_text(index);
	char *rest;
	op->hashed = op->hash = 0;
	op->index = index;
	snprintf(op->room, sizeof op->room, "%s", text + (*text == '|'));
	char *who = strtok_r(op->room, " ", &rest);
	sscanf(who, "%d.%d", &op->process, &op->thread);
	op->verb = strtok_r(NULL, " ", &rest);
	for (int k = 0; k < 9 && (op->word[k] = strtok_r(NULL, " ", &rest)); k++)
		;
	return op->process == process && op->thread == thread;
}

static long long work(int index)
{
	struct op *op = malloc(sizeof *op);
	buffer = aligned_alloc(64, LARGEST + 64);
	for (; index < op_count; index++)
		if (parse(op, index)) {
			wait_until(group_start(index));
			run(op);
		}
	if (thread == 0)
		for (;;)
			pause();
	free(buffer);
	free(op);
	return 0;
}

static void prepare(void)
{
	for (int i = 0; i < PERIOD + LARGEST; i++)
		pattern[i] = i % 17 == 16 ? '\n' : 'a' + i % 23;
	for (unsigned i = 0; i < 256; i++) {
		crc_table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			crc_table[i] = crc_table[i] & 1 ? 0xedb88320u ^ crc_table[i] >> 1 : crc_table[i] >> 1;
	}
}

/* A new program takes the memory of the old one as long as another process has it: else there is none to wait for. */
static void attach(int id, int count)
{
	void *memory = id >= 0 ? shmat(id, NULL, 0) : (void *)-1;
	if (memory == (void *)-1) {
		id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
		memory = shmat(id, NULL, 0);
		shmctl(id, IPC_RMID, NULL);
		*(int *)memory = count;
	}
	shared_id = id;
	done = memory;
}

int main(int argc, char **argv)
{
	static char start[4096];
	int again = argc > 5 && !strcmp(argv[1], "--");
	argument = argv;
	first_op = again ? 6 : 1;
	op_count = argc - first_op;
	home = again ? argv[2] : getcwd(start, sizeof start);
	process = again ? atoi(argv[4]) : 0;
	alarm(60);
	prepare();
	attach(again ? atoi(argv[3]) : -1, again ? atoi(argv[5]) : 0);
	if (again) {
		struct op *op = malloc(sizeof *op);
		parse(op, atoi(argv[5]));
		born(op);
	}
	return work(again ? atoi(argv[5]) + 1 : 0);
}
