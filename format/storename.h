/* What the name of a store's file tells: <host>.<pid>.<time>.store. */
#ifndef IOLENS_STORENAME_H
#define IOLENS_STORENAME_H

#include <stdint.h>

/* The process that made the store, without opening it; 0 = this is no such name. `path` may have directories in front. */
int64_t storename_pid(const char *path);

#endif
