/* Descriptors that the log library opens inside an observed process: never 0, 1 or 2, which the program may have closed. */
#ifndef IOLENS_DESCRIPTOR_H
#define IOLENS_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* open() with O_CLOEXEC. */
int descriptor_open(const char *path, int flags, unsigned mode);

/* False unless the file has all of these n bytes. */
bool descriptor_read_file(const char *path, void *to, size_t n, uint64_t at);

#endif
