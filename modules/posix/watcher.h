/* Calls into a module that knows of other ways to descriptors. Set while the library is loaded; NULL = no such module. */
#ifndef IOLENS_POSIX_WATCHER_H
#define IOLENS_POSIX_WATCHER_H

#include <stddef.h>
#include <stdint.h>

struct posix_watcher {
	void (*mapped)(int fd, const void *at, size_t n, int64_t from); /* shared, of a special descriptor */
	void (*unmapping)(uintptr_t from, uintptr_t to);
	void (*closing)(void); /* a file's descriptor is about to be closed */
};

extern struct posix_watcher posix_watcher __attribute__((visibility("hidden")));

#endif
