/* The calls that complete requests: one comparison each while no non-blocking access is under way. */
#include "mpi/mpi.h"

#include "record.h"

WRAP_MPI(MPI_Wait, (void *request, void *status), (request, status))
{
	struct mpiio_wait w = mpiio_wait(request, 1);
	int code = next(request, status);
	mpiio_on_wait(&w, code);
	return code;
}

WRAP_MPI(MPI_Test, (void *request, int *flag, void *status), (request, flag, status))
{
	struct mpiio_wait w = mpiio_wait(request, 1);
	int code = next(request, flag, status);
	mpiio_on_wait(&w, code);
	return code;
}

/* Which of several failed, only their statuses tell: they count as done. */
WRAP_MPI(MPI_Waitall, (int count, void *requests, void *statuses), (count, requests, statuses))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, statuses);
	mpiio_on_wait(&w, false);
	return code;
}

WRAP_MPI(MPI_Testall, (int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, flag, statuses);
	mpiio_on_wait(&w, false);
	return code;
}

WRAP_MPI(MPI_Waitany, (int count, void *requests, int *index, void *status), (count, requests, index, status))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, index, status);
	mpiio_on_wait(&w, code);
	return code;
}

WRAP_MPI(MPI_Testany, (int count, void *requests, int *index, int *flag, void *status),
	 (count, requests, index, flag, status))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, index, flag, status);
	mpiio_on_wait(&w, code);
	return code;
}

WRAP_MPI(MPI_Waitsome, (int count, void *requests, int *done, int *indices, void *statuses),
	 (count, requests, done, indices, statuses))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, done, indices, statuses);
	mpiio_on_wait(&w, false);
	return code;
}

WRAP_MPI(MPI_Testsome, (int count, void *requests, int *done, int *indices, void *statuses),
	 (count, requests, done, indices, statuses))
{
	struct mpiio_wait w = mpiio_wait(requests, count);
	int code = next(count, requests, done, indices, statuses);
	mpiio_on_wait(&w, false);
	return code;
}

WRAP_MPI(MPI_Request_free, (void *request), (request))
{
	mpiio_on_free(request);
	return next(request);
}
