/* Calls of MPI and PnetCDF that must succeed. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

#define OK(call)                                                                   \
	do {                                                                       \
		int code_ = (call);                                                \
		if (code_) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(code_)); \
			MPI_Abort(MPI_COMM_WORLD, 1);                              \
		}                                                                  \
	} while (0)

#define FAILS(call)                                                         \
	do {                                                                \
		if (!(call)) {                                              \
			fprintf(stderr, "%s: should have failed\n", #call); \
			MPI_Abort(MPI_COMM_WORLD, 1);                       \
		}                                                           \
	} while (0)

#define RETURNS(code, call)                                                             \
	do {                                                                            \
		if ((call) != (code)) {                                                 \
			fprintf(stderr, "%s: should have returned %s\n", #call, #code); \
			MPI_Abort(MPI_COMM_WORLD, 1);                                   \
		}                                                                       \
	} while (0)
