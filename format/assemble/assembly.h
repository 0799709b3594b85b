/* The assembly of a log while it is being made; shared by assemble.c and assembly_sections.c. */
#ifndef IOLENS_ASSEMBLY_H
#define IOLENS_ASSEMBLY_H

#include "precision.h"
#include "assemble.h"
#include "encoded_table.h"
#include "id_set.h"
#include "index.h"
#include "store_reader.h"
#include "precompressed.h"
#include "records.h"
#include "shared.h"
#include "snapshot.h"
#include "writer.h"

enum { ASSEMBLY_NOWHERE = -1, ASSEMBLY_SEVERAL = -2, ASSEMBLY_STOP = 1, ASSEMBLY_PHASES = 16 };

struct assembly_source {
	char *name;         /* of the store's file */
	const void *memory; /* read instead of it: the store of this process */
	size_t memory_size;
	struct store_reader reader; /* while it is open */
	uint64_t host;              /* number of its name and PID namespace, */
	uint64_t node;              /* and of its name alone */
	bool running;               /* or still being written, by a process that cannot be seen from here */
	bool torn;
	bool other_version;    /* of iolens made the store */
	struct log_bytes copy; /* read instead of the file, when that may change or is damaged */
	double start;
	int64_t pid, parent;
	int64_t pid_outside, parent_outside; /* in the namespace of a parent outside, or 0 */
	double end;
	/* Bytes since the process was made, by the kernel's count or else by ours; with its children's. */
	int64_t moved[4]; /* read, written; from and to storage */
	int64_t used
		[STATE_USED_COUNT]; /* likewise, without its children's; what it began with where its end is not known */
	bool unknown_use;           /* of a processor: its own, or that of a program that it started */
	bool became;                /* another program, which is the next image if that was observed */
	bool last;                  /* image of its process */
	bool launcher;              /* its program starts parallel jobs, */
	bool remote_shell;          /* or is what these start others with */
	int64_t epoch;              /* ns since 1970 */
	int64_t mpi_size, mpi_rank; /* 0, 0 = no rank */
	uint64_t world;
	bool traced;                         /* its accesses, */
	bool segments;                       /* which are to be in regions, too */
	bool communicates;                   /* by MPI, and that was counted */
	double communication;                /* s */
	double synchronization;              /* s */
	bool has_records;                    /* of files: standard streams do not count */
	uint64_t holds;                      /* bits: modules of which its store has anything, and ASSEMBLY_NAMES */
	struct traces_ahead *ahead;          /* the same of its trace */
	struct precompressed *precompressed; /* what its process has done ahead; NULL = nothing */
	int against;                         /* which of `common` */
	struct precompressed_totals totals[PRECOMPRESSED_PARTS];
	bool counted[PRECOMPRESSED_PARTS]; /* they are known */
	int around;                        /* the part whose ranks it started, ASSEMBLY_NOWHERE or ASSEMBLY_SEVERAL */
};

/* A store that cannot be read. */
struct assembly_lost {
	char name[128];
	char why[160];
};

/* A process that a signal ended, as its parent saw it. */
struct assembly_death {
	uint64_t host, node;
	int64_t pid, signal;
};

/* Rank -1: stands in the process table only, with its totals. */
struct assembly_member {
	size_t source;
	int64_t rank;
};

/* What becomes one log: an MPI_COMM_WORLD, or the processes that belong to none. */
struct assembly_part {
	bool mpi;
	uint64_t world;
	int again; /* which one of that name */
	int64_t nprocs;
	double start;
	struct assembly_member *members; /* in order of ranks */
	size_t nmembers, room;
};

enum {
	ASSEMBLY_PROCESS,
	ASSEMBLY_TOTAL,
	ASSEMBLY_EXCLUDED,
	ASSEMBLY_OPERATION,
	ASSEMBLY_MPIIO_SIZES,
	ASSEMBLY_MPIIO_COMPLETIONS,
	ASSEMBLY_LOCKS,
	ASSEMBLY_SAMPLED_TIMES,
	ASSEMBLY_ASYNC,
	ASSEMBLY_ASYNC_BATCHES,
	ASSEMBLY_COMMUNICATION,
	ASSEMBLY_TIMELINE,
	ASSEMBLY_FOLDED,
	ASSEMBLY_FOLDED_DIRECTORY,
	ASSEMBLY_UNOBSERVED,
	ASSEMBLY_UNRECORDED,
	ASSEMBLY_OBSERVERS,
	ASSEMBLY_PHASES_OF_PROGRAM,
	ASSEMBLY_PHASE_INTERFACES,
	ASSEMBLY_STEPS,
	ASSEMBLY_LINES,
	ASSEMBLY_SITES,
	ASSEMBLY_PLATFORM,
	ASSEMBLY_MOUNTED,
	ASSEMBLY_VOLUME,
	ASSEMBLY_TARGET,
	ASSEMBLY_PHASE,
	ASSEMBLY_ENVIRONMENT,
	ASSEMBLY_SECTIONS,
	ASSEMBLY_OF_RANKS = ASSEMBLY_SITES /* the first: each row is of one rank, and no other rank's changes it */
};

