/*
 * Moves logs from a directory that all users can write to, into one that only the site can. It usually runs as root, and everything
 * in the first directory may be there to mislead it: links, pipes, devices, mounts, files that change while they are read or have
 * another name elsewhere, and directories in place of files. So a name is resolved once, the file is judged by its descriptor, and
 * the copy is made of that descriptor.
 */
#ifndef IOLENS_COLLECTOR_H
#define IOLENS_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum collected {
	COLLECTED,     /* it is in the area, and no longer in the spool */
	COLLECT_LATER, /* it changed while it was copied */
	COLLECT_REFUSED,
	COLLECT_FAILED, /* the area takes no more */
};

struct collector {
	int64_t limit;  /* bytes of a log, at most */
	bool has_group; /* who may read logs besides their owners */
	gid_t group;
	int spool, area; /* descriptors */
	int mount;       /* the spool's number among mounts; -1 if /proc does not say */
};

/* Returns an exit code, CLI_OK when both directories are fit; otherwise a line has said why not. */
int collector_open(struct collector *c, const char *spool, const char *area);
void collector_close(struct collector *c);

/* Is this the name of what is collected: of a log, or of a file that says why there is none? */
bool collector_wants(const char *name);

/* One file of the spool; `why` is for all but COLLECTED. */
enum collected collector_take(const struct collector *c, const char *name, const char **why);

#endif
