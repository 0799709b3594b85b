/* 4 ranks in a ring: every kind of send and receive, probes, requests that complete in all ways, a null process. */
#include <mpi.h>
#include <stdlib.h>

static char out[2 << 20], in[2 << 20];
static int rank, next, previous;
static MPI_Status status, statuses[4];

/* One message of each size around the ring. */
static void blocking(void)
{
	static const int sizes[] = {0, 1, 256, 257, 1024, 8192, 262144, 262145, 2 << 20};
	for (int i = 0; i < 9; i++)
		if (rank % 2) {
			MPI_Recv(in, sizeof in, MPI_BYTE, previous, i, MPI_COMM_WORLD, &status);
			MPI_Send(out, sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD);
		} else {
			MPI_Send(out, sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD);
			MPI_Recv(in, sizes[i], MPI_BYTE, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
}

static void modes(void)
{
	MPI_Request r[2], sent;
	int n, size = 4096;
	char *attached = malloc(size);
	MPI_Irecv(in, 1000, MPI_INT, previous, 20, MPI_COMM_WORLD, &r[0]);
	MPI_Ssend(out, 10, MPI_INT, next, 20, MPI_COMM_WORLD);
	MPI_Wait(&r[0], &status);
	MPI_Irecv(in, 10, MPI_DOUBLE, previous, 21, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(in + 100, 10, MPI_DOUBLE, previous, 22, MPI_COMM_WORLD, &r[1]);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Rsend(out, 10, MPI_DOUBLE, next, 21, MPI_COMM_WORLD);
	MPI_Irsend(out, 10, MPI_DOUBLE, next, 22, MPI_COMM_WORLD, &sent);
	MPI_Waitall(2, r, statuses);
	MPI_Wait(&sent, MPI_STATUS_IGNORE);
	MPI_Buffer_attach(attached, size);
	MPI_Bsend(out, 5, MPI_INT, next, 23, MPI_COMM_WORLD);
	MPI_Ibsend(out, 6, MPI_INT, next, 24, MPI_COMM_WORLD, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Probe(previous, 23, MPI_COMM_WORLD, &status);
	MPI_Recv(in, 5, MPI_INT, previous, 23, MPI_COMM_WORLD, &status);
	MPI_Recv(in, 6, MPI_INT, previous, 24, MPI_COMM_WORLD, &status);
	MPI_Buffer_detach(&attached, &n);
	free(attached);
}

static void requests(void)
{
	MPI_Request r[4], null = MPI_REQUEST_NULL;
	int index, done, list[4], flag;
	MPI_Irecv(in, 8, MPI_INT, previous, 30, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(in + 64, 8, MPI_INT, previous, 31, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(out, 8, MPI_INT, next, 30, MPI_COMM_WORLD, &r[2]);
	MPI_Issend(out, 8, MPI_INT, next, 31, MPI_COMM_WORLD, &r[3]);
	MPI_Waitany(4, r, &index, &status);
	MPI_Waitsome(4, r, &done, list, statuses);
	MPI_Waitall(4, r, statuses);
	MPI_Test(&null, &flag, &status);
	MPI_Testany(1, &null, &index, &flag, &status);
	MPI_Testall(1, &null, &flag, &status);
	MPI_Testsome(1, &null, &done, list, &status);
	MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &status);
}

static void exchanges(void)
{
	MPI_Message message;
	MPI_Request r[2];
	int flag = 0;
	MPI_Sendrecv(out, 100, MPI_INT, next, 40, in, 200, MPI_INT, previous, 40, MPI_COMM_WORLD, &status);
	MPI_Sendrecv(out, 50, MPI_INT, next, 41, in, 50, MPI_INT, previous, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(in, 50, MPI_INT, next, 42, previous, 42, MPI_COMM_WORLD, &status);
	MPI_Send(out, 10, MPI_INT, MPI_PROC_NULL, 50, MPI_COMM_WORLD);
	MPI_Recv(in, 10, MPI_INT, MPI_PROC_NULL, 50, MPI_COMM_WORLD, &status);
	MPI_Isend(out, 3, MPI_INT, next, 60, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, 4, MPI_INT, next, 61, MPI_COMM_WORLD, &r[1]);
	MPI_Mprobe(previous, 60, MPI_COMM_WORLD, &message, &status);
	MPI_Mrecv(in, 100, MPI_INT, &message, &status);
	MPI_Probe(previous, 61, MPI_COMM_WORLD, &status);
	MPI_Improbe(previous, 61, MPI_COMM_WORLD, &flag, &message, &status);
	if (!flag)
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Imrecv(in, 4, MPI_INT, &message, &r[0]);
	MPI_Wait(&r[0], &status);
}

int main(int argc, char **argv)
{
	int size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	previous = (rank + size - 1) % size;
	blocking();
	modes();
	requests();
	exchanges();
	MPI_Finalize();
	return 0;
}
