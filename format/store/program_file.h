/* Whether the preload library can be loaded with a program, by the program's file. */
#ifndef IOLENS_PROGRAM_FILE_H
#define IOLENS_PROGRAM_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum program_kind {
	PROGRAM_UNKNOWN,
	PROGRAM_SCRIPT,  /* `#!`: its interpreter is what is executed */
	PROGRAM_OURS,    /* dynamic, for this machine; or static, with the runtime in it */
	PROGRAM_STATIC,  /* without a loader that would preload anything */
	PROGRAM_MACHINE, /* for another machine or word size: its loader complains about the library */
	PROGRAM_LIBC     /* of another C library, whose loader ends it over the library */
};

enum { PROGRAM_PATH = 256 };

typedef ssize_t program_read(int fd, void *to, size_t n, int64_t at);

/* `interpreter` is that of a script, or the loader, else "". */
enum program_kind program_kind(int fd, program_read *read_at, char interpreter[PROGRAM_PATH]);

#endif
