/* Where what is in the file of a store, and what stands there from its first moment. */
#ifndef IOLENS_STORE_LAYOUT_H
#define IOLENS_STORE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container.h"
#include "process_state.h"
#include "store_header.h"
#include "trailer.h"

enum {
	STORE_NAMES_AT = CONTAINER_HEADER + CONTAINER_JOB_MAX,
	STORE_COMMAND = 3015,
	STORE_SECTIONS = 4,
	STORE_TAIL = STORE_SECTIONS * sizeof(struct trailer_entry) + sizeof(struct trailer_footer)
};

struct store_room {
	size_t budget;      /* bytes of records and names */
	size_t trace;       /* bytes of the trace, on top of that; 0 = nothing is traced */
	bool communication; /* of MPI is counted */
};

/* The process, and its job: what a store has from its first moment. */
struct store_owner {
	struct state_process process;
	int64_t user;
	int64_t job;
	const char *command;
};

/* A table of its own: a process that is asleep has no use for the regions that it would be put into. */
struct store_plan {
	size_t piece; /* of names and records */
	struct placed names, trace, communication, sites, module[WRITTEN_COUNT], state;
	uint64_t size;
};

void store_plan(struct store_plan *p, const struct store_room *room);

/* Bytes that a region of so many takes at a time. */
size_t store_piece(size_t bytes);

/* Bytes of the trailer's section "live" with a row of so many. */
size_t store_state_bytes(size_t row);

/* The header, and the job region: 56 bytes of numbers, the metadata, the command line with the mounts. */
void store_fill_head(char *head, const struct store_plan *p, const struct store_owner *owner);

/* What a store holds on top of records and the account of the process. */
struct store_beside {
	struct placed trace, communication, sites;
};

/*
 * The trailer: its section "live" begins at `state` of the file and at `region` of memory, its directory at `tail` and at `entry`.
 * Where in memory the row is.
 */
struct process_state *store_fill_trailer(char *region, uint64_t state, size_t row_size,
					 const struct store_beside *beside, struct trailer_entry *entry, uint64_t tail);

/*
 * Makes the file of a store in which nothing was recorded yet, and maps none of it: a process that reads and writes nothing has no
 * use for more. store_make takes it.
 */
bool store_lay_down(int dir, const char *path, const struct store_room *room, const struct store_owner *owner);

/* Such a process has come to know more of itself. */
bool store_retell(const char *path, const struct state_process *process);

/* Of a store that was laid down: bytes of the pages of the names' and the state's region that exist. */
extern struct store_laid {
	size_t head, state;
	uint64_t process_at; /* in the file */
} store_laid __attribute__((visibility("hidden")));

#endif
