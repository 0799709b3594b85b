/* The least that a preloaded library can do: forward one function. What it adds, no observer can avoid. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>

static ssize_t (*real)(int, void *, size_t, off_t);

__attribute__((constructor)) static void start(void)
{
	real = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	ssize_t got = real(fd, to, n, at);
	__asm__ volatile(""); /* a call and a return as in a wrapper, no jump */
	return got;
}
