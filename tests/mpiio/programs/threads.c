/*
 * MPI_THREAD_MULTIPLE: threads that share a handle, each with a handle of its own, too. Open MPI 4 hangs now and then
 * when threads open files or post non-blocking accesses at the same time: it opens in one thread, and posts nothing.
 */
#include <pthread.h>

#include "must.h"

enum { THREADS = 4, CALLS = 50, SIZE = 64 };

static MPI_File own[THREADS];
static int posting;

static void *work(void *argument)
{
	int me = (int)(long)argument;
	char data[SIZE] = "";
	MPI_Request request[2];
	MPI_Status statuses[2];
	MPI_Offset at = (MPI_Offset)(rank * THREADS + me) * SIZE;
	for (int i = 0; i < CALLS; i++) {
		MUST(MPI_File_write_at(file, at, data, SIZE, MPI_CHAR, MPI_STATUS_IGNORE));
		if (!posting) {
			MUST(MPI_File_write_at(own[me], 0, data, SIZE, MPI_CHAR, MPI_STATUS_IGNORE));
			MUST(MPI_File_read_at(file, at, data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
			continue;
		}
		MUST(MPI_File_iwrite_at(own[me], 0, data, SIZE, MPI_CHAR, &request[0]));
		MUST(MPI_File_iread_at(file, at, data, 1, MPI_CHAR, &request[1]));
		MUST(MPI_Waitall(2, request, statuses));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	char name[32];
	int level;
	posting = argc > 1;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	CHECK(level == MPI_THREAD_MULTIPLE);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < THREADS; i++) {
		snprintf(name, sizeof name, "own.%d.%d", rank, i);
		MUST(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own[i]));
	}
	open_shared("shared", MPI_INFO_NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MUST(MPI_File_close(&file));
	for (int i = 0; i < THREADS; i++)
		MUST(MPI_File_close(&own[i]));
	MPI_Finalize();
	return 0;
}
