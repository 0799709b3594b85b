/* Every collective call once, blocking and not: 10 int, or as many as the rank's number and one. With `in_place`: in place. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 10, MOST = 1 << 12 };

static int out[MOST], in[MOST], rank, n;
static double from[MOST], into[MOST];
static int ones[64], steps[64], growing[64], grown[64], mine[64], spread[64], twos[64], two_steps[64];
static MPI_Datatype doubles[64];
static MPI_Request request;

#define WORLD MPI_COMM_WORLD
#define TWICE(name, other, ...)                            \
	do {                                               \
		MPI_##name(__VA_ARGS__, WORLD);            \
		MPI_##other(__VA_ARGS__, WORLD, &request); \
		MPI_Wait(&request, MPI_STATUS_IGNORE);     \
	} while (0)

static void prepare(void)
{
	for (int i = 0; i < n; i++) {
		ones[i] = 1, steps[i] = i;
		growing[i] = i + 1, grown[i] = i * (i + 1) / 2;
		mine[i] = rank + 1, spread[i] = i * (rank + 1);
		twos[i] = 2, two_steps[i] = (int)(2 * sizeof(double)) * i;
		doubles[i] = MPI_DOUBLE;
	}
}

static void from_one_and_to_one(void)
{
	TWICE(Bcast, Ibcast, out, COUNT, MPI_INT, 0);
	TWICE(Gather, Igather, out, COUNT, MPI_INT, in, COUNT, MPI_INT, 0);
	TWICE(Gatherv, Igatherv, out, rank + 1, MPI_INT, in, growing, grown, MPI_INT, 0);
	TWICE(Scatter, Iscatter, out, COUNT, MPI_INT, in, COUNT, MPI_INT, 0);
	TWICE(Scatterv, Iscatterv, out, growing, grown, MPI_INT, in, rank + 1, MPI_INT, 0);
	TWICE(Reduce, Ireduce, out, in, COUNT, MPI_INT, MPI_SUM, 0);
}

static void among_all(void)
{
	TWICE(Allgather, Iallgather, out, COUNT, MPI_INT, in, COUNT, MPI_INT);
	TWICE(Allgatherv, Iallgatherv, out, rank + 1, MPI_INT, in, growing, grown, MPI_INT);
	TWICE(Alltoall, Ialltoall, out, COUNT, MPI_INT, in, COUNT, MPI_INT);
	TWICE(Alltoallv, Ialltoallv, out, growing, grown, MPI_INT, in, mine, spread, MPI_INT);
	TWICE(Alltoallw, Ialltoallw, from, twos, two_steps, doubles, into, twos, two_steps, doubles);
	TWICE(Allreduce, Iallreduce, out, in, COUNT, MPI_INT, MPI_SUM);
	TWICE(Reduce_scatter, Ireduce_scatter, out, in, twos, MPI_INT, MPI_SUM);
	TWICE(Reduce_scatter_block, Ireduce_scatter_block, out, in, 2, MPI_INT, MPI_SUM);
	TWICE(Scan, Iscan, out, in, COUNT, MPI_INT, MPI_SUM);
	TWICE(Exscan, Iexscan, out, in, COUNT, MPI_INT, MPI_SUM);
	MPI_Barrier(WORLD);
	MPI_Ibarrier(WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* What is not significant then means nothing: it must not be looked at. */
static void in_place(void)
{
	const MPI_Datatype none = MPI_DATATYPE_NULL;
	void *here = rank ? out : MPI_IN_PLACE;
	int counted = rank ? COUNT : 0;
	MPI_Gather(here, counted, rank ? MPI_INT : none, in, rank ? 0 : COUNT, rank ? none : MPI_INT, 0, WORLD);
	MPI_Gatherv(here, rank ? rank + 1 : 0, rank ? MPI_INT : none, in, rank ? NULL : growing, rank ? NULL : grown,
		    rank ? none : MPI_INT, 0, WORLD);
	here = rank ? in : MPI_IN_PLACE;
	MPI_Scatter(out, rank ? 0 : COUNT, rank ? none : MPI_INT, here, counted, rank ? MPI_INT : none, 0, WORLD);
	MPI_Scatterv(out, rank ? NULL : growing, rank ? NULL : grown, rank ? none : MPI_INT, here, rank ? rank + 1 : 0,
		     rank ? MPI_INT : none, 0, WORLD);
	MPI_Reduce(rank ? out : MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, 0, WORLD);
	MPI_Allgather(MPI_IN_PLACE, 0, none, in, COUNT, MPI_INT, WORLD);
	MPI_Allgatherv(MPI_IN_PLACE, 0, none, in, growing, grown, MPI_INT, WORLD);
	MPI_Alltoall(MPI_IN_PLACE, 0, none, in, COUNT, MPI_INT, WORLD);
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, none, in, ones, steps, MPI_INT, WORLD);
	MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, into, twos, two_steps, doubles, WORLD);
	MPI_Allreduce(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &rank);
	MPI_Comm_size(WORLD, &n);
	prepare();
	if (argc > 1 && strcmp(argv[1], "in_place") == 0) {
		in_place();
	} else {
		from_one_and_to_one();
		among_all();
	}
	MPI_Finalize();
	return 0;
}
