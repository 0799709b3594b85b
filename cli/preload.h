/* Where the preload library is. */
#ifndef IOLENS_PRELOAD_H
#define IOLENS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* $IOLENS_PRELOAD, else beside this program: in the build tree or where the package installs it. */
bool preload_find(char *path, size_t room);

/* Can LD_PRELOAD name it? The dynamic loader ends a name at some letters. */
bool preload_loadable(const char *path);

#endif
