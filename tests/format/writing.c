#include "writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "make.h"
#include "unit.h"

static struct log_writer *begin(int64_t nprocs)
{
	struct log_writer *w;
	struct log_job_text job = make_job(nprocs);
	EQUAL(log_writer_memory(&w, NULL), 0);
	EQUAL(log_write_job(w, &job), 0);
	return w;
}

static struct log *reopen(struct log_writer *w)
{
	struct log *log;
	size_t size;
	EQUAL(log_writer_finish(w, NULL), 0);
	const void *data = log_writer_data(w, &size);
	EQUAL(log_open_memory(&log, data, size, NULL), 0);
	return log;
}

TEST(job_comes_back_as_it_was_written)
{
	struct log_writer *w = begin(4);
	struct log *log = reopen(w);
	const struct log_job *j;
	EQUAL(log_job(log, &j, NULL), 0);
	TEXT(log_container(log)->version, "3.41");
	EQUAL(j->uid, 1000);
	EQUAL(j->start, 1700000000);
	EQUAL(j->start_ns, 250000000);
	EQUAL(j->end_ns, 750000000);
	EQUAL(j->nprocs, 4);
	EQUAL(j->id, 4711);
	NEAR(log_run_time(log), 10.5);
	TEXT(j->exe, "./program --with \"an argument\"");
	EQUAL(j->nmetadata, 3);
	TEXT(j->metadata[0].key, "lib_ver");
	TEXT(j->metadata[0].value, "3.5.0");
	TEXT(j->metadata[1].value, "romio_no_indep_rw=true;cb_nodes=4");
	log_close(log);
	log_writer_free(w);
}

TEST(job_texts_that_do_not_fit_are_cut_as_the_format_demands)
{
	static char exe[8192], value[1024];
	memset(exe, 'x', sizeof exe - 1);
	memset(value, 'v', sizeof value - 1);
	exe[3] = '\n';
	struct log_pair metadata[] = {{"big", value}, {"small", "line\nbreak"}};
	struct log_job_text job = make_job(1);
	job.exe = exe;
	job.metadata = metadata;
	struct log_writer *w;
	log_writer_memory(&w, NULL);
	EQUAL(log_write_job(w, &job), 0);
	struct log *log = reopen(w);
	const struct log_job *j;
	EQUAL(log_job(log, &j, NULL), 0);
	EQUAL(strlen(j->exe), 3015);
	TEXT(j->exe + 3015 - 11, "<TRUNCATED>");
	EQUAL(j->exe[3], ' ');
	EQUAL(j->nmounts, 0);
	EQUAL(j->nmetadata, 2);
	TEXT(j->metadata[1].key, "small");
	TEXT(j->metadata[1].value, "line break");
	log_close(log);
	log_writer_free(w);
}

TEST(mounts_that_do_not_fit_are_left_out)
{
	static char exe[3000];
	memset(exe, 'x', sizeof exe - 1);
	struct log_job_text job = make_job(1);
	job.exe = exe;
	struct log_writer *w;
	log_writer_memory(&w, NULL);
	log_write_job(w, &job);
	struct log *log = reopen(w);
	const struct log_job *j;
	EQUAL(log_job(log, &j, NULL), 0);
	EQUAL(strlen(j->exe), 2999);
	EQUAL(j->nmounts, 1);
	TEXT(j->mounts[0].key, "/");
	log_close(log);
	log_writer_free(w);
}

