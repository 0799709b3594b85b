/*
 * What a running process keeps in its store beside the Darshan records: the process itself, and one
 * shard per thread for everything that all files share. Plain memory written by the runtime and read
 * by the assembly of the job's log; `version` and `size` guard against a mixture of releases.
 */
#ifndef IOLENS_LIVE_H
#define IOLENS_LIVE_H

#include <stdint.h>

#include "fold.h"

enum {
	LIVE_VERSION = 8,
	LIVE_SHARDS = 64,
	LIVE_SEGMENTS = 128,
	LIVE_BINS = 200,
	LIVE_SIZES = 10,
	LIVE_DEATHS = 64,
	LIVE_UNOBSERVED = 16
};

/* Interfaces that have a heat map: identifier, name in the log, module id in the log. */
#define LIVE_HEATS(X)                \
	X(POSIX, "heatmap:POSIX", 1) \
	X(STDIO, "heatmap:STDIO", 9) \
	X(MPIIO, "heatmap:MPIIO", 2)

/* What is counted by class only: identifier, name in reports, what it is. */
#define LIVE_CLASSES(X)                                                                    \
	X(PIPE, "pipe", "pipes and FIFOs")                                                 \
	X(SOCKET, "socket", "sockets")                                                     \
	X(TERMINAL, "terminal", "terminals")                                               \
	X(SPECIAL, "special", "other descriptors that are no files: event, timer, memory") \
	X(LIBRARY, "library", "shared libraries (.so) below an excluded directory")        \
	X(PYTHON, "python", "Python sources and byte code below an excluded directory")    \
	X(PROGRAM, "program", "other files below /usr /bin /sbin /lib /opt /boot")         \
	X(CONFIG, "config", "files below /etc")                                            \
	X(DEVICE, "device", "devices and files below /dev")                                \
	X(KERNEL, "kernel", "files below /proc and /sys")                                  \
	X(STATE, "state", "files below /var")                                              \
	X(FILTERED, "filtered", "files that a filter setting excludes")                    \
	X(NO_ROOM, "no_room", "files for which the directory of the stores had no room")

/* Operations without a Darshan counter: identifier, interface, name. */
#define LIVE_OPERATIONS(X)                             \
	X(OPEN, "posix", "open")                       \
	X(CLOSE, "posix", "close")                     \
	X(STAT, "posix", "stat")                       \
	X(SEEK, "posix", "seek")                       \
	X(DUP, "posix", "dup")                         \
	X(SYNC, "posix", "sync")                       \
	X(FSYNC, "posix", "fsync")                     \
	X(UNLINK, "posix", "unlink")                   \
	X(RENAME, "posix", "rename")                   \
	X(LINK, "posix", "link")                       \
	X(SYMLINK, "posix", "symlink")                 \
	X(READLINK, "posix", "readlink")               \
	X(MKDIR, "posix", "mkdir")                     \
	X(RMDIR, "posix", "rmdir")                     \
	X(OPENDIR, "posix", "opendir")                 \
	X(READDIR, "posix", "readdir")                 \
	X(ACCESS, "posix", "access")                   \
	X(CHMOD, "posix", "chmod")                     \
	X(CHOWN, "posix", "chown")                     \
	X(UTIME, "posix", "utime")                     \
	X(TRUNCATE, "posix", "truncate")               \
	X(FALLOCATE, "posix", "fallocate")             \
	X(FLOCK, "posix", "flock")                     \
	X(READAHEAD, "posix", "readahead")             \
	X(SENDFILE, "posix", "sendfile")               \
	X(SPLICE, "posix", "splice")                   \
	X(TEE, "posix", "tee")                         \
	X(COPY_FILE_RANGE, "posix", "copy_file_range") \
	X(MMAP, "posix", "mmap")                       \
	X(MSYNC, "posix", "msync")                     \
	X(AIO_SUBMIT, "posix", "aio_submit")           \
	X(STDIO_OPEN, "stdio", "open")                 \
	X(STDIO_CLOSE, "stdio", "close")               \
	X(STDIO_SEEK, "stdio", "seek")                 \
	X(STDIO_FLUSH, "stdio", "flush")               \
	X(MPIIO_OPEN, "mpiio", "open")                 \
	X(MPIIO_CLOSE, "mpiio", "close")               \
	X(MPIIO_SYNC, "mpiio", "sync")                 \
	X(MPIIO_SET_VIEW, "mpiio", "set_view")         \
	X(MPIIO_SET_SIZE, "mpiio", "set_size")         \
	X(MPIIO_PREALLOCATE, "mpiio", "preallocate")   \
	X(MPIIO_SEEK, "mpiio", "seek")                 \
	X(MPIIO_SEEK_SHARED, "mpiio", "seek_shared")   \
	X(MPIIO_DELETE, "mpiio", "delete")             \
	X(IO_SUBMIT, "unseen", "io_submit")            \
	X(IO_URING, "unseen", "io_uring_setup")        \
	X(IO_URING_ENTER, "unseen", "io_uring_enter")  \
	X(RAW_READ, "unseen", "raw_read")              \
	X(RAW_WRITE, "unseen", "raw_write")            \
	X(RAW_OPEN, "unseen", "raw_open")              \
	X(NESTED, "iolens", "nested") /* calls from signal handlers inside a record call: not in a record */

