/* Where a log says that files were opened: its table `sites` (docs/reference/extension-trailer.md). */
#ifndef IOLENS_SITES_H
#define IOLENS_SITES_H

#include "log.h"

/* What the table has of a record's id. */
#define SITES_FILE(id) ((id) & ((UINT64_C(1) << 40) - 1))

struct sites;

/* *out = NULL and LOG_OK when the log does not tell. The log must stay open. */
int sites_open(struct sites **out, struct log *log, struct log_error *err);
void sites_close(struct sites *s);

struct site {
	const char *module; /* path of the program or library, without NUL */
	size_t length;
	const char *build_id; /* without NUL */
	size_t build_id_length;
	const char *
		stack; /* lines of Python code, innermost first: `function (path:line)`, a newline between two; without NUL */
	size_t stack_length;
	uint64_t offset; /* in it: of what the call returns to */
	int64_t ranks;   /* that opened it there; 0 = all that did */
	uint64_t row;    /* of the table */
};

/* The n-th place where an object of an interface was opened; false: there are no more. */
bool sites_of(const struct sites *s, const char *interface, uint64_t id, size_t n, struct site *out);

/* Bytes of the innermost line of Python code, `function (path:line)`, at the begin of the stack; 0: there is none. */
size_t site_line(const struct site *s);

#endif
