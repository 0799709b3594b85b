/*
 * Writing a log that every released Darshan tool reads: container 3.41, zlib or bzip2, one or more streams per region.
 *
 *	log_writer_file(&w, "/logs/a.darshan", &err);
 *	log_write_job(w, &job);
 *	log_write_name(w, id, "/data/x");		every name
 *	log_write_module(w, LOG_MOD_POSIX, 4);		modules in order of their ids
 *	log_write_record(w, &record, sizeof record);	every record
 *	log_write_section(w, &section);			after the last module
 *	log_writer_finish(w, &err);
 *	log_writer_free(w);
 *
 * Calls return 0 or a negative code. After the first error the others do nothing and log_writer_finish reports it.
 * Memory comes from log_memory; no stdio, no locale, no fsync without log_writer_durable.
 */
#ifndef IOLENS_WRITER_H
#define IOLENS_WRITER_H

#include "log.h"
#include "trailer.h"

#define LOG_VERSION "3.41" /* of logs that are written */

/* Key of the metadata that tells the version of the format before a conversion; Darshan's tools have it, too. */
#define LOG_PREVIOUS_VERSION "prev_ver"

struct log_writer;
struct compact_part;

/* What log_write_job stores. Newlines in texts become blanks; what does not fit is left out, as the format demands. */
struct log_job_text {
	int64_t uid;
	int64_t start, start_ns;
	int64_t end, end_ns;
	int64_t nprocs;
	int64_t id;
	const char *lib_ver; /* first metadata entry */
	const char *exe;     /* command line */
	const struct log_pair *metadata;
	size_t nmetadata;
	const struct log_pair *mounts; /* key = mount point, value = file system */
	size_t nmounts;
};

/*
 * The log is written to the same path ending in `.darshan_partial` and renamed by log_writer_finish, mode 0400. Neither
 * name may exist (LOG_E_EXISTS).
 */
int log_writer_file(struct log_writer **out, const char *path, struct log_error *err);
int log_writer_memory(struct log_writer **out, struct log_error *err);

int log_write_job(struct log_writer *w, const struct log_job_text *job);
int log_write_name(struct log_writer *w, uint64_t id, const char *name);
int log_write_module(struct log_writer *w, int module, uint32_t version);
int log_write_record(struct log_writer *w, const void *record, size_t size);
/* Finished zlib streams of whole records, or of names, as they are; they stand behind what was written before. */
int log_write_precompressed(struct log_writer *w, const void *streams, size_t size);
/* So many bytes of the same kind, which another process writes at *at of the file (log_writer_share). */
int log_write_room(struct log_writer *w, uint64_t size, uint64_t *at);
/* The module lacks data; it need not have any. */
int log_write_partial(struct log_writer *w, int module);
/*
 * The accesses of a module of traces (accesses.h), after the modules and before the sections; records as access_end makes them.
 * With log_write_room, too. Where they are, a section tells that the writer makes.
 */
int log_write_accesses(struct log_writer *w, int module);
int log_write_bytes(struct log_writer *w, const void *data, size_t n);
int log_write_section(struct log_writer *w, const struct trailer_section *s);
/* Rows as compact_write_part made them. Several of one name, one behind the other, are one table, as is a section behind them. */
int log_write_part(struct log_writer *w, const char *name, const struct compact_part *part, const void *stored);

/* LOG_ZLIB unless called, or LOG_BZIP2 (log_enable_bzip2); before the job. */
int log_writer_compression(struct log_writer *w, enum log_compression compression);

/*
 * Records and names go through zlib: a fifth smaller than by our own deflater where times are not on our grid, and slower.
 * Before the job.
 */
void log_writer_by_zlib(struct log_writer *w);

/* As small as zlib's format lets them be (log_enable_smallest); before the job. */
int log_writer_smallest(struct log_writer *w);

/* Others of the same user may open the file for writing until it is finished: where it is, and what tells it from others. */
struct log_shared_file {
	const char *path;
	uint64_t inode;
	int64_t changed; /* ns since 1970 */
};
int log_writer_share(struct log_writer *w, struct log_shared_file *out);

/* The log shall have mode 0440 instead of 0400. */
void log_writer_group_readable(struct log_writer *w);
/* The file is on disk before it has its final name, and that name when log_writer_finish returns. */
void log_writer_durable(struct log_writer *w);

/* All but the header is in the file: what is left to do takes hardly any time. */
int log_writer_flush(struct log_writer *w);
int log_writer_finish(struct log_writer *w, struct log_error *err);
/* The first error, for a caller that does not finish because of it. */
void log_writer_error(const struct log_writer *w, struct log_error *err);
/* The same where there is one; then true. */
bool log_writer_blame(const struct log_writer *w, struct log_error *err);
/* Of a finished one: where a module's accesses are, and which modules lack data. */
struct log_region log_writer_accesses(const struct log_writer *w, int module);
uint64_t log_writer_partial(const struct log_writer *w);
/* The finished log of log_writer_memory; belongs to the writer. */
const void *log_writer_data(const struct log_writer *w, size_t *size);
/* Removes what was written unless it was finished. */
void log_writer_free(struct log_writer *w);

#endif
