/* Rank 1 comes late to three collective calls, when the others are there. */
#include <mpi.h>
#include <time.h>

static int rank;

static void late(int n)
{
	int told = 0;
	for (int other = 0; rank == 1 && other < n; other++)
		if (other != 1)
			MPI_Recv(&told, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1)
		nanosleep(&(struct timespec){0, 300000000}, NULL);
	else
		MPI_Send(&told, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int n, value = 0, sum = 0;
	MPI_Request request;
	MPI_Comm half, between;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	late(n);
	MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
	late(n);
	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	late(n);
	MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Allgather(&value, 1, MPI_INT, (int[1]){0}, 1, MPI_INT, MPI_COMM_SELF);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
	MPI_Alltoall((int[2]){0}, 1, MPI_INT, (int[2]){0}, 1, MPI_INT, between);
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
