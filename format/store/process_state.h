/*
 * What a running process keeps in its store beside the Darshan records: the process itself, and one
 * shard per thread for everything that all files share. Plain memory written by the runtime and read
 * by the assembly of the job's log; `version` and `size` guard against a mixture of releases.
 */
#ifndef IOLENS_PROCESS_STATE_H
#define IOLENS_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "overflow.h"
#include "phase_state.h"
#include "platform.h"
#include "trace_chunk.h"
#include "written.h"

enum {
	STATE_VERSION = 33,
	STATE_SHARDS = 64,
	STATE_SEGMENTS = 128,
	STATE_BINS = 200,
	STATE_SIZES = 10,
	STATE_LATENCIES = 6,
	STATE_BATCHES = 5,
	STATE_MESSAGES = 6,
	STATE_DEATHS = 64,
	STATE_UNOBSERVED = 16,
	STATE_LOCKED = 64,
	STATE_RUNS = 8,
	STATE_GAP = 8192
};

/* What is counted by class only: identifier, name in reports, what it is. */
#define STATE_CLASSES(X)                                                                   \
	X(PIPE, "pipe", "pipes and FIFOs")                                                 \
	X(SOCKET, "socket", "sockets")                                                     \
	X(SOCKET_UNIX, "socket_unix", "sockets between processes of a node")               \
	X(SOCKET_LOOPBACK, "socket_loopback", "connections of a node with itself")         \
	X(SOCKET_PRIVATE, "socket_private", "connections to private addresses")            \
	X(SOCKET_PUBLIC, "socket_public", "connections to public addresses")               \
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
	X(NO_ROOM, "no_room", "files for which the directory of the stores had no room")   \
	X(TABLE_BUSY, "table_busy", "files opened while a thread held the names table")    \
	X(NAMELESS, "nameless", "files whose path is too long, or not to be found")        \
	X(MPI, "mpi", "files that the MPI opened while it started or ended")

/* Ways of an MPI-IO access: identifier, name. */
#define ACCESS_MODES(X)               \
	X(INDEPENDENT, "independent") \
	X(COLLECTIVE, "collective")   \
	X(SPLIT, "split")             \
	X(NONBLOCKING, "nonblocking")

/* Interfaces whose requests are submitted and complete later: identifier, name. */
#define STATE_ASYNCS(X)           \
	X(POSIX_AIO, "posix_aio") \
	X(LIBAIO, "libaio")       \
	X(IO_URING, "io_uring")

#define STATE_ENUM(name, ...)       STATE_##name,
#define STATE_CLASS_ENUM(name, ...) STATE_CLASS_##name,
#define ACCESS_MODE_ENUM(name, ...) ACCESS_MODE_##name,
#define STATE_ASYNC_ENUM(name, ...) STATE_ASYNC_##name,

enum state_class_id { STATE_CLASS_NONE, STATE_CLASSES(STATE_CLASS_ENUM) STATE_CLASS_COUNT };
enum access_mode { ACCESS_MODES(ACCESS_MODE_ENUM) ACCESS_MODE_COUNT };
enum state_async_id { STATE_ASYNCS(STATE_ASYNC_ENUM) STATE_ASYNC_COUNT };

enum io_op { IO_READ, IO_WRITE, IO_META, IO_OPS };

/* Bytes per time bin; bin i covers [i, i+1) * width seconds. */
struct state_heat {
	double width;                 /* s; 0 = never used */
	int64_t bytes[2][STATE_BINS]; /* by io_op */
};

struct state_class {
	int64_t opens;
	int64_t calls[2];
	int64_t bytes[2];
};

struct state_operation {
	int64_t count;
	int64_t errors;
	int64_t bytes;
	double time;
};

/* MPI-IO accesses by size class. */
struct state_sizes {
	int64_t count[STATE_SIZES];
	int64_t bytes[STATE_SIZES];
};

/* Accesses in two halves, counted at the second: split collective ones, and non-blocking ones seen to complete. */
struct state_completion {
	int64_t count;
	int64_t errors;
	int64_t bytes;
	double wait; /* s in the calls that completed them */
	double span; /* s from the first half to the end of the second */
};

