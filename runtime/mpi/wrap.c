/* The calls that begin and end an MPI program. MPI_Get_version and MPI_Abi_get_version are left alone: probes for an MPI call those. */
#include "lifecycle.h"
#include "mpi.h"
#include "self.h"

void *mpi_find(struct mpi_next *found, const char *name, void *instead)
{
	uint64_t missed = __atomic_load_n(&found->missed, __ATOMIC_RELAXED);
	struct late late = {.name = name, .instead = instead, .library = MPI_LIBRARY, .single = true, .missed = missed};
	void *at = resolve_late(&late, NULL);
	if (late.real)
		__atomic_store_n(&found->at, late.real, __ATOMIC_RELEASE);
	if (late.missed != missed)
		__atomic_store_n(&found->missed, late.missed, __ATOMIC_RELAXED);
	return at;
}

/* What the thread opens between the two is the MPI's. */
static inline __attribute__((always_inline)) uintptr_t enter_mpi(void)
{
	uintptr_t before = self.mpi;
	self.mpi = (uintptr_t)__builtin_frame_address(0);
	return before;
}

static inline void leave_mpi(uintptr_t before)
{
	self.mpi = before;
}

WRAP_MPI(MPI_Init, (int *argc, char ***argv), (argc, argv))
{
	mpi_beginning();
	uintptr_t before = enter_mpi();
	int code = next(argc, argv);
	leave_mpi(before);
	if (code == 0)
		mpi_begun();
	return code;
}

WRAP_MPI(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
{
	mpi_beginning();
	uintptr_t before = enter_mpi();
	int code = next(argc, argv, required, provided);
	leave_mpi(before);
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
	uintptr_t before = enter_mpi();
	int code = next(info, handler, session);
	leave_mpi(before);
	if (code == 0)
		mpi_session_begun(session, false);
	return code;
}

static int no_session_end(void *session)
{
	return no_session(0, 0, session);
}

WRAP_MPI_OR(no_session_end, MPI_Session_finalize, (void *session), (session))
{
	uintptr_t before = enter_mpi();
	int code = next(session);
	leave_mpi(before);
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
		type_MPI_Finalize *next = MPI_NEXT(type_MPI_Finalize, name, NULL);        \
		mpi_ending();                                                             \
		uintptr_t before = enter_mpi();                                           \
		int code = next();                                                        \
		leave_mpi(before);                                                        \
		return code;                                                              \
	}

FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)

/* ---- Fortran: where the library calls its C interface under a name of its own, only these are seen ---- */

MPI_FORTRAN(init, INIT, (int *code), (code))
{
	mpi_beginning();
	uintptr_t before = enter_mpi();
	next(code);
	leave_mpi(before);
	mpi_begun();
}

MPI_FORTRAN(init_thread, INIT_THREAD, (int *required, int *provided, int *code), (required, provided, code))
{
	mpi_beginning();
	uintptr_t before = enter_mpi();
	next(required, provided, code);
	leave_mpi(before);
	mpi_begun();
}

MPI_FORTRAN(session_init, SESSION_INIT, (int *info, int *handler, int *session, int *code),
	    (info, handler, session, code))
{
	uintptr_t before = enter_mpi();
	next(info, handler, session, code);
	leave_mpi(before);
	if (!code || *code == 0)
		mpi_session_begun(session, true);
}

MPI_FORTRAN(session_finalize, SESSION_FINALIZE, (int *session, int *code), (session, code))
{
	uintptr_t before = enter_mpi();
	next(session, code);
	leave_mpi(before);
}

MPI_FORTRAN(abort, ABORT, (int *comm, int *value, int *code), (comm, value, code))
{
	mpi_aborting(*value);
	next(comm, value, code);
}

MPI_FORTRAN(finalize, FINALIZE, (int *code), (code))
{
	mpi_ending();
	uintptr_t before = enter_mpi();
	next(code);
	leave_mpi(before);
}
