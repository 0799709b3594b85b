/* An MPI program's life: what happens at the end of MPI_Init and at the start of MPI_Finalize. Harmless when called twice. */
#ifndef IOLENS_MPI_LIFECYCLE_H
#define IOLENS_MPI_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

/* Before MPI_Init does anything: what it does lets every rank see that this one is observed. */
void mpi_beginning(void);

void mpi_begun(void);
void mpi_session_begun(const void *session, bool fortran); /* where its handle lies, of C or of Fortran */
void mpi_ending(void);

/* The job is about to be killed by its own wish. */
void mpi_aborting(int code);

#endif
