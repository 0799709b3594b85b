/* Where the preload library is. */
#ifndef IOLENS_PRELOAD_H
#define IOLENS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "program_file.h"

/* $IOLENS_PRELOAD, else beside this program: in the build tree or where the package installs it. */
bool preload_find(char *path, size_t room);

/* Can LD_PRELOAD name it? The dynamic loader ends a name at some letters. */
bool preload_loadable(const char *path);

/* What the command is, as execvp finds it; of a script what executes it. */
enum program_kind preload_kind(const char *command);

/* The loader of such a program would complain about the library, or end the program over it. */
bool preload_refused(enum program_kind kind);

#endif
