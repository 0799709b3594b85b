/* Descriptors that the log library opens inside an observed process: never 0, 1 or 2, which the program may have closed. */
#ifndef IOLENS_DESCRIPTOR_H
#define IOLENS_DESCRIPTOR_H

/* open() with O_CLOEXEC. */
int descriptor_open(const char *path, int flags, unsigned mode);

#endif
