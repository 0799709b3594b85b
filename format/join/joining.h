/* A join while it is under way; shared by join*.c. */
#ifndef IOLENS_JOINING_H
#define IOLENS_JOINING_H

#include "assembly.h"
#include "container.h"
#include "join.h"
#include "name_owners.h"

enum { JOIN_MODULES = PRECOMPRESSED_PARTS, JOIN_WHY = 160 };
#define JOIN_NOBODY INT64_MAX

/* Every message begins with it. */
struct join_head {
	char magic[8];
	uint64_t size; /* of all of it */
};

/* What is known of the stores. Behind it: ids of the files that all ranks have, by precompressed_part, and owners of names. */
struct join_survey {
	struct join_head head;
	int64_t stores, lost;
	int64_t failed;
	char why[JOIN_WHY];
	int64_t epoch;  /* earliest, ns since 1970; 0 = none */
	double end;     /* latest, s */
	int64_t job;    /* first place that knows the job's data, JOIN_NOBODY = none does; */
	int64_t mounts; /* the mount points */
	int64_t group_readable;
	struct assembly_communication communication;
	uint64_t ids[JOIN_MODULES], owners;
};

/* Behind it, as above: ids of the files that all ranks of the job have, and owners of the names that several places have. */
struct join_decision {
	struct join_head head;
	int64_t epoch;
	double end;
	int64_t job, mounts;
	struct assembly_communication communication;
	uint64_t ids[JOIN_MODULES], owners;
};

/*
 * What a place has made, but for its regions. Behind it: states and records of the files of the decision, by precompressed_part; texts
 * of the job; sections, each as its parts, rows and strings.
 */
struct join_share {
	struct join_head head;
	int64_t failed;
	char why[JOIN_WHY];
	uint64_t sizes[JOIN_REGIONS];
	uint64_t partial; /* bits of modules */
	struct join_phase {
		char name[16];
		double seconds; /* of the slowest place */
	} phase[ASSEMBLY_PHASES];
	uint64_t texts; /* bytes: struct join_text each */
	struct {
		uint64_t rows, row_bytes, heap;
	} section[ASSEMBLY_SECTIONS];
	struct {
		uint64_t parts, stored; /* bytes */
	} encoded[ASSEMBLY_OF_RANKS];
};

/* What a place knows of the job. Behind it: command, then mount points and file systems, each with its NUL. */
struct join_text {
	int64_t place, uid, id;
	uint64_t size;
};

struct join {
	struct assembly a;
	struct join_node place;
	struct join_survey survey;
	struct join_share share;
	struct join_decision decision;
	struct id_set unnamed;               /* files of the decision, and names that another place writes */
	struct name_owners owners;           /* of this place, and of those added */
	struct shared reduced[JOIN_MODULES]; /* operands of this place, and of those added */
	struct log_bytes job;                /* texts of this place, as behind a join_text */
	struct log_bytes texts;              /* those that the decision asks for */
	struct log_writer *memory;           /* of this place: its regions are in there */
	struct log_region region[JOIN_REGIONS];
	struct log_writer *log; /* of the job, at the first place */
};

/* Room for the message's head in `out`; the caller fills it in. */
int joining_begin(struct log_bytes *out, const char *magic, size_t size);
/* When all is in. */
void joining_end(struct log_bytes *out);
/* True when the bytes are a message of that kind with at least that head. */
bool joining_is(const void *from, size_t n, const char *magic, size_t head);

/* Takes the decision of which records all ranks share: the others stay this node's. */
int joining_obey(struct join *j, const void *decision, size_t n);

/* LOG_MAX_MODULES for names. */
int joining_module(enum join_region region);
/* Of the records there; 0 = the log has none of them. */
uint32_t joining_version(const struct join *j, enum join_region region);

int joining_fail(struct join *j, int code, const char *what);

#endif
