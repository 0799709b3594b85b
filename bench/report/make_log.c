/*
 * A log of any size: make_log OUT RECORDS [RANKS_PER_FILE].
 *
 * RECORDS POSIX records of a job of up to 1,000 ranks, each file used by RANKS_PER_FILE of them (10), and for every
 * hundredth file one of all ranks and one of MPI-IO. The same numbers
 * make the same log.
 */
#include <stdio.h>
#include <stdlib.h>

#include "records.h"
#include "writer.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
	return x ^ (x >> 32);
}

static struct posix_record posix_of(uint64_t file, int64_t rank, uint64_t number)
{
	uint64_t dice = mix(number);
	int64_t calls = 1 + (int64_t)(dice % 64), size = dice & 64 ? 65536 : 4000;
	double start = (double)(dice % 900000) / 1000, took = (double)(dice % 5000) * 1e-6;
	struct posix_record r = {.id = mix(file), .rank = rank, .opens = 1, .mem_alignment = 8, .file_alignment = 4096};
	r.open_start_timestamp = start;
	r.open_end_timestamp = start + 1e-5;
	r.close_start_timestamp = start + took + 1e-4;
	r.close_end_timestamp = start + took + 2e-4;
	r.meta_time = 1.1e-4;
	r.access[0] = size;
	r.access_count[0] = calls;
	r.file_not_aligned = size == 4000 ? calls - 1 : 0;
	if (file % 2) {
		r.reads = r.size_read[size == 4000 ? 2 : 3] = calls;
		r.bytes_read = calls * size;
		r.max_byte_read = r.bytes_read - 1;
		r.seq_reads = r.consec_reads = calls - 1;
		r.read_start_timestamp = start + 2e-5;
		r.read_end_timestamp = start + took + 2e-5;
		r.read_time = took;
	} else {
		r.writes = r.size_write[size == 4000 ? 2 : 3] = calls;
		r.bytes_written = calls * size;
		r.max_byte_written = r.bytes_written - 1;
		r.seq_writes = r.consec_writes = calls - 1;
		r.write_start_timestamp = start + 2e-5;
		r.write_end_timestamp = start + took + 2e-5;
		r.write_time = took;
	}
	return r;
}

static struct posix_record posix_of_all(uint64_t file, int64_t nprocs)
{
	struct posix_record r = posix_of(file, -1, file);
	r.slowest_rank = (int64_t)(mix(file) % (uint64_t)nprocs);
	r.slowest_rank_bytes = r.fastest_rank_bytes = (r.bytes_read + r.bytes_written) / nprocs;
	r.slowest_rank_time = r.read_time + r.write_time + r.meta_time;
	r.fastest_rank_time = r.slowest_rank_time / 2;
	return r;
}

static void write_names(struct log_writer *w, uint64_t files)
{
	char name[128];
	for (uint64_t f = 0; f < files; f++) {
		snprintf(name, sizeof name, "/scratch/project/run-%03d/step-%04d/part.%08d.%s", (int)(f % 50),
			 (int)(f / 1000), (int)f, f % 3 ? "h5" : "dat");
		log_write_name(w, mix(f), name);
	}
}

static void write_records(struct log_writer *w, uint64_t records, uint64_t per_file, uint64_t files, int64_t nprocs)
{
	log_write_module(w, LOG_MOD_POSIX, 4);
	for (uint64_t n = 0; n < records; n++) {
		uint64_t file = n / per_file;
		struct posix_record r = file % 100 ? posix_of(file, (int64_t)((mix(file) + n) % (uint64_t)nprocs), n)
						   : posix_of_all(file, nprocs);
		if (file % 100 || n % per_file == 0)
			log_write_record(w, &r, sizeof r);
	}
	log_write_module(w, LOG_MOD_MPIIO, 3);
	for (uint64_t f = 0; f < files; f += 100) {
		struct posix_record p = posix_of_all(f, nprocs);
		struct mpiio_record r = {.id = p.id, .rank = -1, .coll_opens = nprocs, .coll_writes = p.writes};
		r.bytes_written = p.bytes_written;
		r.write_time = p.write_time;
		r.meta_time = p.meta_time;
		r.slowest_rank = p.slowest_rank;
		r.slowest_rank_time = p.slowest_rank_time;
		log_write_record(w, &r, sizeof r);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: make_log OUT RECORDS [RANKS_PER_FILE]\n");
		return 2;
	}
	uint64_t records = strtoull(argv[2], NULL, 10), per_file = argc > 3 ? strtoull(argv[3], NULL, 10) : 10;
	uint64_t files = (records + per_file - 1) / per_file;
	int64_t nprocs = files < 1000 ? 16 : 1000;
	struct log_pair mounts[] = {{"/scratch", "lustre"}, {"/", "ext4"}};
	struct log_job_text job = {.uid = 1000,
				   .start = 1700000000,
				   .end = 1700001000,
				   .nprocs = nprocs,
				   .id = 1,
				   .lib_ver = "3.4.7",
				   .exe = "./simulation",
				   .mounts = mounts,
				   .nmounts = 2};
	struct log_error err = {0};
	struct log_writer *w;
	if (log_writer_file(&w, argv[1], &err) == 0) {
		log_write_job(w, &job);
		write_names(w, files);
		write_records(w, records, per_file, files, nprocs);
		log_writer_finish(w, &err);
		log_writer_free(w);
	}
	if (err.code)
		fprintf(stderr, "%s\n", err.message);
	return err.code ? 1 : 0;
}
