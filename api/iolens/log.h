/*
 * libiolens-log: reading Darshan logs, of every version from 1.21 to 3.41 and of iolens.
 *
 *	iolens_log *log = iolens_open("a.darshan");
 *	iolens_records *r = iolens_records_open(log, iolens_module_id("posix"));
 *	int64_t bytes;
 *	while (iolens_next(r) > 0)
 *		if (iolens_get_i64(r, "bytes_read", 0, &bytes) > 0)
 *			printf("%s %" PRId64 "\n", iolens_name(log, iolens_id(r)), bytes);
 *	iolens_records_close(r);
 *	iolens_close(log);
 *
 * Nothing in a log is trusted, and damage in one part leaves the others readable. A log must not be used by two threads at
 * once; two logs may. Texts and handles belong to the log and are valid until iolens_close. NULL handles are accepted
 * everywhere and have nothing in them.
 *
 * Functions that return int give 1 (there is one), 0 (there is none) or a negative enum iolens_code; what went wrong last is
 * then named by iolens_error_message. Structs are filled as far as the caller's size goes, so that later versions can add
 * members at the end.
 */
#ifndef IOLENS_LOG_API_H
#define IOLENS_LOG_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct iolens_log iolens_log;
typedef struct iolens_records iolens_records;
typedef struct iolens_table iolens_table;

enum iolens_code {
	IOLENS_OK = 0,
	IOLENS_E_IO = -1,          /* the system refused */
	IOLENS_E_NOT_LOG = -2,     /* no Darshan log at all */
	IOLENS_E_UNFINISHED = -3,  /* its header was never written */
	IOLENS_E_VERSION = -5,     /* of a version that is not known */
	IOLENS_E_TRUNCATED = -6,   /* ends too early */
	IOLENS_E_DAMAGED = -7,     /* contradicts the format */
	IOLENS_E_UNSUPPORTED = -8, /* valid, but this library does not decode it */
	IOLENS_E_MEMORY = -9,
	IOLENS_E_USAGE = -11, /* caller's mistake: no such counter */
};

/* Version of the library: "0.1.0". */
const char *iolens_version(void);

/* ---- a log ---- */

/* Never NULL but for want of memory: iolens_error says what is wrong with the file. */
iolens_log *iolens_open(const char *path);
/* The memory must stay until iolens_close. */
iolens_log *iolens_open_memory(const void *data, size_t size);
void iolens_close(iolens_log *log);

/* Of the last call that failed: enum iolens_code, 0 = none has. */
int iolens_error(const iolens_log *log);
/* One line that says what is wrong; "" = nothing. */
const char *iolens_error_message(const iolens_log *log);
/* Where in the file; UINT64_MAX = nowhere in particular. */
uint64_t iolens_error_offset(const iolens_log *log);

struct iolens_job {
	int64_t id, uid;
	int64_t nprocs;
	int64_t start, start_ns; /* seconds since 1970, and nanoseconds of that second */
	int64_t end, end_ns;     /* 0 = not known */
	double run_time;         /* seconds */
	const char *exe;         /* command line */
	const char *format;      /* version of the log format: "3.41" */
	int32_t big_endian;
	int32_t compression; /* 0 zlib, 1 bzip2, 2 none */
};

int iolens_job(iolens_log *log, struct iolens_job *job, size_t size);

/* Pair i of the metadata; 0 = there are no more. */
int iolens_metadata(iolens_log *log, size_t i, const char **key, const char **value);
/* Mount i, longest mount point first. */
int iolens_mount(iolens_log *log, size_t i, const char **point, const char **type);
/* The mount that a path lies on. point and type may be NULL. */
int iolens_mount_of(iolens_log *log, const char *path, const char **point, const char **type);

/* ---- names of files ---- */

/* Name of a record id, NULL = the log has none. */
const char *iolens_name(iolens_log *log, uint64_t id);
/* Name i in order of ids; 0 = there are no more. */
int iolens_name_at(iolens_log *log, size_t i, uint64_t *id, const char **name);

/* ---- modules and their counters ---- */

enum { IOLENS_MODULES = 64 }; /* ids are below */

/* By our name ("mpiio") or Darshan's ("MPI-IO"); -1 = no such module. */
int iolens_module_id(const char *name);

struct iolens_module {
	const char *key;  /* "mpiio"; NULL = not decoded by this library */
	const char *name; /* "MPI-IO" */
	const char *doc;
	uint32_t version;     /* of its records in the log; 0 = it has none */
	int32_t present;      /* has data in the log */
	int32_t partial;      /* some data were lost when the log was made */
	uint64_t stored_size; /* bytes in the file */
};

