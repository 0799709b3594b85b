/*
 * What a process knows of the files beyond its budget, which share a record: how many opens there were
 * (exact), of about how many different files (a HyperLogLog sketch, standard error 3 %), and in which
 * directories most of them were (the space-saving algorithm: a count may be too high by what was dropped).
 */
#ifndef IOLENS_OVERFLOW_H
#define IOLENS_OVERFLOW_H

#include <stddef.h>
#include <stdint.h>

enum { OVERFLOW_REGISTERS = 1024, OVERFLOW_DIRECTORIES = 16, OVERFLOW_DIRECTORY_TEXT = 112 };

struct overflow_directory {
	int64_t opens;
	int64_t surplus; /* by how much `opens` may be too high */
	char text[OVERFLOW_DIRECTORY_TEXT];
};

struct overflow {
	int64_t opens;
	int64_t name_bytes; /* of the folded opens' names: their mean length prices the missing budget */
	uint8_t sketch[OVERFLOW_REGISTERS];
	struct overflow_directory directory[OVERFLOW_DIRECTORIES];
};

void overflow_add(struct overflow *f, uint64_t id, const char *path, size_t length);

/* About how many different files were folded; never more than opens. */
int64_t overflow_files(const struct overflow *f);

#endif
