/*
 * The table `sites` while it is made: a row for each file, interface and site, with the ranks that came from there. In the log
 * most files have none: the site that most of an interface's files have stands there once, with file 0.
 */
#ifndef IOLENS_SITE_TABLE_H
#define IOLENS_SITE_TABLE_H

#include "trailer.h"

#define SITES_SCHEMA                                \
	"interface str\nmodule str\nbuild_id str\n" \
	"stack str\noffset u64 offset\nfile u64\nranks i64\n"

/* Of a text of the section: where it begins, and its length. */
struct site_text {
	uint32_t at, length;
};

/* As the section has it. */
struct site_row {
	struct site_text interface, module, build_id; /* an interface of enum written; module "" = unknown */
	struct site_text
		stack; /* lines of Python code, innermost first: `function (path:line)`, a newline between two; "" = none */
	uint64_t offset;
	uint64_t file; /* 0: of the interface it is not known where all were opened */
	int64_t ranks;
};

/* Adds a text to the section; a failure is the section's. */
struct site_text site_text(struct trailer_section *t, const char *text, size_t n);

/* Rows of one file and site become one, with the ranks of all: before there are too many. */
int site_table_unite(struct trailer_section *t);

/* As the log has it: without Python there is no column of stacks. */
int site_table_end(struct trailer_section *t);

#endif
