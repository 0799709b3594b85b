/*
 * The last steps to one name per file, beyond Darshan's rules: `a/../b` is `b` and `a/.` is `a`.
 */
#ifndef IOLENS_PATH_H
#define IOLENS_PATH_H

#include <stdint.h>

enum { NAMES_PATH_MAX = 4096 };

struct path {
	uint32_t length;
	char text[NAMES_PATH_MAX];
};

/* A cleaned path without a slash or `/.` at its end. */
void path_trim(struct path *p);

/* Drops each `a/..` whose `a` is there and no symbolic link; what a link leads to has another parent. Asks the kernel for each. */
void path_resolve(struct path *p);

#endif
