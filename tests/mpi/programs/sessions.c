/*
 * An MPI program of sessions alone, without MPI_Init; MPI 4. Rank r writes 100 * (r + 1) bytes to `own.<r>`. "late": rank 0 ends a
 * second after the others; "twice": in a second session; "_exit": ends so.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5
static int rank_in(MPI_Session session)
{
	MPI_Group group;
	int rank;
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Group_rank(group, &rank);
	MPI_Group_free(&group);
	return rank;
}

int main(int argc, char **argv)
{
	static const char data[65536];
	const char *how = argc > 1 ? argv[1] : "";
	MPI_Session session;
	char name[32];
	for (int n = strcmp(how, "twice") == 0; n > 0; n--) {
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
		MPI_Session_finalize(&session);
	}
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	int rank = rank_in(session);
	snprintf(name, sizeof name, "own.%d", rank);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (write(fd, data, 100 * (rank + 1)) < 0)
		return 9;
	close(fd);
	if (rank == 0)
		puts("done");
	MPI_Session_finalize(&session);
	if (rank == 0 && strcmp(how, "late") == 0)
		sleep(1);
	fflush(stdout);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
