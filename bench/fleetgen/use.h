/* What a job did to a file, in few words; the records of all modules follow from it. */
#ifndef FLEETGEN_USE_H
#define FLEETGEN_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

enum way { BY_POSIX, BY_STDIO, BY_MPIIO, BY_COLLECTIVE, BY_HDF5, WAYS };

struct use {
	uint64_t id;
	char name[120];
	enum way way;
	int64_t rank;  /* -1 = of all ranks */
	int64_t ranks; /* how many use it */
	int64_t opens, stats;
	int64_t reads, read_size, extent_read; /* bytes from 0 to the last that was read */
	int64_t writes, write_size, extent_written;
	bool random;                             /* else one behind the other */
	double start, last;                      /* s since the job's start */
	double read_time, write_time, meta_time; /* summed over ranks */
	int ost;                                 /* the first, where it lies on Lustre */
};

struct posix_record use_posix(const struct use *u);
struct mpiio_record use_mpiio(const struct use *u);
struct h5f_record use_h5f(const struct use *u);
struct stdio_record use_stdio(const struct use *u);

#endif