/* Asynchronous requests of one direction. */
struct state_requests {
	int64_t count;
	int64_t errors;
	int64_t bytes;
	int64_t recorded;  /* bytes that stand in records of files */
	int64_t untimed;   /* bytes of those whose time is not known */
	int64_t estimated; /* bytes of those of which a ring tells the number alone: the last ones stand for all */
	int64_t fixed_files;
	int64_t fixed_buffers;
	double wait; /* s in the calls that submitted them and that learned of their results */
	double span; /* s from submission until the program could know the result */
	double longest;
	int64_t latency[STATE_LATENCIES]; /* below 10 us, 100 us, 1 ms, 10 ms, 100 ms, and slower */
};

/* Calls that submitted requests, by how many. */
struct state_batches {
	int64_t calls;
	int64_t requests;
	int64_t largest;
	int64_t size[STATE_BATCHES]; /* 1, up to 4, 16, 64, and more */
};

/* A stretch of time with I/O in it: busy seconds by kind, which never exceed end - start. */
struct state_segment {
	double start;
	double end;
	double busy[IO_OPS];
};

struct state_timeline {
	uint32_t used;
	uint32_t compressed; /* how often neighbours were joined to make room */
	double gap;          /* operations closer than this share a segment */
	double busy[IO_OPS]; /* s, of all segments */
	struct state_segment segment[STATE_SEGMENTS];
};

/*
 * Accesses of one thread and one kind to a file that are alike and not in its record yet. So threads that use one file do not
 * write the same lines of memory at each call. The thread adds them to the record every 8 to 23 calls, the reader of a store
 * what is left (runs.h).
 */
struct state_run {
	uint64_t file; /* id of the record */
	uint64_t of;   /* the process's own */
	int64_t count;
	int64_t bytes; /* of each */
	int64_t step;  /* from the last byte of one to the first byte of the next */
	int64_t end;   /* last byte of the latest */
	int64_t mem_not_aligned, file_not_aligned;
};

/*
 * The run that the thread is adding to the record, and what the record's counters are afterwards: a thread that its process's end
 * stops half-way has lost nothing.
 */
struct state_settling {
	uint64_t run; /* 1 + op * STATE_RUNS + its place there; 0 = none */
	int64_t calls, bytes, size, seq, consec, mem_not_aligned, file_not_aligned, largest;
	int64_t access, stride; /* the counts of these values; 0 = the record does not show them */
};

struct state_shard {
	uint64_t owned; /* by a thread, of 0 or 1 */
	struct state_class class[STATE_CLASS_COUNT];
	struct state_operation operation[STATE_OP_COUNT];
	struct state_sizes sizes[ACCESS_MODE_COUNT][2];           /* by io_op */
	struct state_completion completion[ACCESS_MODE_COUNT][2]; /* by io_op; only for the ways that have two halves */
	struct state_timeline timeline;
	struct state_heat heat[STATE_HEAT_COUNT];
	struct state_requests requests[STATE_ASYNC_COUNT][2]; /* by io_op */
	struct state_batches batches[STATE_ASYNC_COUNT];
	struct state_calls calls[WRITTEN_COUNT]; /* of interfaces that phases tell apart */
	struct state_phase_of_thread phase;
	struct state_run run[IO_OPS][STATE_RUNS] __attribute__((aligned(64))); /* by descriptor */
	struct state_settling settling;
} __attribute__((aligned(64)));

/* MPI calls of one kind. */
struct state_call {
	int64_t count;
	int64_t bytes;
	int64_t size[STATE_MESSAGES];   /* calls of up to 256 bytes, 1 KiB, 8 KiB, 256 KiB, 1 MiB, and of more */
	double time, shortest, longest; /* s */
	double synchronized;            /* s in barriers that were put before it */
};

/* The communication of the thread that has the shard of the same number; in a region of its own, which few stores have. */
struct state_communication {
	uint64_t no_chunk; /* 0: what looks for chunks of a trace finds none here */
	double ended;      /* s: the last call */
	struct state_call call[STATE_CALL_COUNT];
} __attribute__((aligned(64)));

#define COMMUNICATION_SECTION "communication" /* of the store's trailer */

