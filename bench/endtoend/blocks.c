/* The access patterns of IOR: each rank writes its blocks, all wait, each reads its neighbour's; the same again.
 *
 * blocks API LAYOUT TRANSFER BYTES PASSES FOLDER: API posix, mpiio, collective or hdf5; LAYOUT own (a file per process) or shared
 * (one file, a segment per rank); TRANSFER bytes per call; BYTES per rank. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	const char *api;
	bool shared, collective;
	size_t transfer, bytes;
	char folder[4096];
	int rank, ranks;
	char *buffer;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "blocks: %s failed\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void name_of(const struct job *job, int rank, char *name, size_t size)
{
	snprintf(name, size, "%s/blocks.%d", job->folder, job->shared ? 0 : rank);
}

/* Where a rank's segment begins. */
static size_t start_of(const struct job *job, int rank)
{
	return job->shared ? (size_t)rank * job->bytes : 0;
}

static void pass_posix(const struct job *job, int rank, bool write)
{
	char name[4200];
	name_of(job, rank, name, sizeof name);
	int fd = open(name, write ? O_WRONLY | O_CREAT : O_RDONLY, 0644);
	need(fd >= 0, "open");
	for (size_t done = 0; done < job->bytes; done += job->transfer) {
		off_t at = (off_t)(start_of(job, rank) + done);
		ssize_t moved =
			write ? pwrite(fd, job->buffer, job->transfer, at) : pread(fd, job->buffer, job->transfer, at);
		need(moved == (ssize_t)job->transfer, write ? "pwrite" : "pread");
	}
	need(!close(fd), "close");
}

static void pass_mpiio(const struct job *job, int rank, bool write)
{
	char name[4200];
	MPI_File file;
	MPI_Status status;
	name_of(job, rank, name, sizeof name);
	int mode = write ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY;
	MPI_Comm comm = job->shared ? MPI_COMM_WORLD : MPI_COMM_SELF;
	need(!MPI_File_open(comm, name, mode, MPI_INFO_NULL, &file), "MPI_File_open");
	int count = (int)job->transfer;
	for (size_t done = 0; done < job->bytes; done += job->transfer) {
		MPI_Offset at = (MPI_Offset)(start_of(job, rank) + done);
		int failed;
		if (job->collective)
			failed = write ? MPI_File_write_at_all(file, at, job->buffer, count, MPI_BYTE, &status)
				       : MPI_File_read_at_all(file, at, job->buffer, count, MPI_BYTE, &status);
		else
			failed = write ? MPI_File_write_at(file, at, job->buffer, count, MPI_BYTE, &status)
				       : MPI_File_read_at(file, at, job->buffer, count, MPI_BYTE, &status);
		need(!failed, "MPI_File_*_at");
	}
	MPI_File_close(&file);
}

static void pass_hdf5(const struct job *job, int rank, bool write)
{
	char name[4200];
	name_of(job, rank, name, sizeof name);
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	if (job->shared)
		H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	hid_t file =
		write ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(name, H5F_ACC_RDONLY, access);
	need(file >= 0, "H5Fopen");
	hsize_t size = job->bytes * (job->shared ? (size_t)job->ranks : 1), count = job->transfer;
	hid_t space = H5Screate_simple(1, &size, NULL), memory = H5Screate_simple(1, &count, NULL);
	hid_t data = write ? H5Dcreate2(file, "data", H5T_NATIVE_CHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
			   : H5Dopen2(file, "data", H5P_DEFAULT);
	need(data >= 0, "H5Dopen");
	for (size_t done = 0; done < job->bytes; done += job->transfer) {
		hsize_t at = start_of(job, rank) + done;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &count, NULL);
		herr_t failed = write ? H5Dwrite(data, H5T_NATIVE_CHAR, memory, space, H5P_DEFAULT, job->buffer)
				      : H5Dread(data, H5T_NATIVE_CHAR, memory, space, H5P_DEFAULT, job->buffer);
		need(failed >= 0, "H5Dwrite");
	}
	H5Dclose(data);
	H5Sclose(memory);
	H5Sclose(space);
	need(H5Fclose(file) >= 0, "H5Fclose");
	H5Pclose(access);
}

int main(int argc, char **argv)
{
	struct job job = {0};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	need(argc == 7, "blocks API LAYOUT TRANSFER BYTES PASSES FOLDER");
	job.api = argv[1];
	job.collective = !strcmp(job.api, "collective");
	job.shared = !strcmp(argv[2], "shared");
	job.transfer = strtoull(argv[3], NULL, 10);
	job.bytes = strtoull(argv[4], NULL, 10) / job.transfer * job.transfer;
	snprintf(job.folder, sizeof job.folder, "%s", argv[6]);
	need(job.buffer = malloc(job.transfer), "malloc");
	memset(job.buffer, 'x', job.transfer);
	void (*pass)(const struct job *, int, bool) = !strcmp(job.api, "posix")  ? pass_posix
						      : !strcmp(job.api, "hdf5") ? pass_hdf5
										 : pass_mpiio;
	for (int passes = atoi(argv[5]); passes > 0; passes--) {
		pass(&job, job.rank, true);
		MPI_Barrier(MPI_COMM_WORLD);
		pass(&job, (job.rank + 1) % job.ranks, false);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	free(job.buffer);
	return MPI_Finalize();
}
