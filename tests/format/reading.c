#include "log.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "make.h"
#include "unit.h"

static int open_bytes(const void *data, size_t size, struct log_error *err)
{
	struct log *log;
	int code = log_open_memory(&log, data, size, err);
	log_close(log);
	return code;
}

TEST(open_says_what_is_wrong_with_a_file_that_is_no_log)
{
	static const struct {
		const char *data;
		size_t size;
		int code;
		const char *message;
	} cases[] = {
		{"", 0, LOG_E_NOT_LOG, "empty file"},
		{"3.41", 4, LOG_E_NOT_LOG, "not a Darshan log"},
		{"hello, this is a text file with some length", 40, LOG_E_NOT_LOG, "not a Darshan log"},
		{"\x1f\x8b\x08 gzip gzip gzip gzip", 24, LOG_E_OLD, "gzip data"},
		{"BZh9 bzip2 bzip2 bzip2", 20, LOG_E_OLD, "bzip2 data"},
		{"2.05\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18, LOG_E_OLD, "log of Darshan 1.x or 2.x"},
		{"2.05\0\0\0\0\x37\x35\x64\0\0\0\0\0\0", 17, LOG_E_OLD, "log of Darshan 1.x or 2.x"},
		{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17, LOG_E_UNFINISHED,
		 "header was never written: the job was still running or was killed"},
		{"3.41\0\0\0\0\x37\x35\x64\0\0\0\0\0\0", 17, LOG_E_TRUNCATED, "file ends in the header"},
		{"3.99\0\0\0\0\x37\x35\x64\0\0\0\0\0\0", 17, LOG_E_VERSION, "log format 3.99 is not known"},
		{"3.41x\0\0\0\x37\x35\x64\0\0\0\0\0\0", 17, LOG_E_VERSION, "log format 3.41x is not known"},
		{"4.00\0\0\0\0\x37\x35\x64\0\0\0\0\0\0", 17, LOG_E_VERSION, "log format 4.00 is not known"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log_error err = {0};
		EQUAL(open_bytes(cases[i].data, cases[i].size, &err), cases[i].code);
		TEXT(err.message, cases[i].message);
	}
}

TEST(open_refuses_an_unknown_compression)
{
	struct log_error err = {0};
	size_t size;
	uint8_t *data = make_log(&size);
	data[16] = 3;
	EQUAL(open_bytes(data, size, &err), LOG_E_DAMAGED);
	EQUAL(err.offset, 16);
	free(data);
}

TEST(open_refuses_directories_and_missing_files)
{
	struct log *log;
	struct log_error err = {0};
	EQUAL(log_open_file(&log, "/", &err), LOG_E_NOT_LOG);
	TEXT(err.message, "is a directory");
	EQUAL(log_open_file(&log, "/dev/null", &err), LOG_E_NOT_LOG);
	EQUAL(log_open_file(&log, "/nonexistent/a.darshan", &err), LOG_E_IO);
	TEXT(err.message, "cannot be opened");
	CHECK(err.system != 0);
	CHECK(!log);
}

TEST(job_mounts_are_sorted_and_matched_by_component)
{
	size_t size;
	uint8_t *data = make_log(&size);
	struct log *log;
	const struct log_job *job;
	log_open_memory(&log, data, size, NULL);
	EQUAL(log_job(log, &job, NULL), 0);
	EQUAL(job->nmounts, 3);
	TEXT(job->mounts[0].key, "/data/fast");
	TEXT(job->mounts[2].key, "/");
	TEXT(log_mount_of(job, "/data/fast/x")->value, "nfs");
	TEXT(log_mount_of(job, "/data/fast")->value, "nfs");
	TEXT(log_mount_of(job, "/data/faster")->value, "lustre");
	TEXT(log_mount_of(job, "/database")->value, "ext4");
	CHECK(!log_mount_of(job, "<STDOUT>"));
	log_close(log);
	free(data);
}

/* One record in every container, byte order and compression. */
static void check_container(const struct other_log *o)
{
	size_t size;
	struct log *log;
	struct log_records *records;
	struct log_record r;
	const struct log_job *job;
	uint8_t *data = make_other_log(o, &size);
	EQUAL(log_open_memory(&log, data, size, NULL), 0);
	EQUAL(log_container(log)->swapped, o->swapped);
	EQUAL(log_job(log, &job, NULL), 0);
	EQUAL(job->uid, 7);
	EQUAL(job->id, 42);
	EQUAL(job->nprocs, 4);
	TEXT(job->exe, "./prog arg");
	TEXT(job->metadata[1].value, "a=b");
	EQUAL(job->nmounts, 2);
	NEAR(log_run_time(log), o->minor < 41 ? 101 : 100.25);
	TEXT(log_name(log, 5), "/five");
	CHECK(!log_name(log, 6));
	EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(r.size, sizeof(struct posix_record));
	CHECK(!memcmp(r.data, o->region[0].data, r.size));
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(containers_of_all_versions_byte_orders_and_compressions_are_read)
{
	static const int minors[] = {0, 10, 20, 21, 41};
	uint64_t seed = 3;
	struct posix_record p;
	make_posix(&p, &seed, 5, 2);
	for (int i = 0; i < 5; i++)
		for (int swapped = 0; swapped < 2; swapped++)
			for (int c = 0; c < LOG_COMPRESSIONS; c++) {
				struct other_log o = {
					.minor = minors[i], .swapped = swapped, .compression = c, .regions = 1};
				o.region[0] = (struct other_region){1, 4, &p, sizeof p};
#ifndef HAVE_BZIP2
				if (c == LOG_BZIP2)
					continue;
#else
				log_enable_bzip2();
#endif
				check_container(&o);
			}
}

TEST(module_ids_of_old_containers_become_todays)
{
	static const struct {
		int minor, old, now;
	} cases[] = {
		{0, 4, LOG_MOD_PNETCDF_FILE}, {0, 5, LOG_MOD_BGQ},           {10, 3, LOG_MOD_H5F},
		{10, 6, LOG_MOD_LUSTRE},      {10, 7, LOG_MOD_STDIO},        {10, 9, LOG_MOD_DXT_MPIIO},
		{20, 4, LOG_MOD_H5D},         {20, 5, LOG_MOD_PNETCDF_FILE}, {21, 8, LOG_MOD_STDIO},
		{21, 13, LOG_MOD_APMPI},      {21, 14, LOG_MOD_HEATMAP},     {41, 9, LOG_MOD_STDIO},
	};
	static const uint64_t words[32];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct other_log o = {.minor = cases[i].minor, .compression = LOG_PLAIN, .regions = 1};
		o.region[0] = (struct other_region){cases[i].old, 2, words, sizeof words};
		o.partial = 1ull << cases[i].old;
		size_t size;
		struct log *log;
		uint8_t *data = make_other_log(&o, &size);
		EQUAL(log_open_memory(&log, data, size, NULL), 0);
		EQUAL(log_container(log)->module[cases[i].now].length, sizeof words);
		EQUAL(log_container(log)->module_version[cases[i].now], 2);
		EQUAL(log_container(log)->partial, 1ull << cases[i].now);
		log_close(log);
		free(data);
	}
}

/* Reads the only record of a module; returns the number of records. */
static int read_one(const struct other_log *o, int module, void *out, size_t room)
{
	size_t size;
	struct log *log;
	struct log_records *records;
	struct log_record r;
	int n = 0;
	uint8_t *data = make_other_log(o, &size);
	EQUAL(log_open_memory(&log, data, size, NULL), 0);
	EQUAL(log_records_open(&records, log, module, NULL), 0);
	for (; log_records_next(records, &r, NULL) > 0; n++)
		memcpy(out, r.data, r.size < room ? r.size : room);
	log_records_close(records);
	log_close(log);
	free(data);
	return n;
}

/* Words 0, 1, 2... after id and rank: which counter came from where shows in its value. */
static void number_words(uint64_t *words, size_t n, size_t integers)
{
	words[0] = 5;
	words[1] = 1;
	for (size_t i = 2; i < n; i++) {
		double d = (double)i;
		words[i] = i;
		if (i >= 2 + integers)
			memcpy(&words[i], &d, 8);
	}
}

TEST(posix_3_records_get_the_counters_they_lack)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		uint64_t words[83];
		struct posix_record p = {0};
		number_words(words, 83, 64);
		struct other_log o = {.minor = 10, .swapped = swapped, .compression = LOG_ZLIB, .regions = 1};
		o.region[0] = (struct other_region){1, 3, words, sizeof words};
		EQUAL(read_one(&o, LOG_MOD_POSIX, &p, sizeof p), 1);
		EQUAL(p.opens, 2);
		EQUAL(p.filenos, -1);
		EQUAL(p.dups, -1);
		EQUAL(p.reads, 3);
		EQUAL(p.fdsyncs, 9);
		EQUAL(p.rename_sources, -1);
		EQUAL(p.renamed_from, 0);
		EQUAL(p.mode, 10);
		EQUAL(p.slowest_rank_bytes, 65);
		NEAR(p.open_start_timestamp, 66);
		NEAR(p.variance_rank_bytes, 82);
	}
}