/* Writes and reads `files` random records of three modules and compares every byte. */
static void round_trip(uint64_t seed, int files)
{
	uint64_t again = seed;
	struct posix_record p, p2;
	struct stdio_record s, s2;
	struct made_heatmap h, h2;
	struct log_writer *w = begin(files + 2);
	char name[64];
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof name, "/data/%llu/%d", (unsigned long long)seed, i);
		log_write_name(w, log_id(name), name);
	}
	log_write_module(w, LOG_MOD_POSIX, 4);
	for (int i = 0; i < files; i++) {
		make_posix(&p, &seed, (uint64_t)i, i - 1);
		log_write_record(w, &p, sizeof p);
	}
	log_write_module(w, LOG_MOD_STDIO, 2);
	for (int i = 0; i < files / 2; i++) {
		make_stdio(&s, &seed, (uint64_t)i, i);
		log_write_record(w, &s, sizeof s);
	}
	log_write_module(w, LOG_MOD_HEATMAP, 1);
	for (int i = 0; i < files % 7; i++)
		log_write_record(w, &h, make_heatmap(&h, &seed, 9, i, 1 + files % 200));
	struct log *log = reopen(w);
	struct log_records *records;
	struct log_record r;
	EQUAL(log_names_count(log), files);
	log_records_open(&records, log, LOG_MOD_POSIX, NULL);
	for (int i = 0; i < files; i++) {
		make_posix(&p2, &again, (uint64_t)i, i - 1);
		EQUAL(log_records_next(records, &r, NULL), 1);
		CHECK(r.rank == i - 1 && !memcmp(r.data, &p2, sizeof p2));
	}
	EQUAL(log_records_next(records, &r, NULL), 0);
	EQUAL(log_records_bytes(records), (size_t)files * sizeof p);
	log_records_close(records);
	log_records_open(&records, log, LOG_MOD_STDIO, NULL);
	for (int i = 0; i < files / 2; i++) {
		make_stdio(&s2, &again, (uint64_t)i, i);
		EQUAL(log_records_next(records, &r, NULL), 1);
		CHECK(!memcmp(r.data, &s2, sizeof s2));
	}
	log_records_close(records);
	log_records_open(&records, log, LOG_MOD_HEATMAP, NULL);
	for (int i = 0; i < files % 7; i++) {
		size_t size = make_heatmap(&h2, &again, 9, i, 1 + files % 200);
		EQUAL(log_records_next(records, &r, NULL), 1);
		CHECK(r.size == size && !memcmp(r.data, &h2, size));
	}
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	log_writer_free(w);
}

TEST(records_come_back_as_they_were_written)
{
	static const int files[] = {0, 1, 2, 5, 93, 372, 373, 374, 1000, 5000};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		round_trip(1000 + i, files[i]);
}

TEST(a_log_without_anything_is_a_log)
{
	struct log_writer *w = begin(1);
	struct log *log = reopen(w);
	const struct log_container *c = log_container(log);
	EQUAL(c->names.length, 0);
	EQUAL(c->names.offset, c->file_size);
	EQUAL(log_names_count(log), 0);
	for (int i = 0; i < LOG_MAX_MODULES; i++)
		EQUAL(c->module[i].length, 0);
	log_close(log);
	log_writer_free(w);
}

TEST(an_empty_module_takes_no_bytes)
{
	struct log_writer *w = begin(1);
	log_write_module(w, LOG_MOD_POSIX, 4);
	log_write_module(w, LOG_MOD_STDIO, 2);
	log_write_partial(w, LOG_MOD_POSIX);
	struct log *log = reopen(w);
	EQUAL(log_container(log)->module[LOG_MOD_POSIX].length, 0);
	EQUAL(log_container(log)->module_version[LOG_MOD_POSIX], 4);
	EQUAL(log_container(log)->partial, 1 << LOG_MOD_POSIX);
	log_close(log);
	log_writer_free(w);
}

static int finish_and_free(struct log_writer *w)
{
	struct log_error err = {0};
	int code = log_writer_finish(w, &err);
	EQUAL(err.code, code);
	log_writer_free(w);
	return code;
}

TEST(calls_out_of_order_make_the_log_fail)
{
	struct posix_record p = {.id = 1};
	struct log_job_text job = make_job(1);
	struct log_writer *w;

	log_writer_memory(&w, NULL);
	EQUAL(finish_and_free(w), LOG_E_USAGE);

	w = begin(1);
	EQUAL(log_write_job(w, &job), LOG_E_USAGE);
	EQUAL(finish_and_free(w), LOG_E_USAGE);

	w = begin(1);
	EQUAL(log_write_record(w, &p, sizeof p), LOG_E_USAGE);
	EQUAL(finish_and_free(w), LOG_E_USAGE);

	w = begin(1);
	EQUAL(log_write_module(w, LOG_MOD_STDIO, 2), 0);
	EQUAL(log_write_module(w, LOG_MOD_POSIX, 4), LOG_E_USAGE);
	EQUAL(finish_and_free(w), LOG_E_USAGE);

	w = begin(1);
	EQUAL(log_write_module(w, LOG_MOD_POSIX, 4), 0);
	EQUAL(log_write_name(w, 1, "late"), LOG_E_USAGE);
	EQUAL(finish_and_free(w), LOG_E_USAGE);

	w = begin(1);
	EQUAL(log_write_module(w, LOG_MOD_POSIX, 4), 0);
	EQUAL(log_write_record(w, &p, sizeof p - 8), LOG_E_USAGE);
	EQUAL(log_write_record(w, &p, sizeof p), LOG_E_USAGE);
	EQUAL(finish_and_free(w), LOG_E_USAGE);
}

