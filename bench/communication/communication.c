/* MPI calls of one process with itself: communication KIND TIMES. Needs one rank. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static char out[64], in[64];
static double sum, part = 1;

/* Of a type that the program made: what is asked of the MPI each time. */
static MPI_Datatype row;

static void eager(MPI_Datatype type, int count)
{
	MPI_Request request;
	MPI_Irecv(in, count, type, 0, 1, MPI_COMM_SELF, &request);
	MPI_Send(out, count, type, 0, 1, MPI_COMM_SELF);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void message(void)
{
	eager(MPI_BYTE, 64);
}

static void derived(void)
{
	eager(row, 1);
}

static void received(void)
{
	MPI_Request request;
	MPI_Status status;
	MPI_Isend(out, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &request);
	MPI_Recv(in, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &status);
	MPI_Wait(&request, &status);
}

static void allreduce(void)
{
	MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_SELF);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"message", message},
	     {"derived", derived},
	     {"received", received},
	     {"allreduce", allreduce},
	     {"barrier", barrier}};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Type_contiguous(64, MPI_BYTE, &row);
	MPI_Type_commit(&row);
	long times = argc == 3 ? atol(argv[2]) : 0;
	for (size_t k = 0; argc == 3 && k < sizeof kinds / sizeof *kinds; k++)
		for (long n = strcmp(kinds[k].name, argv[1]) ? times : 0; n < times; n++)
			kinds[k].run();
	MPI_Type_free(&row);
	MPI_Finalize();
	return 0;
}
