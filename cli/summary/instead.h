/* What a run's time goes into where it is not I/O, in words. */
#ifndef IOLENS_INSTEAD_H
#define IOLENS_INSTEAD_H

#include "digest.h"

enum { INSTEAD_TEXT = 448 };

#define INSTEAD_HDF5     "HDF5 itself (filters, type conversion, chunks)"
#define INSTEAD_IN_CALLS "in I/O calls"

/* s of page faults from storage, 0 where they cannot be told from requests. */
double instead_faults(const struct digest *d);

/* s for which the command's program, which was not observed, waited, where that is more than it computed: perhaps for I/O. */
double instead_unwatched(const struct digest *d, double run_time, double io_time);

/* What is not I/O and takes most takes more than I/O does; takes half of the run or more (of page faults a fifth). */
bool instead_is_more(const struct digest *d, double run_time, double io_time);
bool instead_is_most(const struct digest *d, double run_time, double io_time);

/* The process that is longest in I/O computes all the while: its calls copy from and to memory. Of threads it is not known. */
bool instead_computes_io(const struct digest *d);

/* HDF5 itself takes so much, or wastes so much, that it is named. */
bool instead_names_hdf5(const struct digest *d, double run_time);

/* "the processor, busy for 94 % of the run, most of it in cc1": "" where it is not known. Safe for a terminal. */
void instead_describe(const struct digest *d, double run_time, double io_time, char text[INSTEAD_TEXT]);

#endif
