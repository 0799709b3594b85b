/* One-sided communication, with every kind of synchronization. */
#include <mpi.h>
#include <stddef.h>

static int rank, n, out[16], in[16], *memory;
static MPI_Win window;

static void fences(void)
{
	int next = (rank + 1) % n;
	MPI_Win_fence(0, window);
	MPI_Put(out, 4, MPI_INT, next, 0, 4, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Get(in, 3, MPI_INT, next, 0, 3, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Accumulate(out, 5, MPI_INT, next, 0, 5, MPI_INT, MPI_SUM, window);
	MPI_Win_fence(0, window);
}

static void groups(void)
{
	MPI_Group all;
	int done = 0;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Win_post(all, 0, window);
	MPI_Win_start(all, 0, window);
	MPI_Win_complete(window);
	MPI_Win_wait(window);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_post(all, 0, window);
	MPI_Win_start(all, 0, window);
	MPI_Win_complete(window);
	MPI_Barrier(MPI_COMM_WORLD);
	while (!done)
		MPI_Win_test(window, &done);
	MPI_Group_free(&all);
}

static void locks(void)
{
	int one = 1, two = 2, got;
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
	MPI_Get_accumulate(NULL, 0, MPI_INT, in, 2, MPI_INT, rank, 0, 2, MPI_INT, MPI_NO_OP, window);
	MPI_Win_flush(rank, window);
	MPI_Fetch_and_op(&one, &got, MPI_INT, rank, 0, MPI_SUM, window);
	MPI_Win_flush_local(rank, window);
	MPI_Compare_and_swap(&one, &two, &got, MPI_INT, rank, 0, window);
	MPI_Win_unlock(rank, window);
}

static void all_locks(void)
{
	MPI_Request r[4];
	MPI_Win_lock_all(0, window);
	MPI_Rput(out, 1, MPI_INT, rank, 0, 1, MPI_INT, window, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Rget(in, 2, MPI_INT, rank, 0, 2, MPI_INT, window, &r[1]);
	MPI_Raccumulate(out, 3, MPI_INT, rank, 4, 3, MPI_INT, MPI_SUM, window, &r[2]);
	MPI_Rget_accumulate(out, 4, MPI_INT, in + 8, 4, MPI_INT, rank, 8, 4, MPI_INT, MPI_SUM, window, &r[3]);
	MPI_Waitall(3, r + 1, MPI_STATUSES_IGNORE);
	MPI_Win_sync(window);
	MPI_Win_flush_all(window);
	MPI_Win_flush_local_all(window);
	MPI_Win_unlock_all(window);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	fences();
	groups();
	locks();
	all_locks();
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
