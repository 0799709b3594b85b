/* Every MPI call of these programs succeeds, or the program says which did not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call)                                                              \
	do {                                                                    \
		int must_code = (call);                                         \
		if (must_code != MPI_SUCCESS) {                                 \
			char text[MPI_MAX_ERROR_STRING];                        \
			int n;                                                  \
			MPI_Error_string(must_code, text, &n);                  \
			fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, text); \
			MPI_Abort(MPI_COMM_WORLD, 1);                           \
		}                                                               \
	} while (0)

#define CHECK(true)                                                       \
	do {                                                              \
		if (!(true)) {                                            \
			fprintf(stderr, "%d: not %s\n", __LINE__, #true); \
			MPI_Abort(MPI_COMM_WORLD, 1);                     \
		}                                                         \
	} while (0)

static int rank, ranks;
static MPI_File file;

static void start(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void open_shared(const char *name, MPI_Info info)
{
	MUST(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
}