/* 0 = no such id. log may be NULL: what is known without one. */
int iolens_module(iolens_log *log, int module, struct iolens_module *out, size_t size);

enum iolens_type { IOLENS_I64, IOLENS_U64, IOLENS_F64, IOLENS_TEXT, IOLENS_BYTES };

struct iolens_field {
	const char *name; /* "bytes_read"; of structs in an array "component.stripe_size" */
	const char
		*darshan; /* name of its first element in Darshan's tools: "POSIX_BYTES_READ"; NULL = it is not shown */
	const char *unit; /* "bytes", "seconds"; "" = none */
	const char *doc;
	int32_t type;   /* enum iolens_type */
	uint32_t count; /* elements; 0 = as many as the record says. Of texts and bytes: their length */
};

/* Field i of a module's records; 0 = there are no more. */
int iolens_field(int module, size_t i, struct iolens_field *out, size_t size);
/* Number of the field; -1 = no such field. Also by a name of one element: "size_read_0_100" or "POSIX_SIZE_READ_0_100". */
int iolens_field_number(int module, const char *name);

/* ---- records ---- */

/* Its records one by one. NULL: see iolens_error (IOLENS_E_UNSUPPORTED, IOLENS_E_MEMORY). */
iolens_records *iolens_records_open(iolens_log *log, int module);
void iolens_records_close(iolens_records *r);
/* The next record: 1; 0 = that was all; negative = damage, and nothing more comes. */
int iolens_next(iolens_records *r);

/* Of the record at hand. */
uint64_t iolens_id(const iolens_records *r);
int64_t iolens_rank(const iolens_records *r); /* -1 = all ranks */

/*
 * A counter of the record by its name, as in iolens_field_number, and its element. 1 = *out is the value; 0 = this version of
 * the record did not have the counter, *out is what Darshan's tools show instead; IOLENS_E_USAGE = no such counter or element.
 * Numbers are converted.
 */
int iolens_get_i64(const iolens_records *r, const char *name, size_t element, int64_t *out);
int iolens_get_f64(const iolens_records *r, const char *name, size_t element, double *out);
/* The same by the field's number: faster. */
int iolens_field_i64(const iolens_records *r, int field, size_t element, int64_t *out);
int iolens_field_f64(const iolens_records *r, int field, size_t element, double *out);
/* Elements that the record has of a field; 0 = no such field. */
size_t iolens_elements(const iolens_records *r, int field);
/* A text or bytes, not ended by NUL; NULL = no such field. */
const char *iolens_field_text(const iolens_records *r, int field, size_t element, size_t *length);

/* Accesses of a trace: modules dxt_posix and dxt_mpiio. */
struct iolens_segment {
	int64_t offset; /* -1 = unknown */
	int64_t length;
	double start, end; /* seconds since the start of the job */
	uint64_t thread;   /* 0 = unknown */
	int32_t is_write;
};

/*
 * Up to n accesses of the record at hand, its writes, then its reads; `size` is sizeof(struct iolens_segment). Returns their
 * number, 0 at the end, or a negative code. What is not taken is skipped.
 */
int64_t iolens_segments(iolens_records *r, struct iolens_segment *out, size_t size, size_t n);

/* Bytes over time: module heatmap. 1 = `bins` numbers each, valid until iolens_next. */
int iolens_heatmap(const iolens_records *r, double *width, size_t *bins, const int64_t **written, const int64_t **read);

/* ---- tables that iolens adds: processes, exact totals, operations, ... ---- */

/* Name of table i; NULL = there are no more. */
const char *iolens_table_name(iolens_log *log, size_t i);
/* NULL = the log has no such table, or it is damaged (iolens_error). */
iolens_table *iolens_table_open(iolens_log *log, const char *name);
void iolens_table_close(iolens_table *t);
uint64_t iolens_rows(const iolens_table *t);
/* Column i; 0 = there are no more. */
int iolens_column(const iolens_table *t, size_t i, struct iolens_field *out, size_t size);
/* -1 = no such column. */
int iolens_column_number(const iolens_table *t, const char *name);
int iolens_cell_i64(const iolens_table *t, uint64_t row, int column, size_t element, int64_t *out);
int iolens_cell_f64(const iolens_table *t, uint64_t row, int column, size_t element, double *out);
/* Not ended by NUL; NULL = no such cell, or it is a number. */
const char *iolens_cell_text(const iolens_table *t, uint64_t row, int column, size_t element, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
