/* Whole files: open, close, views, sizes, positions. */
#include "mpi/mpi.h"

#include "record.h"
#include "site.h"

WRAP_MPI(MPI_File_open, (uintptr_t communicator, const char *name, int mode, uintptr_t info, uintptr_t *file),
	 (communicator, name, mode, info, file))
{
	struct mpiio_span s = mpiio_span();
	int code = next(communicator, name, mode, info, file);
	SITE_FROM(mpi_caller, mpiio_on_open(s, code || !file ? 0 : *file, communicator, name, mode, info, code));
	return code;
}

WRAP_MPI(MPI_File_close, (uintptr_t * file), (file))
{
	struct mpiio_span s = mpiio_span_close(file ? *file : 0);
	int code = next(file);
	mpiio_on_close(s, code);
	return code;
}

WRAP_MPI(MPI_File_set_view,
	 (uintptr_t file, int64_t at, uintptr_t etype, uintptr_t filetype, const char *representation, uintptr_t info),
	 (file, at, etype, filetype, representation, info))
{
	struct mpiio_span s = mpiio_span_file(file);
	int code = next(file, at, etype, filetype, representation, info);
	mpiio_on_set_view(s, info, code);
	return code;
}

WRAP_MPI(MPI_File_sync, (uintptr_t file), (file))
{
	struct mpiio_span s = mpiio_span_file(file);
	int code = next(file);
	mpiio_on_sync(s, code);
	return code;
}

WRAP_MPI(MPI_File_set_size, (uintptr_t file, int64_t size), (file, size))
{
	struct mpiio_span s = mpiio_span();
	int code = next(file, size);
	mpiio_on_operation(s, STATE_OP_MPIIO_SET_SIZE, 0, code);
	return code;
}

WRAP_MPI(MPI_File_preallocate, (uintptr_t file, int64_t size), (file, size))
{
	struct mpiio_span s = mpiio_span();
	int code = next(file, size);
	mpiio_on_operation(s, STATE_OP_MPIIO_PREALLOCATE, size, code);
	return code;
}

WRAP_MPI(MPI_File_seek, (uintptr_t file, int64_t at, int whence), (file, at, whence))
{
	struct mpiio_span s = mpiio_span();
	int code = next(file, at, whence);
	mpiio_on_operation(s, STATE_OP_MPIIO_SEEK, 0, code);
	return code;
}

WRAP_MPI(MPI_File_seek_shared, (uintptr_t file, int64_t at, int whence), (file, at, whence))
{
	struct mpiio_span s = mpiio_span();
	int code = next(file, at, whence);
	mpiio_on_operation(s, STATE_OP_MPIIO_SEEK_SHARED, 0, code);
	return code;
}

WRAP_MPI(MPI_File_delete, (const char *name, uintptr_t info), (name, info))
{
	struct mpiio_span s = mpiio_span();
	int code = next(name, info);
	mpiio_on_operation(s, STATE_OP_MPIIO_DELETE, 0, code);
	return code;
}
