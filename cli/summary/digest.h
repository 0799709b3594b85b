/* What a log says in a page: the numbers behind `iolens run`'s summary and `iolens files`. */
#ifndef IOLENS_DIGEST_H
#define IOLENS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "id_set.h"
#include "log.h"
#include "interval_union.h"
#include "used.h"

struct digest_interface {
	const char *name; /* posix, stdio, mpiio */
	int64_t records;
	int64_t reads, writes, opens;
	int64_t bytes_read, bytes_written;
	double read_time, write_time, meta_time; /* s, summed over ranks */
};

/*
 * One file, over all ranks. Its numbers are those of the lowest layer: POSIX's (and stdio's) where they hold what MPI-IO
 * moved, else MPI-IO's.
 */
struct digest_file {
	uint64_t id;
	const char *name;
	const char *final;     /* the name it got, if it was written under a temporary one; NULL = name */
	char *shown;           /* likewise, with both: "ck.bin, written as ck.tmp" */
	uint64_t renamed_from; /* id of the file that got this name; 0 = none */
	int64_t renamed_away;  /* how often it lost this name to another */
	int64_t renamed_to;    /* how often a file got this name: so many files had it in turn */
	const char *file_system;
	const char *class; /* of the file system: lustre, nfs, local, ...; "" where it is not known */
	bool directory;    /* it was forced to storage, and other files are below it */
	int64_t size;      /* bytes: highest offset seen + 1, 0 = nothing was moved */
	int64_t read_size; /* the same for reads alone */
	int64_t bytes_read, bytes_written;
	int64_t reads, writes, opens, seeks;
	double read_time, write_time, meta_time; /* s, summed over ranks */
	double opened;                           /* s since the job's start, first; 0 = not known */
	int64_t records;
	uint32_t written;              /* the interfaces with records of it: a bit for each slot of enum written */
	struct digest_interface mpiio; /* beside it; no records: MPI-IO did not use it, or is the lowest layer itself */
};

struct digest_class {
	char name[24];
	char description[80];
	int64_t opens, calls;
	int64_t bytes_read, bytes_written;
};

enum { DIGEST_CLASSES = 32, DIGEST_OPERATIONS = 128 };

/* Other ways than calls on descriptors and streams: their interface in the table of operations, name in reports. */
#define DIGEST_WAYS(X)                              \
	X(LIBAIO, "libaio", "libaio")               \
	X(URING, "io_uring", "io_uring")            \
	X(MAPPED, "mapped", "mapped files")         \
	X(LOADED, "loaded", "paged in")             \
	X(UNOBSERVED, "unobserved", "not observed") \
	X(SOCKET, "socket", "") /* in their classes */

#define DIGEST_WAY_ENUM(id, interface, text) DIGEST_WAY_##id,

enum digest_way_id { DIGEST_WAYS(DIGEST_WAY_ENUM) DIGEST_WAY_COUNT };

struct digest_way {
	int64_t calls[2], bytes[2]; /* by io_op */
	int64_t recorded[2];        /* bytes that POSIX records have, too */
	int64_t untimed[2];         /* bytes of requests whose time is not known */
	int64_t estimated;          /* bytes of requests of which the last ones stand for all */
	double span[2];             /* s from submission to completion, of all requests that are known */
};

struct digest_operation {
	char name[24];
	int64_t count;
	double time; /* s */
};

/* An interface that a program uses, or may use, and whose calls are not in the log; texts end with zeros. */
enum { DIGEST_UNRECORDED = 8 };

struct digest_unrecorded {
	char interface[16], reason[16];
	char program[256];
};

/* Calls that took no clock, those timed ones that stand for them, and those that may have waited. */
struct digest_sampled {
	int64_t calls, timed, doubtful;
	double time, doubtful_time; /* s */
};

/* Python code and shared libraries, what a program reads before its own work. */
struct digest_startup {
	int64_t opens, bytes;
	int64_t files, file_bytes; /* of Python code alone */
	double first_data;         /* s since the job's start, when a file with data is first opened; 0 = none is */
};

/* Ranks that wait in MPI-IO for one that comes late. */
struct digest_late {
	double waited; /* s, of the slowest one; 0 = none does */
	int64_t rank;  /* that comes late, to where they wait longest */
	int64_t others;
};

/* Processes that wait for locks on files. */
struct digest_locks {
	double waited; /* s, of them all that is not I/O; 0 = too little to be named */
	char file[48]; /* for which most of it is, without its path; "" where it is not known */
	bool several;  /* more than one process locks it */
};

/* HDF5 itself: its calls, less those below them on the same files; of files that MPI-IO opened it is not known. */
struct digest_hdf5 {
	double time;         /* s of the run */
	double wasted;       /* of it, in files that are read over: chunks are decoded again */
	double all;          /* s, of all processes */
	int64_t calls;       /* reads and writes of datasets */
	struct id_set ranks; /* plus 1, of processes with datasets */
	bool shared;         /* a dataset's record is of all ranks */
	double together;     /* s during which at least one of these processes ran, as a part of their run times */
};

/* A training loop (phases `loader: ...`, docs/decisions/0053-loaders.md). */
struct digest_loop {
	int64_t rank;
	double wait;         /* s, for its data */
	double checkpoints;  /* s, writing its state */
	double began, ended; /* s since the job's start: its first of both, its last */
};

