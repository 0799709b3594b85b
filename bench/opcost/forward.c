/* The least that a preloaded library can do: forward a function. What it adds, no observer can avoid. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>

static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);

__attribute__((constructor)) static void start(void)
{
	real_pread = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
	real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
}

/* A call and a return as in a wrapper, no jump. */
#define FORWARD(type, call)           \
	do {                          \
		type got = call;      \
		__asm__ volatile(""); \
		return got;           \
	} while (0)

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	FORWARD(ssize_t, real_pread(fd, to, n, at));
}

int open(const char *path, int flags, int mode)
{
	FORWARD(int, real_open(path, flags, mode));
}

int close(int fd)
{
	FORWARD(int, real_close(fd));
}
