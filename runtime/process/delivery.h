/*
 * A session's process on another node than `iolens run` does not find the session's directory. Its store is in one of its own
 * node. A process that ends there copies all stores that have ended to a directory that all nodes of the session see.
 */
#ifndef IOLENS_DELIVERY_H
#define IOLENS_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True when the session expects stores of other nodes: `directory` is where this process keeps its own until then. *first: it has
 * made that directory.
 */
bool delivery_expected(char *directory, size_t room, const char *temporary, bool *first);

/*
 * This process ends: its store, and those of this node's processes that are gone, leave the directory, which several nodes and
 * containers may share. Ours stays mapped.
 */
void delivery_of(const char *directory, const char *store);

#endif
