/* A message that fails during a write that does not. */
#include "must.h"

static char data[100];
static MPI_Request request[3];

/* Two characters come where there is room for one. */
static void post(void)
{
	static char from[2], to[2];
	MUST(MPI_Irecv(to, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request[0]));
	MUST(MPI_File_iwrite_at(file, 100 * (MPI_Offset)rank, data, 100, MPI_CHAR, &request[1]));
	MUST(MPI_Isend(from, 2, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request[2]));
}

static int is_in_status(int code)
{
	int class;
	MPI_Error_class(code, &class);
	return class == MPI_ERR_IN_STATUS;
}

/* What the failure left undone. */
static void finish(void)
{
	MUST(MPI_Waitall(3, request, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
	MPI_Status statuses[3];
	start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	open_shared("shared", MPI_INFO_NULL);
	post();
	CHECK(is_in_status(MPI_Waitall(3, request, statuses)));
	finish();
	post();
	CHECK(is_in_status(MPI_Waitall(3, request, MPI_STATUSES_IGNORE)));
	finish();
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