enum { STATE_COMMUNICATION_BYTES = (STATE_SHARDS * sizeof(struct state_communication) + 4095) / 4096 * 4096 };

/*
 * Where the program opened its files: a region of the store with an entry for each record that an open was counted in, and one
 * for each piece of code that did it, written when it first does. So neither an end without warning nor dlclose takes anything
 * away. The region begins with zeros (SITE_HEAD): what looks for chunks of a trace finds none there.
 */
#define SITES_SECTION "sites" /* of the store's trailer */

enum { SITE_HEAD = 16, SITE_ID = 64, SITE_PAGE = 4096 };

/* Its bytes, from those of a module's region: smallest records take 16 times as much. Behind it the lines of Python code. */
enum { SITE_LINES = 512 << 10 };
#define SITE_ROOM(records) ((records) / 16 / SITE_PAGE * SITE_PAGE + SITE_LINES)

struct state_site {
	uint64_t file; /* id of the record; 0: this is a struct state_code */
	uint64_t
		at; /* from below: 40 bits offset in the code, 16 its number from 1 on (0 = unknown), 8 the record's slot */
};

/* The program or a library. Behind it: its build id, and its path with a NUL ("" = the program). */
struct state_code {
	uint64_t none; /* 0 */
	uint32_t size; /* of all, a multiple of 16 */
	uint32_t id;   /* bytes of the build id */
};

/*
 * Four more, told apart by their `id`, whose low 16 bits are the number by which others refer to it: a Python function (behind the
 * head its source's path and its name, each with a NUL), the lines of Python code that a call came from, an interpreter whose
 * lines cannot be read, and a sum of calls.
 */
enum { SITE_FUNCTION = 1 << 16, SITE_STACK = 1 << 17, SITE_PYTHON = 1 << 18, SITE_SUM = 1 << 19 };

/* In the number of a site's code: it is that of a stack. */
enum { SITE_STACKED = 0x8000, SITE_FRAMES = 8 };

#define SITE_KIND(id)   ((id) & ~UINT32_C(0xffff))
#define SITE_NUMBER(id) ((id)&0xffff)

struct state_line {
	uint32_t function; /* its number */
	uint32_t line;     /* 0 = none */
};

struct state_stack {
	struct state_code head;
	uint64_t code; /* number of the code that made the call; 0 = unknown */
	uint64_t n;
	struct state_line line[SITE_FRAMES]; /* innermost first */
};

struct state_python {
	struct state_code head;
	uint64_t version; /* 0x030b0700 = 3.11.7 */
	uint64_t none;
};

/* Calls of one kind to a file that came from one stack. Those that took no clock stand in it only as far as others stand for them. */
struct state_line_sum {
	struct state_code head;
	uint64_t file; /* id of the record; 0: files that had no room for sums of their own */
	uint64_t
		at; /* as of a site: the record's slot, the number of the stack; in place of an offset the enum io_op */
	int64_t calls, bytes;
	int64_t time; /* ns */
	uint64_t none;
};

#define SITE_UNKNOWN(slot)          ((uint64_t)(slot) << 56)
#define SITE_AT(slot, code, offset) (SITE_UNKNOWN(slot) | (uint64_t)(code) << 40 | (uint64_t)(offset))
#define SITE_MOST_OFFSET            ((UINT64_C(1) << 40) - 1)
#define SITE_SLOT(at)               ((at) >> 56)
#define SITE_CODE(at)               ((at) >> 40 & 0xffff)
#define SITE_OFFSET(at)             ((at)&SITE_MOST_OFFSET)

enum state_end {
	STATE_END_NONE, /* still running, or killed */
	STATE_END_EXIT,
	STATE_END_QUICK,
	STATE_END_EXEC,
	STATE_END_FINALIZE,
	STATE_END_ABORT,
	STATE_END_LOGGED /* finalize, and this rank has written the log of its job: the stores of all are left over */
};

/* /proc/self/io: rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes. */
enum {
	STATE_IO_READ,
	STATE_IO_WRITTEN,
	STATE_IO_READS,
	STATE_IO_WRITES,
	STATE_IO_STORAGE_READ,
	STATE_IO_STORAGE_WRITTEN,
	STATE_IO_CANCELLED,
	STATE_IO_COUNT
};

