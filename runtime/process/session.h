/*
 * Where stores go. In a session (made by `iolens run`) all processes of the tree share a private
 * directory and one epoch; without one each process keeps its store below the temporary directory.
 */
#ifndef IOLENS_SESSION_H
#define IOLENS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

/* True when a session is named and safe to use. */
bool session_join(void);

struct store_owner;

/* Lays down this process's store in the session's directory (store.h); before the first moment of a process's store. */
bool session_lay_down(const struct store_owner *owner);

/* Tells in it what has come to be known of the process. */
bool session_retell(const struct store_owner *owner);

/* Makes this process's store, of what was laid down if anything was; the same for a forked child, which lays down nothing. */
bool session_store(const struct store_owner *owner, bool laid_down);

/* Deals with a few stores that dead processes have left; not in a session or an MPI job. */
enum session_moment { SESSION_START, SESSION_FORKED, SESSION_END };
void session_collect(enum session_moment moment);

/* The epoch that the session's processes share; now, without one, and then without the processor's counter. */
struct epoch session_epoch(void);

/* Whether that counter may be used, which takes the kernel some 15 us to tell: before the first operation. */
void session_settle_counter(struct epoch *epoch);

const char *session_host(void);

/* `iolens run` is on another node: the store goes there when the process has ended, which is seen by its being mapped no more. */
bool session_is_elsewhere(void);

/* This process made the place for the stores of its node, which is not that of `iolens run`. */
bool session_first_of_node(void);

/* Outside a session the ranks of an MPI job on one node share a private directory; a store that exists moves there. */
void session_enter_world(uint64_t world);

/* Where the ranks of a job on one node meet: the same file for all, wherever their stores are. */
const char *session_meeting_directory(void);
void session_meeting_path(uint64_t meeting, char *path, size_t room);

/* True when some rank of that job on this node has come so far. */
bool session_world_exists(uint64_t world);

/* Where those stores are, whether or not this process has one; "" = nowhere. */
const char *session_world_directory(void);

/* Removes the store of a process that has written its own log. */
void session_drop_store(void);

/* The process ends: on another node than `iolens run` its store goes to where that finds it. */
void session_deliver(void);

/* Where the store is: its directory and name. */
const char *session_store_path(void);

#endif
