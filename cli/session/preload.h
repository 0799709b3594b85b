/* Where the preload library is. */
#ifndef IOLENS_PRELOAD_H
#define IOLENS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "program_file.h"

/* $IOLENS_PRELOAD, else beside this program: in the build tree or where the package installs it. */
bool preload_find(char *path, size_t room);

/* libiolens.a, to be linked into programs; beside it are iolens.wrap and iolens.names. */
bool preload_find_static(char *path, size_t room);

/* The folder that the Python package of this program is in. False: this is a build tree, or there is no package. */
bool preload_package_parent(char *path, size_t room);

/* The library beside it that counts MPI communication, too, instead. False: it is not there; the path is told all the same. */
bool preload_communication(char *path, size_t room);

/* The library beside that one which makes phases of ranges. */
bool preload_ranges(const char *library, char *path, size_t room);

/* The one which has ranks meet before collective calls. */
bool preload_synchronization(const char *library, char *path, size_t room);

/* By Darshan's setting: MOD_ENABLE names the module. */
bool preload_communication_asked(void);

/* Is the entry of LD_PRELOAD, of n bytes, one of these? */
bool preload_is_ours(const char *entry, size_t n);

/* Can LD_PRELOAD name it? The dynamic loader ends a name at some letters. */
bool preload_loadable(const char *path);

/* The file that execvp would take. */
bool preload_command_path(const char *command, char *path, size_t room);

/* Of a file itself, be it a script. */
enum program_kind preload_kind_of_file(const char *path);

/* A static program with the runtime in it: it needs no preloading, and has no loader that lists what it would load. */
bool preload_is_linked(const char *path);

/* What the command is, as execvp finds it; of a script what executes it. */
enum program_kind preload_kind(const char *command);

/* The loader of such a program would complain about the library, or end the program over it. */
bool preload_refused(enum program_kind kind);

#endif
