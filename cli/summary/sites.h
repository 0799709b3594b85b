/* Where a log says that files were opened: its table `sites` (docs/reference/extension-trailer.md). */
#ifndef IOLENS_SITES_H
#define IOLENS_SITES_H

#include "log.h"

struct sites;

/* NULL: the log does not tell, or there is no memory. */
struct sites *sites_open(struct log *log);
void sites_close(struct sites *s);

struct site {
	const char *module; /* path of the program or library, without NUL */
	size_t length;
	uint64_t offset; /* in it: of what the call returns to */
	int64_t ranks;   /* that opened it there; 0 = all that did */
};

/* The n-th place where an object of an interface was opened; false: there are no more. */
bool sites_of(const struct sites *s, const char *interface, uint64_t id, size_t n, struct site *out);

#endif
