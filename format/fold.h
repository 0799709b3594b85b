/*
 * What a process knows of the files beyond its budget, which share a record: how many opens there were
 * (exact), of about how many different files (a HyperLogLog sketch, standard error 3 %), and in which
 * directories most of them were (the space-saving algorithm: a count may be too high by what was dropped).
 */
#ifndef IOLENS_FOLD_H
#define IOLENS_FOLD_H

#include <stddef.h>
#include <stdint.h>

enum { FOLD_REGISTERS = 1024, FOLD_DIRECTORIES = 16, FOLD_DIRECTORY_TEXT = 112 };

struct fold_directory {
	int64_t opens;
	int64_t surplus; /* by how much `opens` may be too high */
	char text[FOLD_DIRECTORY_TEXT];
};

struct live_fold {
	int64_t opens;
	int64_t name_bytes; /* of the folded opens' names: their mean length prices the missing budget */
	uint8_t sketch[FOLD_REGISTERS];
	struct fold_directory directory[FOLD_DIRECTORIES];
};

void live_fold_add(struct live_fold *f, uint64_t id, const char *path, size_t length);

/* About how many different files were folded; never more than opens. */
int64_t live_fold_files(const struct live_fold *f);

#endif
