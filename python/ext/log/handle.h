/* An open log that streams and Python objects share: closed by the last of them. */
#ifndef IOLENS_HANDLE_H
#define IOLENS_HANDLE_H

#include <pthread.h>

#include "log.h"
#include "table.h"

struct handle {
	atomic_int refs;
	pthread_mutex_t lock; /* around everything of log.h but reading records */
	struct log *log;
	void *copy; /* of the bytes it was opened from */
	/* Made on first use. */
	struct dictionary *names;
	uint32_t *index; /* hash table over ids: number of the name + 1, 0 = free */
	size_t index_size;
	int32_t *name_code;           /* in the dictionary, by number of the name */
	struct dictionary *mounts[2]; /* mount points, file systems */
	int32_t *mount_code[2];       /* in their dictionaries, by number of the name; -1 = none */
};

/* data NULL: the file at path. */
int handle_open(struct handle **out, const char *path, const void *data, size_t size, struct log_error *err);
/* May `stored` bytes of a log that a handle opened become so many? 0 or LOG_E_BUDGET. */
int handle_allows(const struct log *log, uint64_t stored, uint64_t unpacked, struct log_error *err);
struct handle *handle_hold(struct handle *h);
void handle_drop(struct handle *h);

/* Makes names (and mounts) ready for the functions below. Damaged name tables keep the names before the damage. */
int handle_index_names(struct handle *h, bool mounts, struct log_error *err);
/* Number of an id's name in the log's order of names, -1 if it has none. */
int32_t handle_name_number(const struct handle *h, uint64_t id);

#endif
