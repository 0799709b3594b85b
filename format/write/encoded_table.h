/* Rows of a table that are encoded before the log is written: they stand before those of its section, as parts of one table. */
#ifndef IOLENS_ENCODED_TABLE_H
#define IOLENS_ENCODED_TABLE_H

#include "writer.h"

struct encoded_table {
	struct log_bytes parts; /* struct compact_part */
	struct log_bytes stored;
};

/* The section's rows become a part, and the section is empty. */
int encoded_table_take(struct encoded_table *t, struct trailer_section *s);
/* Parts of another place; LOG_E_DAMAGED when the bytes are not theirs. */
int encoded_table_add(struct encoded_table *t, const void *parts, size_t size, const void *stored, size_t stored_size);
int encoded_table_write(const struct encoded_table *t, const char *name, struct log_writer *w);
void encoded_table_free(struct encoded_table *t);

#endif
