/*
 * What a process knows of the files without a record of their own, which share one: how often they were used by name (exact: opens, and stats), all called opens here, of about
 * how many different files (HyperLogLog sketches, standard error 3 %), for data and for files of programs; and in which directories
 * they were: exact for as many as there is room for. From then on a new directory takes the place of the one with the fewest opens
 * (the space-saving algorithm): a count may be too high by `surplus`.
 */
#ifndef IOLENS_OVERFLOW_H
#define IOLENS_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OVERFLOW_REGISTERS = 1024, OVERFLOW_DIRECTORIES = 1024, OVERFLOW_DIRECTORY_TEXT = 112 };

struct overflow_directory {
	int64_t opens;
	int64_t surplus; /* by how much `opens` may be too high */
	char text[OVERFLOW_DIRECTORY_TEXT];
};

/* Files of one kind. */
struct overflow_files {
	int64_t opens;
	uint8_t sketch[OVERFLOW_REGISTERS];
};

enum overflow_kind { OVERFLOW_DATA, OVERFLOW_PROGRAM, OVERFLOW_KINDS };

struct overflow {
	int64_t name_bytes;  /* of the folded opens' names: their mean length prices the missing budget */
	int64_t directories; /* rows that are in use */
	struct overflow_files files[OVERFLOW_KINDS];
};

/* Finds rows of directories by their text: what the process that counts has in memory of its own. Zeroed at first. */
struct overflow_index {
	uint16_t first[OVERFLOW_DIRECTORIES]; /* one more than the row, 0 = none */
	uint16_t next[OVERFLOW_DIRECTORIES];
	int64_t least; /* no row has fewer opens */
	int64_t cursor;
};

/* True: the row can be written. */
typedef bool overflow_reach(const void *row, size_t size);

/* `row`: OVERFLOW_DIRECTORIES of them. */
void overflow_add(struct overflow *f, struct overflow_directory *row, struct overflow_index *index,
		  overflow_reach *reach, enum overflow_kind kind, const char *path, size_t length);

int64_t overflow_opens(const struct overflow *f);

/* About how many different files were folded; never more than opens. */
int64_t overflow_files(const struct overflow_files *f);

#endif