struct access_writer;

/* Of the ranks that communicated: sums of their seconds, and of the squares of these. */
struct assembly_communication {
	int64_t ranks;
	double time, squares;
	double synchronization, its_squares;
};

struct assembly {
	const struct assemble_job *job;
	const char *directory;
	struct assembly_source *sources;
	size_t nsources, room;
	struct text_index hosts;
	struct id_set parents;   /* process numbers that some source is a child of, on any node; empty: not known */
	struct log_bytes lost;   /* struct assembly_lost: stores left out */
	bool group_readable;     /* the settings of some process say so */
	struct log_bytes deaths; /* struct assembly_death */
	struct assembly_part *parts;
	size_t nparts, parts_room;
	size_t worlds;                    /* the first parts */
	const struct assembly_part *part; /* being written */
	struct assembly_source *source;   /* being visited */
	int64_t epoch;                    /* of that part, ns since 1970 */
	double end;                       /* of that part, s since the epoch */
	struct log_writer *writer;
	struct log_error err;
	bool job_written;
	struct log_job first; /* numbers of the first image's job */
	char command[4096];   /* of the first image: the session's command */
	int module;           /* being copied */
	struct shared shared;
	const int64_t *ranks; /* the stores of these, in order, are to be here; NULL = of all */
	size_t nranks;
	struct shared *reduced; /* by precompressed_part: made before, and written by another rank; NULL = not so */
	const struct id_set *unnamed; /* another rank writes the names of these; may be NULL */
	struct assemble_phase phase[ASSEMBLY_PHASES];
	const char *in_phase;
	double phase_began;
	struct assembly_communication communication; /* of all ranks of the part, wherever their stores are */
	bool unheaded;                               /* another place writes what describes that region */
	uint64_t united_sites;                       /* rows of that table when it was last united */
	struct id_set told;                          /* of which nodes the platform is known */
	struct id_set names;                         /* written so far */
	struct text_index programs;                  /* whose files were looked at: */
	uint8_t *linked;                             /* what is linked into each, bits */
	struct log_bytes paths;                      /* of files, each with its NUL, */
	bool any_path;                               /* or there are more than are kept, or some are not known */
	struct id_set
		common[2]; /* what the first rank to come has, and the second: no pack made against it holds that */
	struct log_bytes piece; /* of a pack, or of accesses */
	struct access_writer *accesses;
	struct trailer_section section[ASSEMBLY_SECTIONS];
	struct encoded_table encoded[ASSEMBLY_OF_RANKS];
	uint8_t record[8192] __attribute__((aligned(8)));
};

/* Sets a->parts, worlds first and in order of their start, and marks every source. */
int assembly_plan(struct assembly *a);
/* A part without members. */
int assembly_plan_nothing(struct assembly *a, int64_t nprocs);
void assembly_forget_plan(struct assembly *a);

int assembly_add_source(struct assembly *a, const char *name);
/* Reads what is to be known of every source before the plan, and leaves out those that cannot be read. */
void assembly_survey(struct assembly *a);
void assembly_forget(struct assembly *a);

enum { ASSEMBLY_NAMES = LOG_MAX_MODULES - 1 };
_Static_assert((int)LOG_MOD_COUNT <= (int)ASSEMBLY_NAMES, "a bit that is no module's");

enum assembly_who {
	ASSEMBLY_RANKS,
	ASSEMBLY_NAMED,     /* ranks whose store has names, and the first one */
	ASSEMBLY_RECORDED,  /* ranks whose store has anything of a->module */
	ASSEMBLY_ALL_STATES /* all, with i->live */
};
typedef int assembly_visit(struct assembly *a, struct store_reader *i);

/* Opens the part's images one after the other: of ranks their records, of all what lies beside. */
int assembly_each(struct assembly *a, enum assembly_who who, assembly_visit *see);

/* An error when the job's deadline is over. */
int assembly_check_time(struct assembly *a);

/* Writes the log of a->part. */
int assembly_write(struct assembly *a, const char *path);