TEST(posix_2_records_get_two_time_stamps)
{
	uint64_t words[81];
	struct posix_record p = {0};
	number_words(words, 81, 64);
	struct other_log o = {.minor = 0, .compression = LOG_ZLIB, .regions = 1};
	o.region[0] = (struct other_region){1, 2, words, sizeof words};
	EQUAL(read_one(&o, LOG_MOD_POSIX, &p, sizeof p), 1);
	NEAR(p.write_start_timestamp, 68);
	NEAR(p.close_start_timestamp, -1);
	NEAR(p.open_end_timestamp, -1);
	NEAR(p.read_end_timestamp, 69);
	NEAR(p.close_end_timestamp, 71);
	NEAR(p.variance_rank_bytes, 80);
}

TEST(posix_1_records_lose_their_stream_counters_or_are_dropped)
{
	uint64_t words[2 * 85];
	struct posix_record p = {0};
	number_words(words, 85, 68);
	number_words(words + 85, 85, 68);
	words[8] = 0; /* FOPENS of the first record */
	struct other_log o = {.minor = 0, .compression = LOG_ZLIB, .regions = 1};
	o.region[0] = (struct other_region){1, 1, words, sizeof words};
	EQUAL(read_one(&o, LOG_MOD_POSIX, &p, sizeof p), 1);
	EQUAL(p.mmaps, 7);
	EQUAL(p.fsyncs, 12);
	EQUAL(p.slowest_rank_bytes, 69);
	NEAR(p.open_start_timestamp, 70);
}

