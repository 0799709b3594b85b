/* Of a Fortran library above the standard ABI of MPI 5, what a program of sessions needs: handles are integers there. */
#include <mpi.h>

void mpi_session_init_(const int *info, const int *handler, int *session, int *code)
{
	MPI_Session made;
	*code = MPI_Session_init(MPI_Info_fromint(*info), MPI_Errhandler_fromint(*handler), &made);
	*session = MPI_Session_toint(made);
}
