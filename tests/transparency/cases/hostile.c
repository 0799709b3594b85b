/*
 * Every function that the preload library wraps, with hostile arguments: each pointer in turn is bad in each way, the others are
 * good. One line per call: result, errno, signal, and what became of memory and files. `p --list` prints the functions, `p
 * NAME...` calls these.
 *
 * A call is a child of its own, with files and memory in a known state, which reports through shared memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

enum { PAGE = 4096, ARGUMENTS = 7, ROOM = 1024 };

typedef long generic(long, ...);

struct report {
	volatile int returned;
	long result;
	int error;
	unsigned long memory, files;
};

static struct report *report;
static char *memory; /* a page of it for each argument, a page without access behind each */

extern char **environ;

/* ---- what is called ---- */

static char *page_of(int argument)
{
	return memory + argument * 2L * PAGE;
}

/* The good value for a letter of the signature. What it points to lies in the argument's own page. */
#include "hostile_arguments.h"

static long good(const char *kind, int argument)
{
	char *at = page_of(argument);
	static const char *const texts[128] = {
		['P'] = "data",      ['N'] = "new",  ['D'] = "dir",  ['M'] = "r+",     ['T'] = "temp-XXXXXX",
		['X'] = "/bin/true", ['F'] = "%d\n", ['Q'] = "true", ['c'] = "text\n", ['E'] = "/no/such/program"};
	if (kind[0] >= '0' && kind[0] <= '9')
		return strtol(kind, NULL, 0);
	if (kind[0] == '-')
		return strtol(kind, NULL, 0);
	if (texts[(int)kind[0]])
		return (long)strcpy(at, texts[(int)kind[0]]);
	return good_object(kind[0], at);
}

static const char *const ways[] = {"good", "null", "low", "closed", "edge", "high", "read-only"};
enum { WAYS = sizeof ways / sizeof *ways };

/* The bad value in a given way for what would be at `value`. */
static long bad(int way, long value, int argument)
{
	switch (way) {
	case 1:
		return 0;
	case 2:
		return 16;
	case 3:
		return (long)page_of(argument) + PAGE;
	case 4:
		return (long)memcpy(page_of(argument) + PAGE - 4, (void *)value, 4);
	case 5:
		return (long)0xffff800000000000;
	case 6:
		mprotect(page_of(argument), PAGE, PROT_READ);
		return value;
	}
	return value;
}

static int is_pointer(char kind)
{
	return !(kind >= '0' && kind <= '9') && kind != '-' && !strchr("dqstxy", kind);
}

static int split(const char *signature, char kinds[ARGUMENTS][16])
{
	int n = 0;
	for (int used; n < ARGUMENTS && sscanf(signature, "%15s%n", kinds[n], &used) == 1; n++)
		signature += used;
	return n;
}

#ifdef HOSTILE_LINKED /* linked with what is to be called */
#include "own_symbol.h"
#else
static void *own_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}
#endif

/* ---- one call ---- */

static unsigned long sum_of(const void *at, size_t n, unsigned long sum)
{
	for (const unsigned char *c = at; n--; c++)
		sum = sum * 31 + *c;
	return sum;
}

/* Objects of libc hold addresses: what is compared is what the kernel writes, and what the program gave. */
static unsigned long memory_sum(const char kinds[ARGUMENTS][16], int n)
{
	unsigned long sum = 0;
	for (int i = 0; i < n; i++)
		if (strchr("BPNDMXcOVLW", kinds[i][0]))
			sum = sum_of(page_of(i), PAGE, sum);
	return sum;
}

static unsigned long files_sum(void)
{
	char text[ROOM];
	unsigned long sum = 0;
	static const char *const names[] = {"data", "other", "new"};
	for (int i = 0; i < 3; i++) {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, names[i], O_RDONLY);
		long n = syscall(SYS_read, fd, text, sizeof text);
		sum = sum_of(text, n > 0 ? n : 0, sum * 31 + n + 1);
		syscall(SYS_close, fd);
	}
	return sum;
}

