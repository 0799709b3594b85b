/* Rows of a trailer section that was read, into one that is written. Fields meet by name. */
#ifndef IOLENS_SECTION_COPY_H
#define IOLENS_SECTION_COPY_H

#include "trailer.h"

enum { SECTION_TEXT = 8192 /* longest text that is copied whole, with its NUL */ };

/* What a text becomes; NULL = it stays. `room` has SECTION_TEXT bytes. */
typedef const char *section_change(void *context, const struct trailer_field *f, const char *text, char *room);

/* A section of that name with the table's fields. */
int section_like(struct trailer_section *s, const char *name, const struct trailer_table *t);

/* A field of that name and type class; NULL if the section has none. */
const struct trailer_field *section_field(const struct trailer_section *s, const char *name);

/* Adds the row; fields that the section lacks are left out. change may be NULL. */
int section_copy_row(struct trailer_section *s, const struct trailer_table *t, uint64_t row, section_change *change,
		     void *context);

#endif
