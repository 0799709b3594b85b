/* What the name of a store's file tells: <host>.<pid>.<time>.store. */
#ifndef IOLENS_STORENAME_H
#define IOLENS_STORENAME_H

#include <stdbool.h>
#include <stdint.h>

/* The process that made the store, without opening it; 0 = this is no such name. `path` may have directories in front. */
int64_t storename_pid(const char *path);

/* It ends like one, whatever is in the place of host and process. */
bool storename_is(const char *path);

/* Both are such names, of stores that processes on hosts of one name have made. */
bool storename_same_host(const char *path, const char *other);

#endif
