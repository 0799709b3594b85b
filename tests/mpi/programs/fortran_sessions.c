/* Calls MPI_Session_init as Fortran does. The session has four bytes, and what lies behind it is not its business. */
#include <mpi.h>
#include <stdio.h>

void mpi_session_init_(const int *info, const int *handler, int *session, int *code);

int main(void)
{
	int session[2] = {0, -1}, code, rank;
	char name[32];
	const int info = MPI_Info_toint(MPI_INFO_NULL), handler = MPI_Errhandler_toint(MPI_ERRORS_RETURN);
	MPI_Group group;
	mpi_session_init_(&info, &handler, session, &code);
	MPI_Session made = MPI_Session_fromint(session[0]);
	if (code || MPI_Group_from_session_pset(made, "mpi://WORLD", &group))
		return 9;
	MPI_Group_rank(group, &rank);
	MPI_Group_free(&group);
	snprintf(name, sizeof name, "own.%d", rank);
	FILE *own = fopen(name, "w");
	fputs("session\n", own);
	fclose(own);
	MPI_Session_finalize(&made);
	return 0;
}
