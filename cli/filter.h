/* Which records of a log are wanted: by module, name and rank. Zeroed: all. */
#ifndef IOLENS_FILTER_H
#define IOLENS_FILTER_H

#include <regex.h>

#include "log.h"
#include "rewrite.h"

enum { FILTER_RANGES = 64 };

struct filter {
	uint64_t modules; /* bit per module id; 0 = all */
	const char *glob; /* NULL = any name */
	regex_t regex;
	bool has_regex;
	struct rewrite_range ranks[FILTER_RANGES];
	size_t nranks; /* 0 = all */
};

/* False: the text is none of the kind. */
bool filter_set_modules(struct filter *f, const char *names); /* posix,MPI-IO */
bool filter_set_regex(struct filter *f, const char *text);
bool filter_set_ranks(struct filter *f, const char *text); /* 0,4-7,shared */
void filter_close(struct filter *f);

bool filter_module(const struct filter *f, int module);
bool filter_rank(const struct filter *f, int64_t rank);
bool filter_name(const struct filter *f, const char *name); /* NULL = the record has none */
bool filter_is_set(const struct filter *f);

#endif
