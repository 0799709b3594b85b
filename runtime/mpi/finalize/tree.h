/*
 * Messages between the leaders of the nodes, with the deadline. They are a binomial tree: what all know goes up to the first
 * leader, each adding what those below it told; what that one says comes down the same way. After a failure an operation may
 * still be under way: memory that it uses is not freed.
 */
#ifndef IOLENS_MPI_TREE_H
#define IOLENS_MPI_TREE_H

#include "alloc.h"
#include "mpi/mpi.h"
#include "deadline.h"

struct tree {
	const struct mpi_backend *mpi;
	struct deadline *deadline;
	const int64_t *leader; /* rank of each node's leader */
	int64_t nodes, mine;
};

enum tree_request { TREE_OPEN, TREE_GATHER, TREE_SEND, TREE_RECEIVE, TREE_WRITE };

/* Until the request is done; false when it failed, or there is no time left. */
bool tree_await(struct tree *t, enum tree_request request);

/*
 * The same for a request that must not be left half done, begun at `begun` (clock_monotonic): a rank that came late, or was held
 * up on the way, continues it for a second before it gives up. Ranks that have left make progress in their MPI_Finalize, in
 * which Open MPI raises a segmentation fault if a rank arrives before the communicator has its number.
 */
bool tree_await_begun(struct tree *t, enum tree_request request, uint64_t begun);

/* So many bytes to or from a rank, in as many messages as they need. */
bool tree_send(struct tree *t, int64_t rank, const void *from, uint64_t n);
bool tree_receive(struct tree *t, int64_t rank, void *to, uint64_t n);

/* Of a node next below, whose own and those below it have spoken. */
typedef bool tree_add(void *context, int64_t node, const void *from, size_t n);
/* What this node says; to a node below, or above (-1). */
typedef bool tree_fill(void *context, int64_t node, struct log_bytes *out);
/* From above. */
typedef bool tree_take(void *context, const void *from, size_t n);

bool tree_up(struct tree *t, tree_add *add, tree_fill *fill, void *context);
/* The first leader hears nothing. */
bool tree_down(struct tree *t, tree_take *take, tree_fill *fill, void *context);

/* The first leader learns whether it is so at all nodes; it tells all of them. */
bool tree_all(struct tree *t, bool *good);
bool tree_all_hear(struct tree *t, bool *good);

#endif
