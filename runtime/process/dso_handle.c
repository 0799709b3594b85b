#include <stddef.h>

/*
 * The library is linked without the compiler's start files, which would have a page written in each process as it starts and
 * ends. All that was wanted of them is the name that libc's pthread_atfork refers to; never to be unloaded, we are like the program.
 */
__attribute__((visibility("hidden"))) void *const __dso_handle = NULL;
