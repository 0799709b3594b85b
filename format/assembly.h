/* The assembly of a log while it is being made; shared by assemble.c and assembly_sections.c. */
#ifndef IOLENS_ASSEMBLY_H
#define IOLENS_ASSEMBLY_H

#include "assemble.h"
#include "image.h"
#include "records.h"
#include "writer.h"

struct assembly_source {
	char *name; /* of the store's file */
	double start;
	int64_t pid, parent;
	double end;
	/* Bytes since the process was made, by the kernel's count or else by ours; with its children's. */
	int64_t moved[2];
	bool last; /* image of its process */
};

enum {
	ASSEMBLY_PROCESS,
	ASSEMBLY_TOTAL,
	ASSEMBLY_EXCLUDED,
	ASSEMBLY_OPERATION,
	ASSEMBLY_MPIIO_SIZES,
	ASSEMBLY_MPIIO_COMPLETIONS,
	ASSEMBLY_TIMELINE,
	ASSEMBLY_FOLDED,
	ASSEMBLY_FOLDED_DIRECTORY,
	ASSEMBLY_ENVIRONMENT,
	ASSEMBLY_SECTIONS
};

struct assembly {
	const struct assemble_job *job;
	const char *directory;
	const void *memory; /* instead of a directory: one store */
	size_t memory_size;
	struct assembly_source *sources;
	size_t nsources, room;
	int64_t unreadable; /* stores left out */
	double end;         /* of the job, s since the epoch */
	struct log_writer *writer;
	struct log_error err;
	bool job_written;
	char command[4096]; /* of the first image: the session's command */
	int module;    /* being copied */
	uint64_t *ids; /* names written so far: open addressing */
	size_t ids_size, ids_used;
	struct trailer_section section[ASSEMBLY_SECTIONS];
	uint8_t record[8192] __attribute__((aligned(8)));
};

/* 1 if the id is new, 0 if it was there, or a negative code. */
int assembly_new_id(struct assembly *a, uint64_t id);

/* Standard streams have a record from the start, inherited files from the fork: one that was not used says nothing. */
bool assembly_unused(int module, const struct log_record *r);

/* Bytes that the image's records and classes account for, by live_kind. */
int assembly_seen(struct image *i, int64_t seen[2], struct log_error *err);

int assembly_sections_begin(struct assembly *a);
int assembly_sections_add(struct assembly *a, struct image *i);
int assembly_sections_write(struct assembly *a);

void assembly_free(struct assembly *a);

#endif
