#ifndef INTERPRETER_H
#define INTERPRETER_H
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 2 << 20, STREAMS = 8, STREAM_ROOM = 65536, PROCESSES = 32, UNTOUCHED = 77, SAID = -2 };

struct op {
	int index, process, thread;
	const char *verb;
	char *word[10];
	int hashed;
	unsigned hash;
	char path[2][4096];
	char room[512];
};

struct verb {
	const char *name;
	long long (*run)(struct op *op);
};

/* Of one thread: where data comes from and goes to. */
extern _Thread_local char *buffer;

/* The k-th word as a number, and as a path: @ is the directory in which the program began. */
long long num(const struct op *op, int k);
const char *path(struct op *op, int k);
/* What was read becomes part of the line that is printed. */
void hash(struct op *op, const char *data, long long n);
/* What an operation writes the k-th time, in memory that is `shift` bytes off the grid of 8. */
char *filled(const struct op *op, int k, long long n, int shift);

/* Each ends with a row without a name. A verb returns what is printed, or SAID. */
extern const struct verb call_verbs[], stream_verbs[];

#define VERB(name) static long long do_##name(struct op *op)
#define ROW(name)                \
	{                        \
#name, do_##name \
	}
#endif
