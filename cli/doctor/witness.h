/* A program that does nothing, started with the library as others would be: what the library says of it, and leaves. */
#ifndef IOLENS_WITNESS_H
#define IOLENS_WITNESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct witness {
	const char *library;
	const char *file;    /* of settings, instead of what the environment names; NULL = that */
	const char *session; /* the directory for its store; NULL = the library prints its settings instead */
	const char *name;    /* what it is called, as a program that may be excluded; NULL = true */
	bool bare;           /* without settings from the environment */
	pid_t pid;
};

/* What it writes to standard error, or NULL with errno. It has ten seconds. */
FILE *witness_start(struct witness *w);

/* As of waitpid. */
int witness_end(struct witness *w, FILE *told);

#endif
