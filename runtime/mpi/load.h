/* Opening the backend that fits the MPI of this process. */
#ifndef IOLENS_MPI_LOAD_H
#define IOLENS_MPI_LOAD_H

#include "mpi.h"

/* Once MPI is initialized; NULL and a reason in mpi_load_failure() when none fits. */
const struct mpi_backend *mpi_load(void);

/* One line without its end, "" = no failure. */
const char *mpi_load_failure(void);

#endif
