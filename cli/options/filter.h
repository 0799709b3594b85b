/* Which records of a log are wanted: by module, name and rank. Zeroed: all. */
#ifndef IOLENS_FILTER_H
#define IOLENS_FILTER_H

#include <regex.h>

#include "choices.h"
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

/* Our names of the modules, for rows of options that take them. */
const char *filter_module_name(const void *unused, size_t i);

/* For rows of options that set the filter at c->at. */
bool filter_choose_modules(void *target, const struct choice *c, char *text); /* posix,MPI-IO */
bool filter_choose_glob(void *target, const struct choice *c, char *text);
bool filter_choose_regex(void *target, const struct choice *c, char *text);
bool filter_choose_ranks(void *target, const struct choice *c, char *text); /* 0,4-7,shared */

/* clang-format off */
#define FILTER_MODULE_CHOICE(place) \
	{"module", "NAME,...", filter_choose_modules, "only these modules, as in posix,stdio", \
	 .at = (place), .expect = "names of modules, as in posix,stdio", .word = filter_module_name}
#define FILTER_CHOICES(place) \
	{"name", "GLOB", filter_choose_glob, "only files whose path matches, as in '*.h5'", .at = (place)}, \
	{"regex", "REGEX", filter_choose_regex, "only files whose path matches an extended regular expression", \
	 .at = (place), .expect = "a regular expression"}, \
	{"rank", "LIST", filter_choose_ranks, "only these ranks, as in 0,4-7; \"shared\" = records of all ranks", \
	 .at = (place), .expect = "a list of ranks, as in 0,4-7,shared"}
/* clang-format on */

void filter_close(struct filter *f);

bool filter_module(const struct filter *f, int module);
bool filter_rank(const struct filter *f, int64_t rank);
bool filter_name(const struct filter *f, const char *name); /* NULL = the record has none */

#endif
