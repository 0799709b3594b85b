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

/* Makes this process's store; the same for a forked child. */
bool session_store(void);

/* Deals with a few stores that dead processes have left; not in a session or an MPI job. */
enum session_moment { SESSION_START, SESSION_FORKED, SESSION_END };
void session_collect(enum session_moment moment);

/* The epoch that the session's processes share; now, without one. */
struct epoch session_epoch(void);

const char *session_host(void);

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
