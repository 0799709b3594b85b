#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * The library is linked without the compiler's start files, which would have a page written in each process as it starts and
 * ends. All that was wanted of them is the name that libc's pthread_atfork refers to; never to be unloaded, we are like the program.
 */
__attribute__((visibility("hidden"))) void *const __dso_handle = NULL;

/*
 * The linker binds a function of libc when the library first calls it, which takes up to 4 KiB of stack: a process that does nothing
 * calls few of them. Those below are bound as the library is loaded, since calls of the program lead to them on stacks without such
 * room (tests/reliability/test_small_stacks.py): a function whose address is taken gets no second way by the linker.
 */
#define BOUND_AT_START(f)                                                                                           \
	f(clock_gettime) f(__errno_location) f(ftello) f(ftrylockfile) f(funlockfile) f(getuid) f(memchr) f(memcmp) \
		f(memcpy) f(memmove) f(memset) f(pthread_setspecific) f(strchr) f(strcmp) f(strcspn) f(strlen)      \
			f(strncmp) f(strnlen) f(strrchr) f(strspn) f(strstr) f(strtoll) f(strtoul)

__attribute__((used)) static void bind_at_start(void)
{
#define ADDRESS(name) __asm__ volatile("" : : "r"(name));
	BOUND_AT_START(ADDRESS)
}
