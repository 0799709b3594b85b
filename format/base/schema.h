/* The schema: what every record consists of, generated from modules/<x>/<x>.toml. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "records.h"
#include "written.h"

struct schema_label {
	const char *darshan; /* name in Darshan's text output: POSIX_F_READ_TIME */
	const char *name;    /* public name: read_time */
};

struct schema_value {
	int64_t value;
	const char *name; /* NULL ends the list */
};

/*
 * A counter, or an array of counters that belong together (size classes, most frequent values). Texts in place of pointers to
 * them: each pointer in the preload library is work for the dynamic linker in every process, and a page that is not shared.
 */
struct schema_field {
	char name[32];
	char unit[12];
	const struct schema_label *labels; /* one per element; none: not shown by Darshan's tools; # = number from 1 */
	uint16_t nlabels;
	uint16_t offset;  /* in the record; numbers have 8 bytes */
	uint16_t count;   /* 8-byte units: numbers, or the length of a text or uuid; 0 = variable, see length */
	int16_t follows;  /* index of the field this one accompanies, or -1 */
	int16_t length;   /* index of the field that holds the number of elements, or -1 */
	int16_t next;     /* index of the next field with the same role, or -1 */
	int16_t valid_if; /* index of the field of the region's header that must not be 0, or -1 */
	int8_t shown;     /* in text output: -1 = before, 1 = after the others */
	uint8_t at_least; /* elements that are stored even where length says fewer */
	uint8_t bits;     /* values are names of bits */
	enum field_type type;
	enum field_reduce reduce;
	enum field_role role;
	const struct schema_element *element; /* of an array of structs; NULL = numbers */
	const struct schema_value *values;    /* NULL = numbers are just numbers */
	const char *doc;
};

/* Elements of an array of structs. */
struct schema_element {
	uint16_t size;
	uint16_t nfields;
	const struct schema_field *fields;
};

struct schema_fill {
	int16_t field;
	int16_t extra;  /* number of the foreign integer that the value is taken from; -1 = the value below */
	uint8_t stored; /* the field has bytes in the record, which mean nothing */
	int64_t value;
};

/* An older layout: the current one without `missing`, with foreign integers after one field. */
struct schema_history {
	uint32_t version; /* 0 ends the list */
	uint16_t nmissing;
	uint16_t nmembers;
	const struct schema_fill *missing;
	const struct schema_fill *members; /* of the elements of the module's arrays of structs */
	int16_t made;                      /* array that is not stored: one element, all of it from `members`; or -1 */
	int16_t extra_after;               /* -1 = before the first field */
	uint16_t extra_count;
	int16_t add_to;       /* field that the foreign integers are added to, or -1 */
	uint8_t drop_if_used; /* skip records whose first foreign integer is positive */
};

/* What analysis takes the records of a module for; NULL = nothing said. */
struct schema_interface {
	const char *title;   /* as readers know it: HDF5 files */
	const char *level;   /* libc, middleware or library: what one counts is counted again below it */
	const char *library; /* what it is shown together with, and how readers know that */
	const char *library_title;
	const char *over;   /* key of the module whose records hold what this one moved */
	const char *within; /* key of the module that has the files these objects are in */
	const char *traces; /* key of the module whose accesses these are */
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
	const struct schema_module *header; /* of the region's first record, where that is of another kind; or NULL */
	int64_t magic;                      /* of a header: what its first field must be */
	const char *called;                 /* what a record without a name is called; NULL = nothing */
	uint8_t nameless;                   /* Darshan's tools show no names and mounts of these records */
	const char *doc;
	const struct schema_interface *interface;
	uint32_t written_version; /* of records in a log that is written, where it is not `version`; or 0 */
};

extern const struct schema_module schema_modules[LOG_MOD_COUNT];

/* ---- modules that keep records in the store of a process: each has a slot of `enum written` ---- */

struct written_module {
	int module; /* id in the log */
	const char *key;
	uint32_t size;       /* bytes of a record */
	int8_t heat;         /* enum state_heat_id, -1 = has no heat map */
	uint8_t descriptors; /* its bytes pass the process's descriptors by calls: the kernel counts them, too */
	uint8_t at_most; /* its records may take the budget divided by this: what is many in a file leaves room for files */
	/* Offsets of integer counters, up to a 0: a record of which all are 0 says nothing. NULL = every record says something. */
	const uint16_t *used;
	const uint16_t *used_but_by_streams; /* more of them, which say nothing of standard input, output and error */
};

struct written_heat {
	const char *name; /* in the log */
	int module;
};

/* By enum trace_interface: whose accesses a process keeps, and where they go in a log. */
struct written_trace {
	int module;
	uint32_t version;
};

/* Operations that are counted by name. */
struct written_operation {
	char interface[16], name[32];
};

/* Calls that are counted by kind, with sizes and times. */
struct written_call {
	char name[32], kind[24];
	uint16_t counters, times; /* where in the module's record those of the call begin; 0 = it has none there */
	uint16_t synchronized;    /* likewise its time in synchronization */
	uint8_t sized;            /* its counters are a count, bytes and size classes, else a count alone */
};

extern const struct written_module written_modules[WRITTEN_COUNT];
extern const struct written_heat written_heats[STATE_HEAT_COUNT];
extern const struct written_trace written_traces[TRACE_COUNT];
extern const struct written_operation written_operations[STATE_OP_COUNT];
extern const struct written_call written_calls[STATE_CALL_COUNT];

/* Slot of a module, -1 = keeps no records in a store. */
int written_slot(int module);

/* ---- logs older than modules: see cp.toml ---- */

/* Counter `from` of an old record is (or is added to) counter `to` of a module's. */
struct schema_copy {
	int16_t to, from;
};

struct schema_map {
	int module;
	uint16_t nwhen;
	const int16_t *when; /* one of these counters is not 0 where the module has a record */
	uint16_t ncopies;    /* 0 ends the list */
	const struct schema_copy *copies;
};

extern const struct schema_module schema_cp;
extern const struct schema_map schema_maps[];

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