/*
 * By getrusage: processor time in us, faults whose page came from storage, how often a thread waited. By schedstat, at the end of
 * a process that was not short: us for which threads could have run, and waited for a processor; below 0: threads that had ended
 * without a word (they had recorded nothing) ran longer.
 */
enum { STATE_USED_USER, STATE_USED_SYSTEM, STATE_USED_DELAY, STATE_USED_FAULTS, STATE_USED_WAITS, STATE_USED_COUNT };

/*
 * A child that a signal ended, as its parent's wait saw it: what the child itself could not write down.
 * Entries are taken by counting `deaths` up; beyond STATE_DEATHS they are only counted.
 */
struct state_death {
	int64_t pid;
	int64_t signal; /* 0 = the entry is not filled (yet) */
};

/* A program that was started where we could not follow. */
enum untraced_reason {
	UNTRACED_NONE,
	UNTRACED_STATIC,      /* without the dynamic loader */
	UNTRACED_SETUID,      /* the loader ignores LD_PRELOAD */
	UNTRACED_ENVIRONMENT, /* LD_PRELOAD or the session taken out of the environment */
	UNTRACED_MACHINE,     /* for another machine or word size */
	UNTRACED_STORE,       /* has left no store: no way to the library or to the session, or no room */
	UNTRACED_LIBC,        /* of another C library: its loader would end it over ours */
	UNTRACED_FILTER,      /* the program that starts it has set a filter of system calls that would end it */
	UNTRACED_COUNT
};

/* Who has counted what is in the store. */
enum state_observer {
	STATE_BY_ITSELF, /* the program: the library was preloaded, or linked in */
	STATE_BY_KERNEL, /* system calls, by iolens-kernel */
	STATE_BY_TOTALS, /* not observed: only the kernel's totals of the process are known */
	STATE_BY_COUNT
};

enum { STATE_UNOBSERVED_TEXT = 112 };

struct state_unobserved {
	int64_t count;
	int64_t reason; /* enum untraced_reason */
	char program[STATE_UNOBSERVED_TEXT];
};

/* Advisory locks of a file: fcntl's of both kinds, flock and lockf. */
struct state_locks {
	uint64_t file;  /* id of its record; 0: of all files for which there was no room */
	int64_t shared; /* taken */
	int64_t exclusive;
	int64_t released;
	int64_t refused; /* for a lock that is held */
	double wait;     /* s in calls that took one, or were refused it */
	double longest;
};

struct state_process {
	int64_t pid;
	int64_t parent;
	int64_t started; /* ns since 1970 */
	int64_t ended;   /* ns since 1970, 0 = unknown */
	double start;    /* s since the job's start */
	double end;
	int64_t end_reason;
	int64_t exit_code;
	int64_t forked; /* image made by fork (its parent's program), not by exec */
	int64_t kernel_at_start[STATE_IO_COUNT];
	int64_t kernel_at_end[STATE_IO_COUNT]; /* all 0 = unknown */
	int64_t used_at_start[STATE_USED_COUNT];
	int64_t used_at_end[STATE_USED_COUNT]; /* all 0 = unknown */
	int64_t asked_threads; /* whose wait for a processor is in it, 1 = idle ones do not count, 0 = not asked */
	int64_t own_moved[2];  /* bytes read and written by ourselves, which both leave out */
	int64_t waited[STATE_IO_COUNT]; /* what waiting for children added to the kernel's count */
	int64_t budget;                 /* bytes */
	double init_time;               /* s spent in iolens at start */
	int64_t mpi_size;               /* of MPI_COMM_WORLD; 0 = no rank of an MPI job */
	int64_t mpi_rank;
	uint64_t mpi_world;     /* the same for all ranks of one MPI_COMM_WORLD */
	double mpi_start;       /* s: MPI_Init returned */
	double mpi_end;         /* s: MPI_Finalize was called; 0 = not (yet) */
	int64_t pid_namespace;  /* in which pid and parent count; 0 = unknown */
	int64_t pid_outside;    /* where its parent is, in another one; 0 = the same, or unknown */
	int64_t parent_outside; /* its parent's there */
	int64_t group_readable; /* the log's mode shall be 0440 */
	int64_t lost_children;  /* forked, and could make no store */
	int64_t observer;       /* enum state_observer */
	int64_t own_rings;      /* of io_uring, driven by instructions of the program's: counted at their end */
	char mpi[16];           /* the backend; "" = none fits this MPI */
	char host[64];
	char exe[512];
	char directory[512];
	char becomes[STATE_UNOBSERVED_TEXT]; /* the program of the last exec; "" = unknown */
};