struct digest {
	struct log *log;
	struct log_error damage; /* of the names: those before it are there */
	const struct log_job *job;
	bool incomplete_trace;
	double run_time;           /* s */
	struct digest_file *files; /* by time, longest first */
	size_t nfiles;
	struct digest_interface interface[WRITTEN_COUNT];
	int64_t small, accesses;               /* reads and writes of at most 10 KiB, and all, through POSIX */
	int64_t reread;                        /* bytes read beyond each file's size: how much had been read before */
	const struct digest_file *most_reread; /* NULL = none */
	struct digest_startup startup;
	/* From the trailer; absent in logs of other tools. */
	bool has_trailer;
	/* Time in I/O, union over processes and threads; of an MPI job that of the rank which is longest in I/O. */
	struct interval_union io;
	struct digest_late late;   /* not in `io`; where it is measured */
	struct digest_locks locks; /* likewise */
	double queued_part;        /* of the time in I/O, for which calls waited for a processor */
	struct digest_hdf5 hdf5;
	struct digest_loop loop, writer; /* that waits longest, that takes longest for checkpoints */
	double in_pipes; /* s of waiting for the other end of named pipes, not in `io`; where that is estimated */
	bool estimated;  /* it is not measured: of records, of what the program called itself */
	bool mpi;
	int64_t processes, folded_opens, folded_files; /* about so many */
	int64_t unfinished;                            /* processes whose end was not seen: killed, or still running */
	int64_t missing;                               /* processes and ranks without a usable store */
	int64_t by_kernel,
		totals_only; /* processes that were observed from outside, or not but for the kernel's totals */
	int64_t unobserved;  /* programs that a process became or started, out of our reach */
	bool command_lost;   /* one of them is what the command became */
	char unobserved_program[112], unobserved_reason[24]; /* of one of them; "" where it is not known */
	struct digest_unrecorded unrecorded[DIGEST_UNRECORDED];
	size_t nunrecorded;
	struct digest_sampled sampled;
	bool own_log;                                  /* the process wrote it, before its end */
	int64_t clock_jumps;                           /* how often processes found their clocks in disagreement */
	int64_t sufficient_budget;                     /* bytes, 0 = not known */
	int64_t unseen_read, unseen_written;           /* bytes */
	int64_t unexplained_read, unexplained_written; /* bytes, of them and of what storage moved */
	struct digest_way way[DIGEST_WAY_COUNT];
	struct digest_used used;
	int64_t storage_read;          /* bytes, of processes that no other one here has started; below 0: not known */
	bool has_requests;             /* of libaio and io_uring, with their times */
	int64_t unseen_unknown;        /* processes of which they are not known */
	char told[DIGEST_CLASSES][16]; /* classes of file systems that the log has words for */
	struct digest_class class[DIGEST_CLASSES];
	size_t nclasses;
	struct digest_operation operation[DIGEST_OPERATIONS];
	size_t noperations;
};

/* 0 or a negative log_code; d must be closed in either case. */
int digest_open(struct digest *d, const char *path, struct log_error *err);
void digest_close(struct digest *d);

/* It stands for files that had no room for a record of their own. */
bool digest_file_shares(const struct digest_file *f);

/* Adds what g has to f; sizes become the larger. */
void digest_add_file(struct digest_file *f, const struct digest_file *g);

double digest_file_time(const struct digest_file *f);

/* What a reader knows it by. */
static inline const char *digest_file_shown(const struct digest_file *f)
{
	return f->shown ? f->shown : f->name;
}
static inline const char *digest_file_final(const struct digest_file *f)
{
	return f->final ? f->final : f->name;
}
double digest_interface_time(const struct digest_interface *i);

/* Bytes that reading each file of this name once takes. */
int64_t digest_read_once(const struct digest_file *f);

/* How often each byte of what was read was read; 0 = nothing was read. */
double digest_file_factor(const struct digest_file *f);

/* The bytes of a module, for a digest of the trailer alone; modules that are no interface here are left out. */
void digest_set_moved(struct digest *d, int module, int64_t read, int64_t written);

/* What moved in all, and of it what is unexplained. Bytes. */
int64_t digest_moved(const struct digest *d);
int64_t digest_unexplained(const struct digest *d);

/* s that bytes of which no time is known can have taken at most, besides what page faults are estimated to. */
double digest_possible(const struct digest *d, int64_t copied, int64_t mapped);

/* Too much of it to say anything of the whole. */
bool digest_much_unexplained(const struct digest *d);

/* Interface of a way in the table of operations, and its name in reports. */
const char *digest_way_key(int way);
const char *digest_way_name(int way);

/* Time in I/O from records, as the metric headline has it; false: they do not tell. */
struct digest_estimate;
struct digest_estimate *digest_estimate_make(void);
/* A record of an interface; those of MPI-IO come first. */
int digest_estimate_add(struct digest_estimate *e, struct log_records *records, const struct log_record *r);
double digest_estimate_sum(const struct digest_estimate *e); /* with overlapping calls, which may exceed the run time */
bool digest_estimate_get(const struct digest_estimate *e, double run_time, struct interval_union *out);
/* Waiting in named pipes is none of the time in I/O, where that is estimated. */
void digest_take_pipes(struct digest *d, const struct digest_estimate *e);
/* Waiting for locks is none of it either, where that is measured and the wait is much: of the table, once `io` is known. */
/* When all sections are read. */
void digest_take_queue(struct digest *d);
void digest_read_locks(struct digest *d, struct trailer *trailer, const struct trailer_table *t);
/* Waiting for a rank that comes late is none of the time in I/O, where that is measured and the wait is much. */
void digest_take_late(struct digest *d, const struct digest_estimate *e);
/* What HDF5 itself takes, once the processes are known. */
void digest_take_hdf5(struct digest *d, const struct digest_estimate *e);
void digest_estimate_free(struct digest_estimate *e);

/* Fills what the extension trailer knows; a log without one is no error. */
int digest_read_trailer(struct digest *d, struct log_error *err);

#endif
