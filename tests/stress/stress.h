#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PATH_ROOM = 4096 };

/* Of all processes. */
struct shared {
	int64_t writes, bytes, rounds;
};

struct actor {
	const char *name;
	void *(*run)(void *);
};

extern struct shared *shared;
extern const char *directory;
extern const struct actor actors[];

bool time_is_left(void);

/* A write to a *.counted file has returned. */
void counted(ssize_t written);

/* A file of this thread alone. */
void path_of(char *path, const char *name, const char *kind);

#endif
