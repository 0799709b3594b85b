/* What a log says in a page: the numbers behind `iolens run`'s summary and `iolens files`. */
#ifndef IOLENS_DIGEST_H
#define IOLENS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "log.h"
#include "occupancy.h"

/* One file, over all ranks and interfaces. Bytes that an upper layer passed to a lower one are counted in both. */
struct digest_file {
	uint64_t id;
	const char *name;
	const char *file_system;
	int64_t size;      /* bytes: highest offset seen + 1, 0 = nothing was moved */
	int64_t read_size; /* the same for reads alone */
	int64_t bytes_read, bytes_written;
	int64_t reads, writes, opens, seeks;
	double read_time, write_time, meta_time; /* s, summed over ranks */
	int64_t records;
	bool posix, stdio, mpiio;
};

struct digest_interface {
	const char *name; /* posix, stdio, mpiio */
	int64_t records;
	int64_t reads, writes;
	int64_t bytes_read, bytes_written;
	double read_time, write_time, meta_time; /* s, summed over ranks */
};

struct digest_class {
	char name[24];
	char description[80];
	int64_t opens, calls;
	int64_t bytes_read, bytes_written;
};

enum { DIGEST_INTERFACES = 3, DIGEST_CLASSES = 32, DIGEST_OPERATIONS = 128 };

struct digest_operation {
	char name[24];
	int64_t count;
	double time; /* s */
};

struct digest {
	struct log *log;
	const struct log_job *job;
	double run_time;           /* s */
	struct digest_file *files; /* by time, longest first */
	size_t nfiles;
	struct digest_interface interface[DIGEST_INTERFACES];
	int64_t small, accesses;               /* reads and writes of at most 10 KiB, and all, through POSIX */
	int64_t reread;                        /* bytes read beyond each file's size: how much had been read before */
	const struct digest_file *most_reread; /* NULL = none */
	/* Python code and shared libraries, what a program reads before its own work. */
	int64_t startup_opens, startup_bytes;
	/* From the trailer; absent in logs of other tools. */
	bool has_trailer;
	struct occupancy io; /* time in I/O, union over processes and threads */
	int64_t processes, folded_opens;
	int64_t unfinished; /* processes whose end was not seen: killed, or still running */
	int64_t missing;    /* processes and ranks without a usable store */
	int64_t unobserved; /* programs that a process became or started, out of our reach */
	char unobserved_program[112], unobserved_reason[24]; /* of one of them; "" where it is not known */
	int64_t sufficient_budget;                           /* bytes, 0 = not known */
	int64_t unseen_read, unseen_written;                 /* bytes */
	int64_t unseen_unknown;                              /* processes of which they are not known */
	struct digest_class class[DIGEST_CLASSES];
	size_t nclasses;
	struct digest_operation operation[DIGEST_OPERATIONS];
	size_t noperations;
};

/* 0 or a negative log_code; d must be closed in either case. */
int digest_open(struct digest *d, const char *path, struct log_error *err);
void digest_close(struct digest *d);

/* Adds what g has to f; sizes become the larger. */
void digest_add_file(struct digest_file *f, const struct digest_file *g);

double digest_file_time(const struct digest_file *f);

/* How often each byte of what was read was read; 0 = nothing was read. */
double digest_file_factor(const struct digest_file *f);

/* Fills what the extension trailer knows; a log without one is no error. */
int digest_read_trailer(struct digest *d, struct log_error *err);

#endif
