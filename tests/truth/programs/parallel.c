/* One cause of ranks, or the same work without it: parallel FOLDER WHAT ARGUMENT... The computation is a sleep.
 * Numbers may end in K and M. FOLDER/data0 has 64 MiB. PART is what a rank has to write or read. */
#include <mpi.h>
#include <unistd.h>

#include "cause.h"

static int rank, ranks;

static void fail(void)
{
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static MPI_File shared(const char *name, int mode)
{
	MPI_File file;
	must(!MPI_File_open(MPI_COMM_WORLD, named(name, 0), mode, MPI_INFO_NULL, &file));
	return file;
}

/* write|read KIND SIZE PART: one shared file, in which each rank has a part of its own.
 * independent, collective: the calls of MPI-IO; posix: pwrite; ordered: by the shared file pointer */
static void part(int writes)
{
	size_t size = number(1), mine = number(2);
	off_t first = (off_t)mine * rank;
	if (is(0, "posix")) {
		int file = opened(writes ? "out" : "data", 0, writes ? O_WRONLY | O_CREAT : O_RDONLY);
		for (size_t at = 0; at < mine; at += size)
			must((writes ? pwrite(file, block, size, first + (off_t)at)
				     : pread(file, block, size, first + (off_t)at)) == (ssize_t)size);
		close(file);
		return;
	}
	MPI_File file = writes ? shared("out", MPI_MODE_WRONLY | MPI_MODE_CREATE) : shared("data", MPI_MODE_RDONLY);
	for (size_t at = 0; at < mine; at += size) {
		MPI_Offset to = first + (off_t)at;
		if (is(0, "ordered"))
			MPI_File_write_shared(file, block, (int)size, MPI_BYTE, MPI_STATUS_IGNORE);
		else if (is(0, "independent"))
			(writes ? MPI_File_write_at(file, to, block, (int)size, MPI_BYTE, MPI_STATUS_IGNORE)
				: MPI_File_read_at(file, to, block, (int)size, MPI_BYTE, MPI_STATUS_IGNORE));
		else
			(writes ? MPI_File_write_at_all(file, to, block, (int)size, MPI_BYTE, MPI_STATUS_IGNORE)
				: MPI_File_read_at_all(file, to, block, (int)size, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_File_close(&file);
}

/* gather TOTAL: rank 0 writes all that the ranks have */
static void gather(void)
{
	size_t mine = number(0) / ranks;
	char *all = rank ? NULL : malloc(number(0));
	MPI_Gather(block, (int)mine, MPI_BYTE, all, (int)mine, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rank)
		return;
	int file = opened("out", 0, O_WRONLY | O_CREAT);
	for (size_t at = 0; at < number(0); at += 4 * MB)
		must(write(file, all + at, 4 * MB) == 4 * MB);
	close(file);
}

/* own write|read TOTAL FIRST: files of the ranks' own; rank 0 has FIRST bytes, the others share the rest; in 1 MiB */
static void own(void)
{
	size_t mine = rank ? (number(1) - number(2)) / (ranks - 1) : number(2);
	int writes = is(0, "write");
	int file = opened(writes ? "own" : "input", (size_t)rank, writes ? O_WRONLY | O_CREAT : O_RDONLY);
	for (size_t at = 0; at < mine; at += MB)
		must((writes ? write(file, block, MB) : read(file, block, MB)) == MB);
	close(file);
}

/* inputs FIRST SIZE KEPT: makes what `own read` reads, FIRST for rank 0; it is read from the disk, or kept in the page cache */
static void inputs(void)
{
	for (int i = 0; !rank && i < ranks; i++) {
		int file = opened("input", (size_t)i, O_WRONLY | O_CREAT);
		for (size_t at = 0; at < number(i ? 1 : 0); at += MB)
			must(write(file, block, MB) == MB);
		must(is(2, "kept") || (!fsync(file) && !posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)));
		close(file);
	}
}

/* uneven TOTAL FIRST: the same in one shared file, by MPI-IO */
static void uneven(void)
{
	size_t rest = (number(0) - number(1)) / (ranks - 1), mine = rank ? rest : number(1);
	MPI_Offset first = rank ? (MPI_Offset)(number(1) + (rank - 1) * rest) : 0;
	MPI_File file = shared("out", MPI_MODE_WRONLY | MPI_MODE_CREATE);
	for (size_t at = 0; at < mine; at += MB)
		MPI_File_write_at(file, first + (MPI_Offset)at, block, MB, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* straggle FLAG PART: the last rank opens the file that all share with O_SYNC, or as the others */
static void straggle(void)
{
	int slow = is(0, "slow") && rank == ranks - 1;
	int file = opened("out", 0, O_WRONLY | O_CREAT | (slow ? O_SYNC : 0));
	for (size_t at = 0; at < number(1); at += MB)
		must(pwrite(file, block, MB, (off_t)(rank * number(1) + at)) == MB);
	close(file);
}

/* whole each|once: 512 MiB of rank 0's input into every rank, from the file or by a broadcast */
static void whole(void)
{
	int reads = is(0, "each") || !rank, file = reads ? opened("input", 0, O_RDONLY) : -1;
	for (int at = 0; at < 512; at += 4) {
		if (reads)
			must(read(file, block, 4 * MB) == 4 * MB);
		if (is(0, "once"))
			MPI_Bcast(block, 4 * MB, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
	if (reads)
		close(file);
}

/* sieve SIZE STEP TIMES: of data0 each rank's SIZE bytes of each STEP, written by an independent call with a view;
 * so many times, at other places. Each opens the file by itself: views are set without waiting for the others. */
static void sieve(void)
{
	MPI_Datatype piece;
	MPI_Info info;
	int mine = TOTAL / ranks, count = mine / (int)number(1);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_write", "enable");
	MPI_Type_vector(count, (int)number(0), (int)number(1), MPI_BYTE, &piece);
	MPI_Type_commit(&piece);
	MPI_File file;
	must(!MPI_File_open(MPI_COMM_SELF, named("data", 0), MPI_MODE_RDWR, info, &file));
	for (int i = 0; i < (int)number(2); i++) {
		MPI_Offset first = (MPI_Offset)rank * mine + i * (int)number(0);
		MPI_File_set_view(file, first, MPI_BYTE, piece, "native", info);
		MPI_File_write(file, block, count * (int)number(0), MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
}

/* late MILLISECONDS STEPS all|one: collective writes of 64 KiB; before each the last rank, or each its share, computes */
static void late(void)
{
	MPI_File file = shared("out", MPI_MODE_WRONLY | MPI_MODE_CREATE);
	for (size_t i = 0; i < number(1); i++) {
		usleep((useconds_t)(is(2, "all")        ? number(0) * 1000 / ranks
				    : rank == ranks - 1 ? number(0) * 1000
							: 0));
		MPI_Offset to = (MPI_Offset)(i * ranks + rank) * 65536;
		MPI_File_write_at_all(file, to, block, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
}

/* late_open MILLISECONDS one|all: before MPI_File_open, the last rank computes for so long, or all share it */
static void late_open(void)
{
	usleep((useconds_t)(is(1, "all") ? number(0) * 1000 / ranks : rank == ranks - 1 ? number(0) * 1000 : 0));
	MPI_File file = shared("out", MPI_MODE_WRONLY | MPI_MODE_CREATE);
	MPI_File_write_at_all(file, (MPI_Offset)rank * MB, block, (int)MB, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* steps COUNT SYNC: each writes 1 MiB per rank by MPI-IO; 1: MPI_File_sync after each */
static void steps(void)
{
	MPI_File file = shared("out", MPI_MODE_WRONLY | MPI_MODE_CREATE);
	for (size_t i = 0; i < number(0); i++) {
		MPI_Offset to = (MPI_Offset)(i * ranks + rank) * MB;
		MPI_File_write_at(file, to, block, MB, MPI_BYTE, MPI_STATUS_IGNORE);
		if (number(1))
			MPI_File_sync(file);
	}
	MPI_File_close(&file);
}

/* append COUNT reopened|kept|open: lines of 100 bytes at the end of a log of each rank, or 1,024 at a time */
static void append(void)
{
	int at_once = is(1, "open") ? 1024 : 1, file = opened("log", (size_t)rank, O_WRONLY | O_CREAT | O_APPEND);
	for (size_t i = 0; i < number(0); i += at_once) {
		if (is(1, "reopened")) {
			close(file);
			file = opened("log", (size_t)rank, O_WRONLY | O_CREAT | O_APPEND);
		}
		must(write(file, block, 100 * at_once) == 100 * at_once);
	}
	close(file);
}

/* files COUNT SIZE: each rank */
static void files(void)
{
	for (size_t i = 0; i < number(0); i++) {
		int file = opened("result", (size_t)(i * ranks + rank), O_WRONLY | O_CREAT);
		must(write(file, block, number(1)) == (ssize_t)number(1));
		close(file);
	}
}

/* load COUNT: reads of those that `files` has made, by each rank its own */
static void load(void)
{
	for (size_t i = 0; i < number(0); i++) {
		int file = opened("result", (size_t)(i * ranks + rank), O_RDONLY);
		must(read(file, block, MB) > 0);
		close(file);
	}
}

/* scan PASSES: each rank its input */
static void scan(void)
{
	int file = opened("input", (size_t)rank, O_RDONLY);
	for (size_t pass = 0; pass < number(0); pass++) {
		must(!lseek(file, 0, SEEK_SET));
		while (read(file, block, MB) > 0)
			;
	}
	close(file);
}

/* print COUNT FLUSH: lines on standard output */
static void print(void)
{
	for (size_t i = 1; i <= number(0); i++) {
		printf("rank %d: step %zu of the simulation is complete, all is well\n", rank, i);
		if (number(1) && i % number(1) == 0)
			fflush(stdout);
	}
}

/* private SIZE PART: a file of each rank's own, in pieces */
static void private(void)
{
	int file = opened("own", (size_t)rank, O_WRONLY | O_CREAT);
	for (size_t at = 0; at < number(1); at += number(0))
		must(write(file, block, number(0)) == (ssize_t)number(0));
	close(file);
}

#define CASE(name, action)       \
	if (!strcmp(what, name)) \
		action;

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	folder = argv[1];
	arguments = argv + 3;
	const char *what = argv[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	usleep(500000);
	MPI_Barrier(MPI_COMM_WORLD); /* they start at different times */
	CASE("write", part(1))
	CASE("read", part(0))
	CASE("gather", gather())
	CASE("own", own())
	CASE("inputs", inputs())
	CASE("uneven", uneven())
	CASE("straggle", straggle())
	CASE("whole", whole())
	CASE("sieve", sieve())
	CASE("late", late())
	CASE("late_open", late_open())
	CASE("steps", steps())
	CASE("append", append())
	CASE("files", files())
	CASE("load", load())
	CASE("scan", scan())
	CASE("print", print())
	CASE("private", private())
	MPI_Finalize();
	return 0;
}
