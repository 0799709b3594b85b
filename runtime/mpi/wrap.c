/* The calls that begin and end an MPI program. MPI_Get_version and MPI_Abi_get_version are left alone: whoever probes for an MPI asks those. */
#include "lifecycle.h"
#include "mpi.h"

WRAP_MPI(MPI_Init, (int *argc, char ***argv), (argc, argv))
{
	mpi_beginning();
	int code = next(argc, argv);
	if (code == 0)
		mpi_begun();
	return code;
}

WRAP_MPI(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
{
	mpi_beginning();
	int code = next(argc, argv, required, provided);
	if (code == 0)
		mpi_begun();
	return code;
}

/* In an MPI before 4. The number is that of some error in every MPI. */
static int no_session(uintptr_t info, uintptr_t handler, void *session)
{
	enum { UNSUPPORTED = 16 };
	return UNSUPPORTED;
}

WRAP_MPI_OR(no_session, MPI_Session_init, (uintptr_t info, uintptr_t handler, void *session), (info, handler, session))
{
	int code = next(info, handler, session);
	if (code == 0)
		mpi_session_begun(session, false);
	return code;
}

WRAP_MPI(MPI_Abort, (uintptr_t comm, int code), (comm, code))
{
	mpi_aborting(code);
	return next(comm, code);
}

/* No arguments: the macro has nothing to hand on. */
typedef int type_MPI_Finalize(void);

#define FINALIZE(name)                                                                    \
	int mpi_entry_##name(void) __asm__(#name) __attribute__((visibility("default"))); \
	int mpi_entry_##name(void)                                                        \
	{                                                                                 \
		static struct mpi_wrap wrap = {#name, NULL, NULL};                        \
		type_MPI_Finalize *next = (type_MPI_Finalize *)mpi_next(&wrap);           \
		mpi_ending();                                                             \
		return next();                                                            \
	}

FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)

/* ---- Fortran: where the library calls its C interface under a name of its own, only these are seen ---- */

MPI_FORTRAN(init, INIT, (int *code), (code))
{
	mpi_beginning();
	next(code);
	mpi_begun();
}

MPI_FORTRAN(init_thread, INIT_THREAD, (int *required, int *provided, int *code), (required, provided, code))
{
	mpi_beginning();
	next(required, provided, code);
	mpi_begun();
}

MPI_FORTRAN(session_init, SESSION_INIT, (int *info, int *handler, int *session, int *code),
	    (info, handler, session, code))
{
	next(info, handler, session, code);
	if (!code || *code == 0)
		mpi_session_begun(session, true);
}

MPI_FORTRAN(abort, ABORT, (int *comm, int *value, int *code), (comm, value, code))
{
	mpi_aborting(*value);
	next(comm, value, code);
}

MPI_FORTRAN(finalize, FINALIZE, (int *code), (code))
{
	mpi_ending();
	next(code);
}