static char *path_in(const char *directory, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static int write_file(const char *path)
{
	struct log_writer *w;
	struct log_job_text job = make_job(1);
	int code = log_writer_file(&w, path, NULL);
	if (code < 0)
		return code;
	log_write_job(w, &job);
	log_write_name(w, 1, "one");
	code = log_writer_finish(w, NULL);
	log_writer_free(w);
	return code;
}

TEST(files_appear_complete_and_read_only)
{
	char *directory = unit_directory();
	char *path = path_in(directory, "a.darshan"), *partial = path_in(directory, "a.darshan_partial");
	struct stat st;
	struct log_writer *w;
	struct log_job_text job = make_job(1);
	EQUAL(log_writer_file(&w, path, NULL), 0);
	EQUAL(log_write_job(w, &job), 0);
	EQUAL(access(path, F_OK), -1);
	EQUAL(access(partial, F_OK), 0);
	EQUAL(log_writer_finish(w, NULL), 0);
	log_writer_free(w);
	EQUAL(access(partial, F_OK), -1);
	EQUAL(stat(path, &st), 0);
	EQUAL(st.st_mode & 07777, 0400);
	free(path);
	free(partial);
	unit_remove(directory);
}

TEST(existing_files_are_not_overwritten)
{
	char *directory = unit_directory();
	char *path = path_in(directory, "a.darshan"), *partial = path_in(directory, "a.darshan_partial");
	EQUAL(write_file(path), 0);
	EQUAL(write_file(path), LOG_E_EXISTS);
	EQUAL(access(partial, F_OK), -1);
	struct log *log;
	EQUAL(log_open_file(&log, path, NULL), 0);
	TEXT(log_name(log, 1), "one");
	log_close(log);
	free(path);
	free(partial);
	unit_remove(directory);
}

TEST(an_abandoned_log_leaves_nothing)
{
	char *directory = unit_directory();
	char *path = path_in(directory, "plain-name"), *partial = path_in(directory, "plain-name.darshan_partial");
	struct log_writer *w;
	EQUAL(log_writer_file(&w, path, NULL), 0);
	EQUAL(access(partial, F_OK), 0);
	log_writer_free(w);
	EQUAL(access(partial, F_OK), -1);
	EQUAL(access(path, F_OK), -1);
	free(path);
	free(partial);
	unit_remove(directory);
}

TEST(a_place_that_does_not_exist_is_an_error)
{
	struct log_error err = {0};
	struct log_writer *w;
	EQUAL(log_writer_file(&w, "/nonexistent/a.darshan", &err), LOG_E_IO);
	CHECK(!w && err.system);
}

/* A full device, played by the limit on the size of files. */
TEST(a_log_that_does_not_fit_leaves_nothing)
{
	char *directory = unit_directory();
	char *path = path_in(directory, "a.darshan"), *partial = path_in(directory, "a.darshan_partial");
	struct rlimit before, small = {1400, RLIM_INFINITY};
	struct log_error err = {0};
	struct log_writer *w;
	struct log_job_text job = make_job(1);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	EQUAL(log_writer_file(&w, path, NULL), 0);
	log_write_job(w, &job);
	EQUAL(log_writer_finish(w, &err), LOG_E_IO);
	TEXT(err.message, "log cannot be written");
	log_writer_free(w);
	setrlimit(RLIMIT_FSIZE, &before);
	EQUAL(access(path, F_OK), -1);
	EQUAL(access(partial, F_OK), -1);
	free(path);
	free(partial);
	unit_remove(directory);
}