TEST(stdio_1_records_get_fdopens)
{
	uint64_t words[30];
	struct stdio_record s = {0};
	number_words(words, 30, 13);
	struct other_log o = {.minor = 21, .compression = LOG_ZLIB, .regions = 1};
	o.region[0] = (struct other_region){8, 1, words, sizeof words};
	EQUAL(read_one(&o, LOG_MOD_STDIO, &s, sizeof s), 1);
	EQUAL(s.opens, 2);
	EQUAL(s.fdopens, -1);
	EQUAL(s.reads, 3);
	NEAR(s.meta_time, 15);
}

static size_t put_heatmap(uint64_t *words, int64_t rank, int64_t bins, double width)
{
	words[0] = 9;
	words[1] = (uint64_t)rank;
	memcpy(&words[2], &width, 8);
	words[3] = (uint64_t)bins;
	words[4] = words[5] = 0xdeadbeef;
	for (int64_t i = 0; i < 2 * bins; i++)
		words[6 + i] = (uint64_t)(100 * rank + i);
	return 6 + 2 * (size_t)bins;
}

TEST(heat_maps_get_as_many_bins_as_the_first)
{
	uint64_t words[128];
	size_t n = put_heatmap(words, 0, 4, 0.1);
	n += put_heatmap(words + n, 1, 5, 0.1);
	n += put_heatmap(words + n, 2, 3, 0.1);
	n += put_heatmap(words + n, 3, 5, 0.2); /* another width: left alone */
	struct other_log o = {.minor = 41, .compression = LOG_ZLIB, .regions = 1};
	o.region[0] = (struct other_region){15, 1, words, 8 * n};
	size_t size;
	struct log *log;
	struct log_records *records;
	struct log_record r;
	uint8_t *data = make_other_log(&o, &size);
	static const int64_t bins[] = {4, 4, 4, 5};
	log_open_memory(&log, data, size, NULL);
	log_records_open(&records, log, LOG_MOD_HEATMAP, NULL);
	for (int i = 0; i < 4; i++) {
		struct made_heatmap h = {0};
		EQUAL(log_records_next(records, &r, NULL), 1);
		memcpy(&h, r.data, r.size);
		EQUAL(h.head.nbins, bins[i]);
		EQUAL(r.size, sizeof h.head + 16 * (size_t)bins[i]);
		EQUAL(h.head.unused[0], 0);
		EQUAL(h.bins[0], 100 * i);
		int64_t stored = i == 1 || i == 3 ? 5 : i == 2 ? 3 : 4;
		EQUAL(h.bins[bins[i]], 100 * i + stored); /* first read bin */
		if (i == 2)
			EQUAL(h.bins[3], 0);
	}
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(records_of_newer_versions_and_unknown_modules_are_unsupported)
{
	static const uint64_t words[88];
	struct other_log o = {.minor = 41, .compression = LOG_PLAIN, .regions = 4};
	o.region[0] = (struct other_region){1, 5, words, sizeof words};
	o.region[1] = (struct other_region){10, 3, words, sizeof words};
	o.region[2] = (struct other_region){9, 0, words, sizeof words};
	o.region[3] = (struct other_region){40, 1, words, sizeof words};
	size_t size;
	struct log *log;
	struct log_records *records;
	uint8_t *data = make_other_log(&o, &size);
	log_open_memory(&log, data, size, NULL);
	EQUAL(log_records_open(&records, log, 1, NULL), LOG_E_UNSUPPORTED);
	EQUAL(log_records_open(&records, log, 10, NULL), LOG_E_UNSUPPORTED);
	EQUAL(log_records_open(&records, log, 9, NULL), LOG_E_DAMAGED);
	EQUAL(log_records_open(&records, log, 40, NULL), LOG_E_UNSUPPORTED);
	EQUAL(log_records_open(&records, log, 64, NULL), LOG_E_USAGE);
	CHECK(!records);
	TEXT(log_module_name(2), "MPI-IO");
	TEXT(log_module_name(40), "<UNKNOWN>");
	log_close(log);
	free(data);
}

/* Damage within the records of one module; the code of the last log_records_next. */
static int read_to_end(const struct other_log *o, int module, int *records_read, struct log_error *err)
{
	size_t size;
	struct log *log;
	struct log_records *records;
	struct log_record r;
	uint8_t *data = make_other_log(o, &size);
	int code;
	*records_read = 0;
	log_open_memory(&log, data, size, NULL);
	log_records_open(&records, log, module, NULL);
	while ((code = log_records_next(records, &r, err)) > 0)
		++*records_read;
	log_records_close(records);
	log_close(log);
	free(data);
	return code;
}

TEST(damage_in_a_region_ends_it_with_an_error)
{
	struct log_error err = {0};
	uint64_t seed = 1, words[64];
	struct posix_record p[2];
	int n;
	make_posix(&p[0], &seed, 1, 0);
	make_posix(&p[1], &seed, 2, 9);
	struct other_log o = {.minor = 41, .compression = LOG_ZLIB, .regions = 1};
	o.region[0] = (struct other_region){1, 4, p, sizeof p[0] + 8};
	EQUAL(read_to_end(&o, LOG_MOD_POSIX, &n, &err), LOG_E_DAMAGED);
	TEXT(err.message, "region ends within a record");
	EQUAL(n, 1);
	o.region[0].size = sizeof p;
	EQUAL(read_to_end(&o, LOG_MOD_POSIX, &n, &err), LOG_E_DAMAGED);
	TEXT(err.message, "record of a rank that the job does not have");
	EQUAL(n, 1);
	put_heatmap(words, 0, 4, 0.1);
	words[3] = 1ull << 60;
	o.region[0] = (struct other_region){15, 1, words, sizeof words};
	EQUAL(read_to_end(&o, LOG_MOD_HEATMAP, &n, &err), LOG_E_DAMAGED);
	TEXT(err.message, "heat map with an absurd number of bins");
	words[3] = (uint64_t)-1;
	EQUAL(read_to_end(&o, LOG_MOD_HEATMAP, &n, &err), LOG_E_DAMAGED);
}

static void point_region(uint8_t *data, int module, uint64_t offset, uint64_t length)
{
	memcpy(data + 48 + 16 * module, &offset, 8);
	memcpy(data + 56 + 16 * module, &length, 8);
}

TEST(regions_outside_of_the_file_or_over_others_are_refused)
{
	static const struct {
		uint64_t offset, length;
		int code;
	} cases[] = {
		{100, 50, LOG_E_DAMAGED},
		{UINT64_MAX, 50, LOG_E_DAMAGED},
		{1328, UINT64_MAX - 1328, LOG_E_DAMAGED},
		{1328, 10, LOG_E_DAMAGED},
	};
	size_t size;
	uint8_t *data = make_log(&size);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log *log;
		struct log_records *records;
		point_region(data, LOG_MOD_POSIX, cases[i].offset, cases[i].length);
		log_open_memory(&log, data, size, NULL);
		EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), cases[i].code);
		EQUAL(log_records_open(&records, log, LOG_MOD_HEATMAP, NULL), 0);
		log_records_close(records);
		log_close(log);
	}
	free(data);
}

TEST(a_module_without_data_has_no_records)
{
	size_t size;
	uint8_t *data = make_log(&size);
	struct log *log;
	struct log_records *records;
	struct log_record r;
	point_region(data, LOG_MOD_POSIX, UINT64_MAX, 0);
	log_open_memory(&log, data, size, NULL);
	EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(names_keep_the_first_that_is_not_empty)
{
	struct log_writer *w;
	struct log *log;
	struct log_job_text job = make_job(1);
	size_t size;
	log_writer_memory(&w, NULL);
	log_write_job(w, &job);
	log_write_name(w, 7, "");
	log_write_name(w, 7, "seven");
	log_write_name(w, 7, "again");
	log_write_name(w, 3, "three");
	log_write_name(w, 8, "");
	EQUAL(log_writer_finish(w, NULL), 0);
	const void *data = log_writer_data(w, &size);
	log_open_memory(&log, data, size, NULL);
	EQUAL(log_names_count(log), 3);
	TEXT(log_name(log, 7), "seven");
	TEXT(log_name(log, 8), "");
	uint64_t id;
	TEXT(log_name_at(log, 0, &id), "three");
	EQUAL(id, 3);
	log_close(log);
	log_writer_free(w);
}
