/* The limit for files stands for a full disk: what MPICH writes in part is no error, and what it moved is in the status. */
#include "must.h"

#include <signal.h>
#include <sys/resource.h>

static char data[1000];

int main(int argc, char **argv)
{
	struct rlimit limit = {65536, 65536};
	MPI_Request request;
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	MUST(MPI_File_iwrite_at(file, 65136, data, 1000, MPI_CHAR, &request));
	MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
