/* Every way to complete a request completes one or two of a file's and, with it, a message. */
#include "must.h"

enum { SIZE = 256 };
static char data[8][SIZE];
static MPI_Request request[8];

static void finish_any(int n)
{
	int index;
	for (int i = 0; i < n; i++)
		MUST(MPI_Waitany(n, request, &index, MPI_STATUS_IGNORE));
}

static void finish_some(int n)
{
	int done, indices[8];
	for (int left = n; left > 0; left -= done)
		MUST(MPI_Waitsome(n, request, &done, indices, MPI_STATUSES_IGNORE));
}

static void test_some(int n)
{
	int done, indices[8];
	for (int left = n; left > 0; left -= done)
		MUST(MPI_Testsome(n, request, &done, indices, MPI_STATUSES_IGNORE));
}

static void test_any(int n)
{
	int index, flag;
	for (int left = n; left > 0; left -= flag)
		MUST(MPI_Testany(n, request, &index, &flag, MPI_STATUS_IGNORE));
}

/* A message to ourselves in the same list of requests. */
static int with_message(int n)
{
	static int from, to;
	MUST(MPI_Irecv(&to, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request[n]));
	MUST(MPI_Isend(&from, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request[n + 1]));
	return n + 2;
}

int main(int argc, char **argv)
{
	int flag = 0;
	MPI_Status status;
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	MPI_Offset mine = (MPI_Offset)rank * SIZE;

	MUST(MPI_File_iwrite_at(file, mine, data[0], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], &status));
	MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MUST(MPI_File_iwrite(file, data[0], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_Waitall(with_message(1), request, MPI_STATUSES_IGNORE));
	MUST(MPI_File_iwrite_at_all(file, mine, data[0], SIZE, MPI_CHAR, &request[0]));
	while (!flag)
		MUST(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MUST(MPI_File_iwrite_all(file, data[0], SIZE, MPI_CHAR, &request[0]));
	for (flag = 0; !flag;)
		MUST(MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE));
	MUST(MPI_File_iwrite_shared(file, data[0], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);

	MUST(MPI_File_iread_at(file, mine, data[1], SIZE / 4, MPI_INT, &request[0]));
	MUST(MPI_File_iread_at(file, mine, data[2], SIZE, MPI_CHAR, &request[1]));
	finish_any(with_message(2));
	MUST(MPI_File_iread_at(file, mine, data[1], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_File_iread_at(file, mine, data[2], SIZE, MPI_CHAR, &request[1]));
	finish_some(with_message(2));
	MUST(MPI_File_iread_at_all(file, mine, data[1], SIZE, MPI_CHAR, &request[0]));
	test_any(with_message(1));
	MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MUST(MPI_File_iread_all(file, data[1], SIZE, MPI_CHAR, &request[0]));
	test_some(with_message(1));
	MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MUST(MPI_File_iread(file, data[1], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], &status));
	MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MUST(MPI_File_iread_shared(file, data[1], SIZE, MPI_CHAR, &request[0]));
	MUST(MPI_Wait(&request[0], &status));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
