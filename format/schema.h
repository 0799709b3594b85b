/* The schema: what every record consists of, generated from modules/<x>/<x>.toml. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "records.h"

struct schema_label {
	const char *darshan; /* name in Darshan's text output: POSIX_F_READ_TIME */
	const char *name;    /* public name: read_time */
};

/* A counter, or an array of counters that belong together (size classes, most frequent values). */
struct schema_field {
	const char *name;
	const struct schema_label *labels; /* one per element; none: not shown by Darshan's tools */
	uint16_t nlabels;
	uint16_t offset; /* in the record; elements have 8 bytes */
	uint16_t count;  /* elements; 0 = variable, see length */
	int16_t follows; /* index of the field this one accompanies, or -1 */
	int16_t length;  /* index of the field that holds the number of elements, or -1 */
	int16_t next;    /* index of the next field with the same role, or -1 */
	enum field_type type;
	enum field_reduce reduce;
	enum field_role role;
	const char *unit;
	const char *doc;
};

struct schema_fill {
	int16_t field;
	int64_t value;
};

/* An older layout: the current one without `missing`, with foreign integers after one field. */
struct schema_history {
	uint32_t version; /* 0 ends the list */
	uint16_t nmissing;
	struct schema_fill missing[12];
	int16_t extra_after;
	uint16_t extra_count;
	uint8_t drop_if_used; /* skip records whose first extra integer is positive */
};

struct schema_module {
	const char *name; /* Darshan's name: MPI-IO */
	const char *key;  /* ours: mpiio; NULL = known by name only */
	const char *prefix;
	uint32_t version; /* 0 = known by name only */
	enum record_layout layout;
	uint32_t size; /* bytes of the fixed part of a record */
	uint32_t nfields;
	const struct schema_field *fields;
	const int16_t *roles; /* by field_role: index of the first field that plays it, or -1 */
	const struct schema_history *history;
	const char *doc;
};

extern const struct schema_module schema_modules[LOG_MOD_COUNT];
extern const char *const schema_type_names[];
extern const char *const schema_reduce_names[];
extern const char *const schema_role_names[];
extern const char *const schema_size_names[]; /* of the ten size classes */

/* First field of a module that plays the role, NULL if none does. */
const struct schema_field *schema_by_role(const struct schema_module *m, enum field_role role);
/* The next one that does. */
const struct schema_field *schema_next(const struct schema_module *m, const struct schema_field *f);
/* Field by its name, NULL if there is none. */
const struct schema_field *schema_by_name(const struct schema_module *m, const char *name);
