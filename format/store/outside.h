/* A store that another process makes of what it knows of a program: as the program itself would have left it. */
#ifndef IOLENS_OUTSIDE_H
#define IOLENS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "process_state.h"
#include "records.h"

struct outside_store {
	void *block;
	char *memory; /* in it, zeros beyond what is written */
	size_t records, state, size;
	size_t names_used, records_used; /* POSIX records */
	struct process_state *row;
};

/* Room for so many bytes of paths and for so many records of POSIX. False when there is no memory. */
bool outside_begin(struct outside_store *s, size_t path_bytes, size_t records);
void outside_free(struct outside_store *s);

static inline struct posix_record *outside_records(const struct outside_store *s)
{
	return (struct posix_record *)(s->memory + s->records);
}

/* A new record and its name; the path has a NUL behind its n bytes. */
struct posix_record *outside_add(struct outside_store *s, uint64_t id, const char *path, size_t n);

/* The header and the job region: of the process that is in row. `partial`: some files share records. */
void outside_finish(struct outside_store *s, int64_t user, int64_t job, const char *command, bool partial);

/* Writes it as `beside`, and renames it then: a reader finds the one before or this one. False with errno. */
bool outside_write(const struct outside_store *s, const char *beside, const char *path);

#endif