/* Ways of an MPI-IO access: identifier, name. */
#define LIVE_WAYS(X)                  \
	X(INDEPENDENT, "independent") \
	X(COLLECTIVE, "collective")   \
	X(SPLIT, "split")             \
	X(NONBLOCKING, "nonblocking")

#define LIVE_ENUM(name, ...)       LIVE_##name,
#define LIVE_HEAT_ENUM(name, ...)  LIVE_HEAT_##name,
#define LIVE_CLASS_ENUM(name, ...) LIVE_CLASS_##name,
#define LIVE_OP_ENUM(name, ...)    LIVE_OP_##name,
#define LIVE_WAY_ENUM(name, ...)   LIVE_WAY_##name,

enum live_heat_id { LIVE_HEATS(LIVE_HEAT_ENUM) LIVE_HEAT_COUNT };
enum live_class_id { LIVE_CLASS_NONE, LIVE_CLASSES(LIVE_CLASS_ENUM) LIVE_CLASS_COUNT };
enum live_operation_id { LIVE_OPERATIONS(LIVE_OP_ENUM) LIVE_OP_COUNT };
enum live_way { LIVE_WAYS(LIVE_WAY_ENUM) LIVE_WAY_COUNT };

enum live_kind { LIVE_READ, LIVE_WRITE, LIVE_META, LIVE_KINDS };

/* Bytes per time bin; bin i covers [i, i+1) * width seconds. */
struct live_heat {
	double width;                /* s; 0 = never used */
	int64_t bytes[2][LIVE_BINS]; /* by live_kind */
};

struct live_class {
	int64_t opens;
	int64_t calls[2];
	int64_t bytes[2];
};

struct live_operation {
	int64_t count;
	int64_t errors;
	int64_t bytes;
	double time;
};

/* MPI-IO accesses by size class. */
struct live_sizes {
	int64_t count[LIVE_SIZES];
	int64_t bytes[LIVE_SIZES];
};

/* Accesses in two halves, counted at the second: split collective ones, and non-blocking ones seen to complete. */
struct live_completion {
	int64_t count;
	int64_t errors;
	int64_t bytes;
	double wait; /* s in the calls that completed them */
	double span; /* s from the first half to the end of the second */
};

/* A stretch of time with I/O in it: busy seconds by kind, which never exceed end - start. */
struct live_segment {
	double start;
	double end;
	double busy[LIVE_KINDS];
};

struct live_timeline {
	uint32_t used;
	uint32_t compressed; /* how often neighbours were joined to make room */
	double gap;          /* operations closer than this share a segment */
	struct live_segment segment[LIVE_SEGMENTS];
};

struct live_shard {
	uint32_t owned;
	uint32_t lock; /* taken only in the last shard, which late threads share */
	struct live_class class[LIVE_CLASS_COUNT];
	struct live_operation operation[LIVE_OP_COUNT];
	struct live_sizes sizes[LIVE_WAY_COUNT][2];           /* by live_kind */
	struct live_completion completion[LIVE_WAY_COUNT][2]; /* by live_kind; only for the ways that have two halves */
	struct live_timeline timeline;
	struct live_heat heat[LIVE_HEAT_COUNT];
} __attribute__((aligned(64)));

