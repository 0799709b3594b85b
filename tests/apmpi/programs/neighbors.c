/* A ring in which every rank has two neighbours: collective calls among them, blocking and not. */
#include <mpi.h>

static int out[64], in[64];
static MPI_Request request;

#define TWICE(name, other, ...)                           \
	do {                                              \
		MPI_##name(__VA_ARGS__, ring);            \
		MPI_##other(__VA_ARGS__, ring, &request); \
		MPI_Wait(&request, MPI_STATUS_IGNORE);    \
	} while (0)

int main(int argc, char **argv)
{
	int n, yes = 1, counts[] = {3, 4}, rooms[] = {4, 3}, places[] = {0, 8}, equal[] = {2, 2};
	MPI_Aint bytes[] = {0, 32};
	MPI_Datatype types[] = {MPI_INT, MPI_INT};
	MPI_Comm ring;
	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &yes, 0, &ring);
	TWICE(Neighbor_allgather, Ineighbor_allgather, out, 5, MPI_INT, in, 5, MPI_INT);
	TWICE(Neighbor_allgatherv, Ineighbor_allgatherv, out, 2, MPI_INT, in, equal, places, MPI_INT);
	TWICE(Neighbor_alltoall, Ineighbor_alltoall, out, 5, MPI_INT, in, 5, MPI_INT);
	TWICE(Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, places, MPI_INT, in, rooms, places, MPI_INT);
	TWICE(Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, bytes, types, in, rooms, bytes, types);
	MPI_Comm_free(&ring);
	MPI_Finalize();
	return 0;
}
