#include <stddef.h>
/*
 * An MPI whose Wait and Test calls report the error of single requests, as the standard has it: a layer between iolens and the
 * MPI. By themselves MPICH never completes a write that failed, and Open MPI ends the process. What tests here waits, since
 * MPICH 4 counts references wrong when several writes are tested in one call.
 */
#include "faulty.h"

#include <mpi.h>

enum { MOST = 64 };
static MPI_Request doomed[MOST];
static int ndoomed;

int MPI_File_iwrite_at(MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type, MPI_Request *request)
{
	int code = PMPI_File_iwrite_at(file, at, data, n, type, request);
	if (at >= FAULTY)
		doomed[ndoomed++] = *request;
	return code;
}

static int is_doomed(MPI_Request request)
{
	int found = -1;
	for (int i = 0; i < ndoomed; i++)
		found = doomed[i] == request ? i : found;
	return found;
}

/* What the requests were before the call, to see which have been completed. */
struct before {
	MPI_Request request[MOST];
};

static void look(struct before *b, int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++)
		b->request[i] = requests[i];
}

static int fails(struct before *b, int i, MPI_Request after)
{
	int at = b->request[i] == after ? -1 : is_doomed(b->request[i]);
	if (at >= 0)
		doomed[at] = doomed[--ndoomed];
	return at >= 0;
}

static int report(struct before *b, int count, const MPI_Request *requests, const int *indices, MPI_Status *statuses)
{
	int code = MPI_SUCCESS;
	for (int k = 0; k < count; k++) {
		int i = indices ? indices[k] : k, failed = fails(b, i, requests[i]);
		code = failed ? MPI_ERR_IN_STATUS : code;
		if (statuses != MPI_STATUSES_IGNORE)
			statuses[k].MPI_ERROR = failed ? MPI_ERR_IO : MPI_SUCCESS;
	}
	return code;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	struct before b;
	look(&b, count, requests);
	PMPI_Waitall(count, requests, statuses);
	return report(&b, count, requests, NULL, statuses);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	struct before b;
	look(&b, count, requests);
	PMPI_Waitall(count, requests, statuses);
	*flag = 1;
	return report(&b, count, requests, NULL, statuses);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	struct before b;
	look(&b, count, requests);
	PMPI_Waitsome(count, requests, done, indices, statuses);
	return report(&b, *done, requests, indices, statuses);
}

int MPI_Testsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	struct before b;
	look(&b, count, requests);
	PMPI_Waitsome(count, requests, done, indices, statuses);
	return report(&b, *done, requests, indices, statuses);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct before b;
	look(&b, 1, request);
	PMPI_Wait(request, status);
	return fails(&b, 0, *request) ? MPI_ERR_IO : MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
	struct before b;
	look(&b, count, requests);
	PMPI_Waitany(count, requests, index, status);
	return fails(&b, *index, requests[*index]) ? MPI_ERR_IO : MPI_SUCCESS;
}