enum live_end {
	LIVE_END_NONE, /* still running, or killed */
	LIVE_END_EXIT,
	LIVE_END_QUICK,
	LIVE_END_EXEC,
	LIVE_END_FINALIZE,
	LIVE_END_ABORT,
	LIVE_END_LOGGED /* finalize, and this rank has written the log of its job: the stores of all are left over */
};

/* /proc/self/io: rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes. */
enum {
	LIVE_IO_READ,
	LIVE_IO_WRITTEN,
	LIVE_IO_READS,
	LIVE_IO_WRITES,
	LIVE_IO_STORAGE_READ,
	LIVE_IO_STORAGE_WRITTEN,
	LIVE_IO_CANCELLED,
	LIVE_IO_COUNT
};

/*
 * A child that a signal ended, as its parent's wait saw it: what the child itself could not write down.
 * Entries are taken by counting `deaths` up; beyond LIVE_DEATHS they are only counted.
 */
struct live_death {
	int64_t pid;
	int64_t signal; /* 0 = the entry is not filled (yet) */
};

/* A program that was started where we could not follow. */
enum live_blind {
	LIVE_BLIND_NONE,
	LIVE_BLIND_STATIC,      /* without the dynamic loader */
	LIVE_BLIND_SETUID,      /* the loader ignores LD_PRELOAD */
	LIVE_BLIND_ENVIRONMENT, /* LD_PRELOAD or the session taken out of the environment */
	LIVE_BLIND_MACHINE,     /* for another machine or word size */
	LIVE_BLIND_COUNT
};

enum { LIVE_UNOBSERVED_TEXT = 112 };

struct live_unobserved {
	int64_t count;
	int64_t reason; /* enum live_blind */
	char program[LIVE_UNOBSERVED_TEXT];
};

struct live_process {
	int64_t pid;
	int64_t parent;
	int64_t started; /* ns since 1970 */
	int64_t ended;   /* ns since 1970, 0 = unknown */
	double start;    /* s since the job's start */
	double end;
	int64_t end_reason;
	int64_t exit_code;
	int64_t forked; /* image made by fork (its parent's program), not by exec */
	int64_t kernel_at_start[LIVE_IO_COUNT];
	int64_t kernel_at_end[LIVE_IO_COUNT]; /* all 0 = unknown */
	int64_t own_read;                     /* bytes read by ourselves, which kernel_at_end leaves out */
	int64_t budget;                       /* bytes */
	double init_time;                     /* s spent in iolens at start */
	int64_t mpi_size;                     /* of MPI_COMM_WORLD; 0 = no rank of an MPI job */
	int64_t mpi_rank;
	uint64_t mpi_world;     /* the same for all ranks of one MPI_COMM_WORLD */
	double mpi_start;       /* s: MPI_Init returned */
	double mpi_end;         /* s: MPI_Finalize was called; 0 = not (yet) */
	int64_t group_readable; /* the log's mode shall be 0440 */
	char mpi[16];           /* the backend; "" = none fits this MPI */
	char host[64];
	char exe[512];
	char directory[512];
};

struct live {
	uint64_t version;
	uint64_t size;
	uint64_t shards; /* the first ones, that were ever handed out */
	struct live_process process;
	struct live_fold fold;
	int64_t deaths;
	struct live_death death[LIVE_DEATHS];
	struct live_unobserved unobserved[LIVE_UNOBSERVED];
	struct live_shard shard[LIVE_SHARDS];
};

/* Adds the operation [start, end] of one kind; operations of one thread arrive in order of time. */
void live_timeline_add(struct live_timeline *t, enum live_kind kind, double start, double end);

/* Joins neighbouring bins pairwise until the map covers `until` seconds. */
void live_heat_cover(struct live_heat *h, double until);

/* Spreads `bytes` over the bins that [start, end] overlaps, in proportion to time. */
void live_heat_add(struct live_heat *h, enum live_kind kind, int64_t bytes, double start, double end);

#endif
