/* An MPI program of sessions alone, without MPI_Init; MPI 4. Rank r writes 100 * (r + 1) bytes to `own.<r>`. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
#if MPI_VERSION >= 4 || defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5
	static const char data[65536];
	MPI_Session session;
	MPI_Group group;
	int rank;
	char name[32];
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Group_rank(group, &rank);
	snprintf(name, sizeof name, "own.%d", rank);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (write(fd, data, 100 * (rank + 1)) < 0)
		return 9;
	close(fd);
	if (rank == 0)
		puts("done");
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	return 0;
#else
	return 77;
#endif
}
