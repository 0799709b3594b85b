/* The calls that complete requests: one comparison each while no non-blocking access is under way. */
#include "mpi/mpi.h"

#include "record.h"

WRAP_MPI(MPI_Wait, (void *request, void *status), (request, status))
{
	struct mpiio_wait w;
	mpiio_wait(&w, request, 1);
	int code = next(request, mpiio_statuses(&w, 1, status));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .one = true});
	return code;
}

WRAP_MPI(MPI_Test, (void *request, int *flag, void *status), (request, flag, status))
{
	struct mpiio_wait w;
	mpiio_wait(&w, request, 1);
	int code = next(request, flag, mpiio_statuses(&w, 1, status));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .one = true});
	return code;
}

WRAP_MPI(MPI_Waitany, (int count, void *requests, int *index, void *status), (count, requests, index, status))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, index, mpiio_statuses(&w, 1, status));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .one = true});
	return code;
}

WRAP_MPI(MPI_Testany, (int count, void *requests, int *index, int *flag, void *status),
	 (count, requests, index, flag, status))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, index, flag, mpiio_statuses(&w, 1, status));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .one = true});
	return code;
}

WRAP_MPI(MPI_Waitall, (int count, void *requests, void *statuses), (count, requests, statuses))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, mpiio_statuses(&w, count, statuses));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code});
	return code;
}

WRAP_MPI(MPI_Testall, (int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, flag, mpiio_statuses(&w, count, statuses));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code});
	return code;
}

WRAP_MPI(MPI_Waitsome, (int count, void *requests, int *done, int *indices, void *statuses),
	 (count, requests, done, indices, statuses))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, done, indices, mpiio_statuses(&w, count, statuses));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .indices = indices, .done = done, .count = count});
	return code;
}

WRAP_MPI(MPI_Testsome, (int count, void *requests, int *done, int *indices, void *statuses),
	 (count, requests, done, indices, statuses))
{
	struct mpiio_wait w;
	mpiio_wait(&w, requests, count);
	int code = next(count, requests, done, indices, mpiio_statuses(&w, count, statuses));
	mpiio_on_wait(&w, (struct mpiio_said){.code = code, .indices = indices, .done = done, .count = count});
	return code;
}

WRAP_MPI(MPI_Request_free, (void *request), (request))
{
	mpiio_on_free(request);
	return next(request);
}
