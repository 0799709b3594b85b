/* What MPI 4 added: persistent collective calls, messages in parts, exchanges that do not block, counts of 64 bits. */
#include <mpi.h>

static int out[256], in[256], rank, n;

static void persistent(void)
{
	MPI_Request r[3];
	MPI_Bcast_init(out, 10, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	MPI_Allreduce_init(out, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			MPI_Start(&r[k]);
			MPI_Wait(&r[k], MPI_STATUS_IGNORE);
		}
	for (int k = 0; k < 3; k++)
		MPI_Request_free(&r[k]);
}

static void parts(void)
{
	MPI_Request r[2];
	int there = 0, list[] = {3};
	MPI_Psend_init(out, 4, 8, MPI_INT, (rank + 1) % n, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	MPI_Precv_init(in, 4, 8, MPI_INT, (rank + n - 1) % n, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	MPI_Startall(2, r);
	MPI_Pready(0, r[0]);
	MPI_Pready_range(1, 2, r[0]);
	MPI_Pready_list(1, list, r[0]);
	MPI_Parrived(r[1], 0, &there);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

static void exchanges(void)
{
	MPI_Request r[2];
	int next = (rank + 1) % n, previous = (rank + n - 1) % n;
	MPI_Isendrecv(out, 5, MPI_INT, next, 1, in, 5, MPI_INT, previous, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Isendrecv_replace(out, 6, MPI_INT, next, 2, previous, 2, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void large(void)
{
	MPI_Request r[2];
	MPI_Irecv_c(in, 9, MPI_INT, (rank + n - 1) % n, 3, MPI_COMM_WORLD, &r[0]);
	MPI_Isend_c(out, 9, MPI_INT, (rank + 1) % n, 3, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Allreduce_c(out, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Alltoall_c(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	persistent();
	parts();
	exchanges();
	large();
	MPI_Finalize();
	return 0;
}