static long narrow(char result, long value)
{
	if (result == 'p')
		return value == 0 ? 0 : value == -1 ? -1 : 1;
	if (result == 'n') /* a process */
		return (int)value > 0 ? 1 : (int)value;
	return result == 'v' ? 0 : result == 'i' ? (int)value : value;
}

static void call(const struct subject *s, int bad_one, int way)
{
	char kinds[ARGUMENTS][16];
	long a[ARGUMENTS] = {0};
	int n = split(s->signature, kinds);
	prepare();
	for (int i = 0; i < n; i++)
		a[i] = good(kinds[i], i);
	for (int i = 0; i < n; i++)
		if (bad_one == i || (bad_one == ARGUMENTS && is_pointer(kinds[i][0])))
			a[i] = bad(way, a[i], i);
	generic *f = (generic *)own_symbol(s->name);
	errno = 0;
	alarm(10);
	long value = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
	report->error = errno;
	alarm(0);
	if (strstr(s->name, "aio_") || strstr(s->name, "lio_"))
		usleep(50000);
	report->result = narrow(s->result, value);
	report->memory = memory_sum(kinds, n);
	report->files = files_sum();
	report->returned = 1;
	syscall(SYS_exit_group, 0);
}

/* ---- all of them ---- */

static void reset_files(void)
{
	int data = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644),
	    other = open("other", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 16; i++)
		if (write(data, "0123456789abcde\n", 16) != 16)
			exit(8);
	close(data);
	close(other);
	unlink("new");
	rmdir("new");
}

static void in_child(const struct subject *s, int bad_one, int way)
{
	int status;
	reset_files();
	memset(report, 0, sizeof *report);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		call(s, bad_one, way);
	while (waitpid(child, &status, 0) != child)
		;
	printf("%s %s %s:", s->name, bad_one == ARGUMENTS ? "all" : (char[]){(char)('1' + bad_one), 0}, ways[way]);
	if (WIFSIGNALED(status))
		printf(" signal %d\n", WTERMSIG(status));
	else if (!report->returned)
		printf(" exit %d\n", WEXITSTATUS(status));
	else
		printf(" %ld errno %d memory %lx files %lx\n", report->result,
		       report->result < 0 || s->result == 'p' ? report->error : 0, report->memory, report->files);
}

static void each_way(const struct subject *s)
{
	char kinds[ARGUMENTS][16];
	int n = split(s->signature, kinds), pointers = 0;
	if (s->result == '-' || !dlsym(dlopen("libc.so.6", RTLD_NOW), s->name)) {
		printf("%s: not called\n", s->name);
		return;
	}
	in_child(s, ARGUMENTS, 0);
	for (int i = 0; i < n; i++) {
		if (!is_pointer(kinds[i][0]))
			continue;
		pointers++;
		for (int way = 1; way < WAYS; way++)
			in_child(s, i, way);
	}
	for (int way = 1; way < WAYS && pointers > 1; way++)
		in_child(s, ARGUMENTS, way);
}

static void make_memory(void)
{
	report = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memory = mmap((void *)0x200000000000, 2L * PAGE * ARGUMENTS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < ARGUMENTS; i++)
		mprotect(page_of(i), PAGE, PROT_READ | PROT_WRITE);
}

static int is_named(const char *name, char **names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

int main(int argc, char **argv)
{
	for (const struct subject *s = subjects; argc > 1 && s->name; s++)
		if (strcmp(argv[1], "--list") == 0)
			puts(s->name);
	if (argc > 1 && strcmp(argv[1], "--list") == 0)
		return 0;
	make_memory();
	mkdir("dir", 0755);
	for (const struct subject *s = subjects; s->name; s++)
		if (argc < 2 || is_named(s->name, argv + 1))
			each_way(s);
}
