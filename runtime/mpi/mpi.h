/*
 * MPI without linking any: how its symbols are wrapped, and what the wrappers may ask the MPI.
 *
 *	WRAP_MPI(MPI_File_sync, (uintptr_t file), (file))
 *	{
 *		... int code = next(file); ...
 *		return code;
 *	}
 *
 * exports MPI_File_sync and PMPI_File_sync. `next` is the next definition of the name that was called: another tool's,
 * or the MPI's own, also of an MPI that was loaded RTLD_LOCAL. The body runs once per call of the application: what a
 * call makes of itself inside (Fortran -> C, MPI_ -> PMPI_) goes straight to `next`. Handles travel as uintptr_t, which
 * is what registers and stack slots hold whether an MPI has integers or pointers; only the backend looks into them.
 */
#ifndef IOLENS_MPI_H
#define IOLENS_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve.h"

/* ---- wrapping ---- */

/*
 * The next definition of a name, searched until there is an MPI. `instead_` stands in for a name that the MPI lacks;
 * without it the process ends as by the linker's "undefined symbol".
 */
#define MPI_NEXT(type_, name_, instead_)                                                                \
	((type_ *)({                                                                                    \
		static struct mpi_next found_;                                                          \
		void *at_ = __atomic_load_n(&found_.at, __ATOMIC_ACQUIRE);                              \
		__builtin_expect(at_ != NULL, 1) ? at_ : mpi_find(&found_, #name_, (void *)(instead_)); \
	}))

struct mpi_next {
	void *at;
	uint64_t missed; /* as in struct late */
};

__attribute__((cold)) void *mpi_find(struct mpi_next *found, const char *name, void *instead);

/* Part of the file name of every MPI's library. */
#define MPI_LIBRARY "mpi"

/* The stack address of the outermost MPI call of this thread, 0 = none. Deeper addresses are calls from inside it. */
extern __thread uintptr_t mpi_outermost __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What it returns to. */
extern __thread uintptr_t mpi_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum { MPI_STACK = 4 << 20 }; /* what lies further away is not inside: an error handler left the call by longjmp */

static inline bool mpi_inside(uintptr_t frame)
{
	return mpi_outermost > frame && mpi_outermost - frame < MPI_STACK;
}

#define MPI_UNPACK(...) __VA_ARGS__

/* One exported name around body_<symbol>; `name` must have the symbol's contract. */
#define MPI_ENTRY(name, symbol, parameters, arguments, instead_)                               \
	int mpi_entry_##name parameters __asm__(#name) __attribute__((visibility("default"))); \
	int mpi_entry_##name parameters                                                        \
	{                                                                                      \
		type_##symbol *next = MPI_NEXT(type_##symbol, name, instead_);                 \
		uintptr_t frame_ = (uintptr_t)__builtin_frame_address(0);                      \
		if (mpi_inside(frame_))                                                        \
			return next arguments;                                                 \
		mpi_outermost = frame_;                                                        \
		mpi_caller = (uintptr_t)__builtin_return_address(0);                           \
		int result_ = body_##symbol(next, MPI_UNPACK arguments);                       \
		mpi_outermost = 0;                                                             \
		return result_;                                                                \
	}

#define WRAP_MPI(symbol, parameters, arguments) WRAP_MPI_OR(NULL, symbol, parameters, arguments)

/*
 * The same for a function that not every MPI has. Programs that probe for it by a weak reference or dlsym find ours, so
 * that it must not fail where they could have done without it: `instead` has its type and does its work, or returns an
 * error.
 */
#define WRAP_MPI_OR(instead, symbol, parameters, arguments)                          \
	typedef int type_##symbol parameters;                                        \
	static inline int body_##symbol(type_##symbol *next, MPI_UNPACK parameters); \
	MPI_ENTRY(symbol, symbol, parameters, arguments, instead)                    \
	MPI_ENTRY(P##symbol, symbol, parameters, arguments, instead)                 \
	static inline int body_##symbol(type_##symbol *next, MPI_UNPACK parameters)

/*
 * The Fortran names of a procedure: mpi_x, mpi_x_, mpi_x__, MPI_X, the same with PMPI, and mpi_x_f08_. All arguments are
 * addresses, integers are int; the body sets nothing, since the last argument (the error code) is the MPI's to set.
 *
 *	MPI_FORTRAN(file_sync, FILE_SYNC, (int *file, int *code), (file, code))
 *	{
 *		... next(file, code); ...
 *	}
 */
#define MPI_FORTRAN_ENTRY(name, symbol, parameters, arguments)                                  \
	void mpi_entry_##name parameters __asm__(#name) __attribute__((visibility("default"))); \
	void mpi_entry_##name parameters                                                        \
	{                                                                                       \
		type_f_##symbol *next = MPI_NEXT(type_f_##symbol, name, NULL);                  \
		uintptr_t frame_ = (uintptr_t)__builtin_frame_address(0);                       \
		if (mpi_inside(frame_)) {                                                       \
			next arguments;                                                         \
			return;                                                                 \
		}                                                                               \
		mpi_outermost = frame_;                                                         \
		body_f_##symbol(next, MPI_UNPACK arguments);                                    \
		mpi_outermost = 0;                                                              \
	}

#define MPI_FORTRAN(lower, upper, parameters, arguments)                                \
	typedef void type_f_##lower parameters;                                         \
	static inline void body_f_##lower(type_f_##lower *next, MPI_UNPACK parameters); \
	MPI_FORTRAN_ENTRY(mpi_##lower, lower, parameters, arguments)                    \
	MPI_FORTRAN_ENTRY(mpi_##lower##_, lower, parameters, arguments)                 \
	MPI_FORTRAN_ENTRY(mpi_##lower##__, lower, parameters, arguments)                \
	MPI_FORTRAN_ENTRY(MPI_##upper, lower, parameters, arguments)                    \
	MPI_FORTRAN_ENTRY(pmpi_##lower, lower, parameters, arguments)                   \
	MPI_FORTRAN_ENTRY(pmpi_##lower##_, lower, parameters, arguments)                \
	MPI_FORTRAN_ENTRY(pmpi_##lower##__, lower, parameters, arguments)               \
	MPI_FORTRAN_ENTRY(PMPI_##upper, lower, parameters, arguments)                   \
	MPI_FORTRAN_ENTRY(mpi_##lower##_f08_, lower, parameters, arguments)             \
	static inline void body_f_##lower(type_f_##lower *next, MPI_UNPACK parameters)

/* ---- what an MPI can be asked: one small shared object per ABI, opened at MPI_Init ---- */

enum { MPI_BACKEND_VERSION = 7 };

enum mpi_handle { MPI_HANDLE_COMM, MPI_HANDLE_FILE, MPI_HANDLE_INFO, MPI_HANDLE_TYPE, MPI_HANDLE_REQUEST };

enum mpi_moved { MPI_MOVED_UNKNOWN = -1, MPI_MOVED_FAILED = -2 };

/* Functions of type int return 0, or another number when the MPI reports an error; none of them prints or aborts. */
struct mpi_backend {
	uint32_t version;
	uint32_t size;    /* of this struct */
	const char *name; /* "mpich", "openmpi", "abi" */

	/* Finds every function that the others need; false when one is missing. Called once, by the runtime. */
	bool (*start)(void *(*find)(const char *name));

	/* -- for modules -- */
	int (*comm)(uintptr_t comm, int *size, int *rank);
	int64_t (*type_size)(uintptr_t type); /* bytes, -1 = unknown; 64 bits */
	bool (*type_named)(uintptr_t type);   /* one of the MPI's own, which are never freed */
	bool (*in_place)(const void *buffer); /* MPI_IN_PLACE instead of one */
	/* Waits for all ranks of an intracommunicator of several. False: there is none to wait for. */
	bool (*synchronize)(uintptr_t comm);
	int (*peers)(uintptr_t comm);   /* that a collective call sends to: of an intercommunicator the other group */
	int (*targets)(uintptr_t comm); /* neighbours in its topology to which this rank sends */
	bool (*info_is_null)(uintptr_t info);
	/* Where in the file the offset `at` of its view lies, in bytes; that of its pointer without one. -1 = unknown. */
	int64_t (*file_offset)(uintptr_t file, const int64_t *at);
	int (*mode)(int mode); /* of a file, in the bits of MPICH and Open MPI, which are those of the log */

	/*
	 * A handle as a key: 0 for the null handle, else the same for the same object as long as it lives. `key` takes what
	 * was passed by value, `load` what a pointer to a handle points to; handle_size is the stride of arrays.
	 */
	uintptr_t (*key)(enum mpi_handle kind, uintptr_t handle);
	uintptr_t (*load)(enum mpi_handle kind, const void *at);
	size_t (*handle_size)(enum mpi_handle kind);

	/*
	 * Statuses of finished operations: one, or an array. `prepare` makes room of ours one that says nothing yet; `moved` is
	 * how the i-th operation of a call that returned `code` ended: bytes, or a value of mpi_moved.
	 */
	bool (*statuses_ignored)(const void *statuses);
	size_t (*status_size)(void);
	void (*statuses_prepare)(void *statuses, int64_t count);
	int64_t (*status_moved)(int code, const void *statuses, int64_t i);

	/* -- for the runtime's finalize: a communicator of our own, and requests with numbers from 0 -- */
	int (*world)(int *size, int *rank, bool *spawned);
	int (*session_world)(const void *session, bool fortran, int *size, int *rank); /* where its handle lies */
	bool (*may_communicate)(void);  /* initialized by MPI_Init, not finalized, and this thread is allowed to */
	int (*open_begin)(int request); /* duplicates MPI_COMM_WORLD */
	int (*open_end)(void);          /* when that request is done: errors are returned from now on */
	int (*close)(void);
	/* From every rank, to all: needs no communicator of our own, and may run while that is made. */
	int (*gather)(int request, const void *from, void *to, int bytes);
	int (*send)(int request, const void *from, int64_t bytes, int to, int tag);
	int (*receive)(int request, void *to, int64_t bytes, int from, int tag);
	int (*test)(int request, bool *done);
	int (*cancel)(int request); /* a receive without a matching message */

	/*
	 * -- and the other way to write: collective MPI-IO of these ranks into a file that is there, with hints
	 * "key=value;key=value". MPI cannot open and close files without blocking --
	 */
	int (*file_open)(const char *path, const char *hints, const int *ranks, int n);
	int (*file_write_all)(int request, int64_t at, const void *from, int64_t bytes);
	int (*file_close)(void);
};

/* NULL: no backend fits, or no MPI is initialized; wrappers then pass through. */
const struct mpi_backend *mpi_backend(void);

#endif
