/*
 * Which leaders write what the nodes have made: some, as many as the hint cb_nodes says, each for the nodes that follow it, at
 * offsets that are known before. A leader that cannot open the log's file, because it sees another file system, leaves its
 * nodes to the first one, which has made the file.
 *
 * The file is open in the program's table of descriptors. One of our own (alone_do_long) lasts as long as a piece of work that sends
 * nothing: messages need the MPI's sockets, of which it would have copies, and the program's thread.
 */
#ifndef IOLENS_MPI_WRITERS_H
#define IOLENS_MPI_WRITERS_H

#include "join.h"
#include "tree.h"

enum { WRITERS_MAX = 64 };

struct writers {
	int64_t number;
	int64_t nodes;
	int64_t mine; /* which of them this leader is, -1 = none */
	uint64_t able;
	int fd;
	uint64_t log;                                          /* bytes of all regions, at the first leader; else 0 */
	uint64_t begun, done;                                  /* since when it writes, bytes that it has written */
	void (*late)(uint64_t log, double speed, double left); /* called once when the rest will take too long */
};

/* hints: "key=value;key=value"; NULL = none. */
void writers_choose(struct writers *w, const char *hints, int64_t nodes, int64_t node);

/* Before the file is written to: sets the bit in `able` of this one. */
void writers_open(struct writers *w, const struct join_file *file);

/* The regions of this node, from `at` in the file, and those of the nodes that this one writes for. `able`: of all leaders. */
bool writers_write(struct writers *w, struct tree *t, const struct join *j, const uint64_t at[JOIN_REGIONS],
		   bool *written);

void writers_close(struct writers *w, bool *written);

/* ---- the other way: collective MPI-IO, for file systems that want it so ---- */

/* Collective writes that this node needs. */
int64_t collective_rounds(const struct join *j);

/* Every leader takes part in so many. */
bool collective_write(struct tree *t, const char *path, const char *hints, int64_t rounds, const struct join *j,
		      const uint64_t at[JOIN_REGIONS], bool *written);

#endif
