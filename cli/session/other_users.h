/*
 * A job of root may change its user, and the session's directory is root's alone. Stores of other users go to a directory below
 * a hidden one beside it, `.<session>.others`: every user may make a file in it (and remove only what is his own), who knows its name, which is random, cannot
 * be listed, and stands in the environment of the session's processes only.
 */
#ifndef IOLENS_OTHER_USERS_H
#define IOLENS_OTHER_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Makes it where this is root, else leaves "". */
void other_users_make(char *path, size_t room, const char *session);

/* That of a session whose `iolens run` was killed. */
bool other_users_find(char *path, size_t room, const char *session);

void other_users_remove(const char *path);

/* Bundles of stores of processes that have ended, in the session's directory; the second one is a link to where it is. */
#define SESSION_ENDED "ended.stores"
#define SESSION_MOVED "moved.stores"

/* The bundle that the directory has a link to: not its own, nothing. */
void stores_remove_moved(const char *path);

/* A directory of stores, and all that is in it; nothing where a link or another user's directory stands in its place. */
void stores_remove(const char *path);
/* The same of one that is open, and is closed. The name is removed if it is an empty directory's. */
void stores_remove_held(int directory, const char *path);

#endif
