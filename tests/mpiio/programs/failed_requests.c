/* Of several requests in one call some fail, and only their statuses say which; faulty.c below us sees to it. */
#include "faulty.h"
#include "must.h"

enum { SIZE = 100, REQUESTS = 5, MANY = 40 };
static char data[SIZE];
static MPI_Request request[MANY];
static MPI_Status statuses[MANY];

/* Those at odd places fail. */
static void post(int n)
{
	for (int i = 0; i < n; i++)
		MUST(MPI_File_iwrite_at(file, SIZE * (MPI_Offset)i + (i % 2 ? FAULTY : 0), data, SIZE, MPI_CHAR,
					&request[i]));
}

static void wait_all(int n, MPI_Status *to)
{
	post(n);
	CHECK(MPI_Waitall(n, request, to) == MPI_ERR_IN_STATUS);
}

static void test_all(MPI_Status *to)
{
	int flag = 0, code = MPI_SUCCESS;
	post(REQUESTS);
	while (!flag)
		code = MPI_Testall(REQUESTS, request, &flag, to);
	CHECK(code == MPI_ERR_IN_STATUS);
}

static void some(int (*complete)(int, MPI_Request *, int *, int *, MPI_Status *), MPI_Status *to)
{
	int done, indices[REQUESTS], failed = 0;
	post(REQUESTS);
	for (int left = REQUESTS; left > 0; left -= done)
		failed += complete(REQUESTS, request, &done, indices, to) == MPI_ERR_IN_STATUS;
	CHECK(failed > 0);
}

static void one_by_one(void)
{
	int index, failed = 0;
	post(REQUESTS);
	for (int i = 0; i < REQUESTS; i++)
		failed += MPI_Wait(&request[i], MPI_STATUS_IGNORE) != MPI_SUCCESS;
	post(REQUESTS);
	for (int i = 0; i < REQUESTS; i++)
		failed += MPI_Waitany(REQUESTS, request, &index, &statuses[0]) != MPI_SUCCESS;
	CHECK(failed == 4);
}

int main(int argc, char **argv)
{
	start(&argc, &argv);
	open_shared("shared", MPI_INFO_NULL);
	wait_all(REQUESTS, statuses);
	CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_ERR_IO);
	wait_all(REQUESTS, MPI_STATUSES_IGNORE);
	wait_all(MANY, MPI_STATUSES_IGNORE);
	test_all(statuses);
	test_all(MPI_STATUSES_IGNORE);
	some(MPI_Waitsome, statuses);
	some(MPI_Waitsome, MPI_STATUSES_IGNORE);
	some(MPI_Testsome, statuses);
	some(MPI_Testsome, MPI_STATUSES_IGNORE);
	one_by_one();
	MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
