/*
 * Reading a Darshan log: containers 3.00 to 3.41, both byte orders, any compression. Nothing in the file is trusted,
 * memory is bounded, and damage in one region leaves the others readable.
 *
 *	struct log *log;
 *	if (log_open_file(&log, path, &err) < 0) ...
 *	struct log_records *records;
 *	struct log_record r;
 *	log_records_open(&records, log, LOG_MOD_POSIX, &err);
 *	while ((code = log_records_next(records, &r, &err)) > 0) ... log_name(log, r.id) ...
 *	log_records_close(records);
 *	log_close(log);
 *
 * Functions return 0 or more, or a negative enum log_code with *err filled (err may be NULL).
 * One struct log must not be used by two threads at once.
 */
#ifndef IOLENS_LOG_H
#define IOLENS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"
#include "error.h"
#include "schema.h"

/* Modules from LOG_OWN_MODULES on are iolens' own: only the trailer names them, never a header. */
enum { LOG_MAX_MODULES = 64, LOG_OWN_MODULES = 24 };

struct log;

struct log_region {
	uint64_t offset;
	uint64_t length; /* stored bytes; 0 = no data, and offset means nothing */
};

/* The header, whatever its version: module ids are those of 3.41. */
struct log_container {
	char version[9];
	int minor;            /* 3.<minor> */
	bool swapped;         /* big-endian */
	uint32_t compression; /* enum log_compression */
	uint32_t header_size;
	uint64_t file_size;
	uint64_t partial; /* bit m: module m is incomplete */
	struct log_region job;
	struct log_region names;
	struct log_region module[LOG_MAX_MODULES];
	uint32_t module_version[LOG_MAX_MODULES];
	/*
	 * Accesses behind the regions, of modules of traces: read instead of the module's region, which they are where there is
	 * none in the header. For logs from log_enable_accesses on.
	 */
	struct log_region accesses[LOG_MAX_MODULES];
};

struct log_pair {
	const char *key;
	const char *value;
};

/* Texts end with NUL and live as long as the log. */
struct log_job {
	int64_t uid;
	int64_t start, start_ns; /* seconds since 1970, and nanoseconds of that second */
	int64_t end, end_ns;     /* 0 = not known: the program was running or killed */
	int64_t nprocs;
	int64_t id;
	const char *exe;                 /* command line */
	const struct log_pair *metadata; /* in order of the log */
	size_t nmetadata;
	const struct log_pair *mounts; /* key = mount point, value = file system; longest mount point first */
	size_t nmounts;
};

int log_open_file(struct log **out, const char *path, struct log_error *err);
/* The memory must stay until log_close. */
int log_open_memory(struct log **out, const void *data, size_t size, struct log_error *err);
void log_close(struct log *log);
/* Makes logs that are opened from now on show what traces they have in their trailers. */
void log_enable_accesses(void);

const struct log_container *log_container(const struct log *log);

/* Read on the first call. */
int log_job(struct log *log, const struct log_job **out, struct log_error *err);

/* Seconds from start to end, as Darshan's tools show it; never negative. */
double log_run_time(struct log *log);

/* Mount entry a file belongs to: the longest mount point that is a whole-component prefix of path; NULL if none. */
const struct log_pair *log_mount_of(const struct log_job *job, const char *path);

/* Reads all names; after an error the names before the damage are there. The other name functions call it. */
int log_names(struct log *log, struct log_error *err);
size_t log_names_count(struct log *log);
/* Name of a record id, NULL if the log has none. */
const char *log_name(struct log *log, uint64_t id);
/* The i-th name in order of ids; i < log_names_count. */
const char *log_name_at(struct log *log, size_t i, uint64_t *id);

/*
 * One record, decoded: native byte order, current version of its module, struct <module>_record. Arrays of variable
 * length follow the struct: log_record_array; those of a trace are handed out in pieces: log_segments_next.
 */
struct log_record {
	const struct schema_module *schema;
	const void *data; /* valid until the next call on the same iterator */
	size_t size;
	uint64_t id;
	int64_t rank;
	const struct schema_history *history; /* the layout it had in the log; NULL = the current one */
	const struct schema_map *map;         /* made from a record of a 1.x or 2.x log; NULL = not so */
	const void *header;                   /* of its region: struct <module>_header; NULL = there is none */
	const struct log_missing *missing;    /* what the log that it was made from did not have; NULL = nothing */
};

struct log_records;

/* LOG_E_UNSUPPORTED for modules and versions this library does not decode; a module without data has no records. */
int log_records_open(struct log_records **out, struct log *log, int module, struct log_error *err);
/* 1 = *out filled, 0 = end, negative = damage: nothing more comes. */
int log_records_next(struct log_records *r, struct log_record *out, struct log_error *err);
/* First record of a region that describes the others (APMPI, APXC); 1, or 0 where there is none. Any time. */
int log_records_header(struct log_records *r, struct log_record *out, struct log_error *err);

/*
 * Does the record have the counter, or did its version lack it? What it lacks holds the value that Darshan's tools show
 * (-1, 0 for record ids). The field may be one of an array's elements.
 */
bool log_record_has(const struct log_record *r, const struct schema_field *f);
/* False: the log was made from one whose records lacked the counter, and says so in its trailer. */
bool log_counted(struct log *log, const struct schema_field *f);
/* The same of all records to come. */
bool log_records_have(struct log_records *r, const struct schema_field *f);

/* An array of variable length; NULL and 0 elements if the field is none. Elements: int64_t, or struct <module>_<element>. */
const void *log_record_array(const struct log_record *r, const struct schema_field *f, size_t *n);

/* A traced access: DXT_POSIX, DXT_MPIIO. */
struct log_segment {
	int64_t offset; /* -1 = unknown */
	int64_t length;
	double start, end; /* s since the start of the job */
	uint64_t thread;   /* 0 = unknown */
	bool is_write;
};

/*
 * Up to n segments of the record that log_records_next gave: its writes, then its reads, each in order of completion.
 * Returns their number, 0 at the end, or a negative code. What is not taken is skipped. The counts in a record are
 * claims of the log: allocate for what comes, not for what is announced.
 */
int64_t log_segments_next(struct log_records *r, struct log_segment *out, size_t n, struct log_error *err);

/* Uncompressed bytes read so far. */
uint64_t log_records_bytes(const struct log_records *r);
void log_records_close(struct log_records *r);

/* Name of module id 0..63; "<UNKNOWN>" beyond the table. */
const char *log_module_name(int module);

/* ---- logs of Darshan 1.x and 2.x ---- */

/* Makes them readable: posix, mpiio, stdio, h5f and pnetcdf_file records are made from theirs (cp.toml). */
void log_enable_old(void);

/* 206 for a log of version 2.06; 0 = not such a log. */
int log_old_version(const struct log *log);

/* The records themselves: struct cp_record, schema_cp. Of versions before 2.00 without some counters: log_record_has. */
int log_old_records_open(struct log_records **out, struct log *log, struct log_error *err);

struct log_old_mount {
	int64_t device; /* what cp_record.device means */
	struct log_pair mount;
};
/* In the order in which they are searched. */
const struct log_old_mount *log_old_mounts(const struct log *log, size_t *n);
const struct log_old_mount *log_old_mount_of(const struct log *log, const struct cp_record *cp);

#endif
