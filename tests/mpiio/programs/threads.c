/* MPI_THREAD_MULTIPLE: threads that share a handle, each with a handle of its own, too. */
#include <pthread.h>

#include "must.h"

enum { THREADS = 4, CALLS = 50, SIZE = 64 };

static MPI_Comm own[THREADS];

static void *work(void *argument)
{
	int me = (int)(long)argument;
	char data[SIZE] = "", name[32];
	MPI_File mine;
	MPI_Request request[2];
	MPI_Offset at = (MPI_Offset)(rank * THREADS + me) * SIZE;
	snprintf(name, sizeof name, "own.%d.%d", rank, me);
	MUST(MPI_File_open(own[me], name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &mine));
	for (int i = 0; i < CALLS; i++) {
		MUST(MPI_File_write_at(file, at, data, SIZE, MPI_CHAR, MPI_STATUS_IGNORE));
		MUST(MPI_File_iwrite_at(mine, 0, data, SIZE, MPI_CHAR, &request[0]));
		MUST(MPI_File_iread_at(file, at, data, 1, MPI_CHAR, &request[1]));
		MUST(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
	}
	MUST(MPI_File_close(&mine));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	CHECK(level == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
	open_shared("shared", MPI_INFO_NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MUST(MPI_File_close(&file));
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&own[i]);
	MPI_Finalize();
	return 0;
}
