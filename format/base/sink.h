/* Where a log is written to: a file under a temporary name, or memory. */
#ifndef IOLENS_SINK_H
#define IOLENS_SINK_H

#include <stdbool.h>

#include "alloc.h"
#include "error.h"

struct sink {
	int fd; /* -1 = memory, or closed */
	uint64_t at;
	struct log_bytes memory; /* of a file: what is not written yet */
	char *path;              /* final name; NULL = memory */
	char *partial;           /* name while being written; NULL once it is gone */
	unsigned mode;           /* when it is finished */
	bool durable;            /* a power cut leaves it whole, once it is finished */
};

int sink_open_file(struct sink *s, const char *path, struct log_error *err);
void sink_open_memory(struct sink *s);
int sink_write(struct sink *s, const void *data, size_t n, struct log_error *err);
/* All of it is in the file. */
int sink_flush(struct sink *s, struct log_error *err);
/* Overwrites earlier bytes, after all that came before is written. */
int sink_patch(struct sink *s, uint64_t at, const void *data, size_t n, struct log_error *err);
/* Leaves room for n bytes that another process writes. */
int sink_skip(struct sink *s, uint64_t n, struct log_error *err);
/* The owner may write to the file until it is finished; what tells it from another one. */
int sink_share(struct sink *s, uint64_t *inode, int64_t *changed, struct log_error *err);
/* Permissions of the finished file; 0400 unless called. */
void sink_mode(struct sink *s, unsigned mode);

/* Gives the file its final name, which must be free. */
int sink_finish(struct sink *s, struct log_error *err);
void sink_close(struct sink *s);

#endif