/* Steps of that. What all ranks have of a->module, into a->shared; its records are operands still (shared_end). */
int assembly_reduce(struct assembly *a);
/* Names, records and heat maps to a->writer, rows into the sections. */
int assembly_write_regions(struct assembly *a);
/* MPI calls of every rank to their region. */
int assembly_write_communication(struct assembly *a);
/* Sets a->communication, of the stores that are here. */
void assembly_sum_communication(struct assembly *a);
/* Accesses to the region of a->module, where any are traced. */
int assembly_write_trace(struct assembly *a);
/* All interfaces' accesses, behind the modules. */
int assembly_write_accesses(struct assembly *a);
/* Whose accesses are in a module's region: enum trace_interface, -1 = it is no module of traces. */
int assembly_trace_of(int module);
/* Of a->first and a->command; the mounts are `job`'s. */
int assembly_write_job(struct assembly *a, const struct log_job *job);

/* What follows is another step of the work: its time goes into the trailer. */
void assembly_clock(struct assembly *a, const char *phase);

/* True when the image has a record of a file; a negative code if it cannot be read. */
int assembly_has_files(struct store_reader *i, struct log_error *err);

/* Is it in the pack of the source that is visited? */
bool assembly_is_precompressed(const struct assembly *a, uint64_t id);

/* Path of a source's file. */
void assembly_name_file(const struct assembly *a, const struct assembly_source *s, char *path, size_t room);

/*
 * Bytes that the image's records and classes account for, by io_op, as the kernel counts in rchar and wchar: without
 * what sockets' own calls and splice moved.
 */
int assembly_seen(struct assembly_source *s, struct store_reader *i, int64_t seen[2], struct log_error *err);

/* Seconds, on the grid of durations. */
static inline int assembly_set_duration(struct trailer_section *s, const char *field, double seconds)
{
	return section_set_f64(s, field, 0, precise_duration(seconds));
}

/* Asynchronous requests and their batches. */
int assembly_add_async(struct assembly *a, struct store_reader *i);
int assembly_add_sampled_times(struct assembly *a, struct store_reader *i);
/* What the image's process moved in ways that have no record, and what is left unexplained; into the tables. */
int assembly_add_moved(struct assembly *a, struct store_reader *i, const int64_t seen[2]);
/* Its fields of the table of processes. */
void assembly_set_kernel(struct assembly *a, struct store_reader *i, const int64_t seen[2]);

int assembly_sections_begin(struct assembly *a);
int assembly_sections_add(struct assembly *a, struct store_reader *i);
/* How the source's process ended, for the table; its exit code and the signal that ended it, 0 = none known. */
struct assembly_end {
	const char *how;
	int64_t signal, exit_code;
};

struct assembly_end assembly_end_of(const struct assembly *a, const struct state_process *p);

/* Rows for what left no readable store: damaged ones, and ranks that nothing is known of. */
int assembly_add_missing(struct assembly *a);

/* What the process named while it ran. */
int assembly_add_phases(struct assembly *a, struct store_reader *i);

/* Where the process opened its files; and, when all is added, the table as the log has it. */
int assembly_add_sites(struct assembly *a, struct store_reader *i);
int assembly_end_sites(struct assembly *a);
/* Rows of one site become one where there are more than so many since it was last done, and more than there were. */
int assembly_unite_sites(struct assembly *a, uint64_t added);
/* The version (0x030b0700 = 3.11.7) of the process's Python, if its lines could not be read; 0 = they could, or it has none. */
uint32_t assembly_python_refused(const struct store_reader *i);

/* What the process tells of its node, if it does; then what files next to the stores say, and what holds for all nodes. */
int assembly_add_platform(struct assembly *a, struct store_reader *i);
int assembly_end_platform(struct assembly *a);

/* A file's name. Then, when targets are added, too: mounts of a node on which no file is go. */
int assembly_note_path(struct assembly *a, const char *path);
int assembly_drop_mounts(struct assembly *a);

/* Lustre's volumes and targets, as this node sees those that are in the table of mounts. */
int assembly_add_targets(struct assembly *a);
/* Of two rows of a volume or a target, which two nodes have described, the first stays. Does nothing to other tables. */
int assembly_unite_targets(struct trailer_section *s, int table);

uint64_t assembly_hash_field(const struct trailer_section *s, uint64_t row, const struct trailer_field *f,
			     uint64_t seed);
void assembly_drop_rows(struct trailer_section *s, const bool *dropped);

int assembly_add_unobserved(struct assembly *a, struct store_reader *i);
/* Interfaces that the process used, or may have used, and whose calls are not recorded. */
int assembly_add_unrecorded(struct assembly *a, struct store_reader *i);
int assembly_add_folded(struct assembly *a, struct store_reader *i);
int assembly_add_observer(struct assembly *a, struct store_reader *i);

int assembly_sections_write(struct assembly *a);
/* The last step of that: with what is said of the log as a whole. */
int assembly_sections_end(struct assembly *a, int64_t lost);

void assembly_free(struct assembly *a);

#endif
