/* The patterns of IOR: (s)hared or (f)ile per process, (c)ollective or (i)ndependent, (v)iewed through strides. */
#include "must.h"

enum { TRANSFER = 4096, TRANSFERS = 4, SEGMENTS = 2 };

static int shared, collective, strided;
static char data[TRANSFER];

static MPI_Offset offset(int segment, int transfer)
{
	MPI_Offset block = (MPI_Offset)TRANSFER * TRANSFERS;
	if (strided)
		return (MPI_Offset)(segment * TRANSFERS + transfer) * TRANSFER;
	return (shared ? segment * block * ranks + rank * block : segment * block) + (MPI_Offset)transfer * TRANSFER;
}

static void move(MPI_Offset at, int writing)
{
	if (writing)
		MUST((collective ? MPI_File_write_at_all : MPI_File_write_at)(file, at, data, TRANSFER, MPI_BYTE,
									      MPI_STATUS_IGNORE));
	else
		MUST((collective ? MPI_File_read_at_all : MPI_File_read_at)(file, at, data, TRANSFER, MPI_BYTE,
									    MPI_STATUS_IGNORE));
}

static void phase(const char *name, int writing)
{
	MPI_Datatype type;
	int mode = writing ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
	MUST(MPI_File_open(shared ? MPI_COMM_WORLD : MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file));
	if (strided) {
		int sizes = TRANSFER * ranks, part = TRANSFER, begin = TRANSFER * rank;
		MPI_Type_create_subarray(1, &sizes, &part, &begin, MPI_ORDER_C, MPI_BYTE, &type);
		MPI_Type_commit(&type);
		MUST(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
	}
	for (int s = 0; s < SEGMENTS; s++)
		for (int t = 0; t < TRANSFERS; t++)
			move(offset(s, t), writing);
	if (writing)
		MUST(MPI_File_sync(file));
	MUST(MPI_File_close(&file));
	if (strided)
		MPI_Type_free(&type);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	char name[32] = "shared";
	start(&argc, &argv);
	CHECK(argc == 2);
	shared = strchr(argv[1], 's') != NULL;
	collective = strchr(argv[1], 'c') != NULL;
	strided = strchr(argv[1], 'v') != NULL;
	if (!shared)
		snprintf(name, sizeof name, "own.%d", rank);
	phase(name, 1);
	phase(name, 0);
	MPI_Finalize();
	return 0;
}
