/*
 * Nanoseconds per call of small MPI-IO accesses in one process: prints one line per operation. mpiio OPERATION CALLS: so many of
 * one of them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_File file;
static MPI_Request request[2];
static MPI_Status statuses[2];
static char data[2];

static void read_at(void)
{
	MPI_File_read_at(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE);
}

static void write_at(void)
{
	MPI_File_write_at(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE);
}

static void read_at_all(void)
{
	MPI_File_read_at_all(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE);
}

static void iread_wait(void)
{
	MPI_File_iread_at(file, 0, data, 1, MPI_CHAR, &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

static void seek(void)
{
	MPI_File_seek(file, 0, MPI_SEEK_SET);
}

/* No file in it: what the wrapped Waitall costs everybody else. */
static void message_wait(void)
{
	MPI_Irecv(&data[0], 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request[0]);
	MPI_Isend(&data[1], 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request[1]);
	MPI_Waitall(2, request, statuses);
}

static const struct {
	const char *name;
	void (*call)(void);
	int calls;
} operations[] = {
	{"read_at", read_at, 20000},
	{"write_at", write_at, 20000},
	{"read_at_all", read_at_all, 20000},
	{"iread_at+wait", iread_wait, 5000},
	{"seek", seek, 200000},
	{"isend+irecv+waitall", message_wait, 50000},
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_File_open(MPI_COMM_SELF, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	write_at();
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		for (int k = 0; argc == 3 && !strcmp(argv[1], operations[i].name) && k < atoi(argv[2]); k++)
			operations[i].call();
		if (argc == 3)
			continue;
		for (int k = 0; k < operations[i].calls / 10; k++)
			operations[i].call();
		double start = MPI_Wtime();
		for (int k = 0; k < operations[i].calls; k++)
			operations[i].call();
		printf("%s %.1f\n", operations[i].name, (MPI_Wtime() - start) / operations[i].calls * 1e9);
	}
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}
