/* Requests that are made once and started three times. */
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, n, in[16], out[16] = {0};
	MPI_Request r[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Send_init(out, 16, MPI_INT, (rank + 1) % n, 60, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(in, 16, MPI_INT, (rank + n - 1) % n, 60, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 2; i++) {
		MPI_Startall(2, r);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
	MPI_Start(&r[1]);
	MPI_Start(&r[0]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	MPI_Finalize();
	return 0;
}