/* What is known of the trace besides its chunks. */
struct state_trace {
	uint64_t used;                /* bytes of chunks */
	int64_t dropped[TRACE_COUNT]; /* accesses for which there was no room; 0 = all are there */
	int64_t compact;              /* the log shall have no regions of segments */
	double small, unaligned;      /* shares of a file's accesses below which its trace stays out of the log */
};

/* What few processes have: pages that exist only where the bit in `has` is set, apart from all others. */
enum state_optional_part { STATE_HAS_PLATFORM = 1, STATE_HAS_PHASES = 2, STATE_HAS_FOLDED = 4 };

struct state_optional {
	char before[STATE_GAP];
	char platform[PLATFORM_TEXT]; /* of this process's node */
	char between[STATE_GAP];
	struct state_phases phases;
	char after[STATE_GAP];
	struct overflow_directory folded[OVERFLOW_DIRECTORIES]; /* as far as they are in use */
	char behind[STATE_GAP];
};

struct process_state {
	uint64_t version;
	uint64_t size;
	uint64_t shards; /* the first ones, that were ever handed out */
	uint64_t has;    /* of `optional`: bits of state_optional_part */
	struct state_process process;
	struct overflow overflow;
	struct state_trace trace;
	uint64_t communicating; /* struct state_communication that were ever handed out */
	uint64_t sites;         /* bytes of that region (SITES_SECTION) */
	uint64_t sites_lost;    /* not 0: some had no room in it */
	int64_t deaths;
	struct state_death death[STATE_DEATHS];
	struct state_unobserved unobserved[STATE_UNOBSERVED];
	int64_t locked; /* rows of files of their own; the last row is all others' */
	struct state_locks locks[STATE_LOCKED];
	struct state_optional optional;
	struct state_shard shard[STATE_SHARDS];
};

/*
 * A count that stands in the store, as an index into `most` rows: whatever writes there, and however threads meet, nothing is
 * touched beyond.
 */
static inline int64_t state_rows(int64_t n, int64_t most)
{
	return n < 0 ? 0 : n > most ? most : n;
}

/*
 * Adds operations of one kind, `busy` seconds long together, that lie in [start, end]; operations of one thread arrive in order
 * of time.
 */
void state_timeline_spread(struct state_timeline *t, enum io_op op, double start, double end, double busy);

/* The same for one operation; most come behind the last one, and close to it. */
static inline void state_timeline_add(struct state_timeline *t, enum io_op op, double start, double end)
{
	struct state_segment *s = &t->segment[(t->used - 1) % STATE_SEGMENTS];
	bool close = t->used && start >= s->end && start - s->end <= t->gap && end >= start;
	if (__builtin_expect(!close, 0)) {
		state_timeline_spread(t, op, start, end, end - start);
		return;
	}
	s->busy[op] += end - start;
	t->busy[op] += end - start;
	s->end = end;
}

/*
 * `times` requests alike of `bytes` each, or failed (below 0); `after` seconds from submission until their results were
 * known, below 0: it is not known.
 */
void state_requests_add(struct state_requests *n, int64_t times, int64_t bytes, double after);

/* What a thread has done so far. */
void state_phase_now(const struct state_shard *s, struct state_phase_io *now);

/* Joins neighbouring bins pairwise until the map covers `until` seconds. */
void state_heat_cover(struct state_heat *h, double until);

/* The bin that a moment falls into: one before the map's start into the first, one beyond its end into the last. */
int state_heat_bin(const struct state_heat *h, double t);

/* Spreads `bytes` over the bins that [start, end] overlaps, in proportion to time. */
void state_heat_add(struct state_heat *h, enum io_op op, int64_t bytes, double start, double end);

#endif
