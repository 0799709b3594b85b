/* The mounted file systems: read when the first record is made; their block sizes are read at first use. */
#ifndef IOLENS_MOUNTS_H
#define IOLENS_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the files of a mount have layouts of Lustre. */
enum mounts_layouts {
	MOUNTS_NONE,
	MOUNTS_BEHIND, /* not by their names; where Lustre is mounted, a symbolic link may lead there */
	MOUNTS_LUSTRE
};

/* What is to be known of the file system that holds `path`, by its name. */
struct mounts_place {
	int64_t alignment; /* block size in bytes */
	enum mounts_layouts layouts;
};
struct mounts_place mounts_place(const char *path);

/* Is an open file on Lustre? Asks for its device, and of each device once what it is. */
bool mounts_on_lustre(int fd);

/* Mount point of the file system that holds `path`, NULL if no mount matches. */
const char *mounts_point(const char *path);

void mounts_reset(void);

#endif
