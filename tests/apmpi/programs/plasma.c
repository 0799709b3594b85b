/* A plasma code as the EPOCH study describes one, small: particles are pushed, halos exchanged, and every few steps a
 * dump is written into a shared file: thousands of fields of metadata by rank 0, then the arrays by all ranks together.
 *   plasma DUMPS FIELDS [gathered]      gathered: the metadata of a dump in one write */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { PARTICLES = 40000, STEPS = 10, HALO = 4096, FIELD = 64 };

static double x[PARTICLES], v[PARTICLES], halo[2][HALO];

static void push(void)
{
	for (int i = 0; i < PARTICLES; i++) {
		v[i] += 0.01 * (0.5 - x[i]);
		x[i] += 0.01 * v[i];
	}
}

static double exchange(int rank, int ranks)
{
	double own = 0, sum;
	memcpy(halo[0], x, sizeof halo[0]);
	MPI_Sendrecv(halo[0], HALO, MPI_DOUBLE, (rank + 1) % ranks, 0, halo[1], HALO, MPI_DOUBLE,
		     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < PARTICLES; i++)
		own += v[i] * v[i];
	MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

static void write_metadata(MPI_File f, MPI_Offset at, int fields, int gathered)
{
	char *field = calloc((size_t)fields, FIELD);
	int size = gathered ? fields * FIELD : FIELD;
	for (int done = 0; done < fields * FIELD; done += size)
		MPI_File_write_at(f, at + done, field + done, size, MPI_BYTE, MPI_STATUS_IGNORE);
	free(field);
}

static void dump(MPI_File f, int number, int fields, int gathered, int rank, int ranks)
{
	MPI_Offset metadata = (MPI_Offset)fields * FIELD, array = sizeof x;
	MPI_Offset start = number * (metadata + 2 * ranks * array);
	if (rank == 0)
		write_metadata(f, start, fields, gathered);
	MPI_File_write_at_all(f, start + metadata + rank * array, x, PARTICLES, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_write_at_all(f, start + metadata + (ranks + rank) * array, v, PARTICLES, MPI_DOUBLE,
			      MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	int rank, ranks, dumps = argc > 1 ? atoi(argv[1]) : 1, fields = argc > 2 ? atoi(argv[2]) : 1000;
	MPI_File f;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < PARTICLES; i++)
		x[i] = (double)(i + rank) / PARTICLES;
	MPI_File_open(MPI_COMM_WORLD, "plasma.sdf", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int number = 0; number < dumps; number++) {
		for (int step = 0; step < STEPS; step++) {
			push();
			exchange(rank, ranks);
		}
		dump(f, number, fields, argc > 3, rank, ranks);
	}
	MPI_File_close(&f);
	MPI_Finalize();
	return 0;
}
