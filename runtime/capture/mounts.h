/* The mounted file systems: read when the first record is made, asked for their block size when first used. */
#ifndef IOLENS_MOUNTS_H
#define IOLENS_MOUNTS_H

#include <stdint.h>

/* Block size in bytes of the file system that holds `path`, -1 if no mount matches. */
int64_t mounts_alignment(const char *path);

/* Mount point of the file system that holds `path`, NULL if no mount matches. */
const char *mounts_point(const char *path);

void mounts_reset(void);

#endif
