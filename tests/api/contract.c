/* What the header promises beyond the examples: handles that are NULL, sizes, errors, fields of arrays. argv: log, no log. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <iolens/log.h>

static void nothing_comes_of_nothing(void)
{
	int64_t i;
	double d;
	size_t n;
	const char *a, *b;
	uint64_t id;
	struct iolens_job job;
	struct iolens_segment s;
	iolens_close(NULL);
	iolens_records_close(NULL);
	iolens_table_close(NULL);
	assert(iolens_error(NULL) == IOLENS_E_MEMORY && iolens_error_offset(NULL) == UINT64_MAX);
	assert(iolens_job(NULL, &job, sizeof job) < 0 && iolens_metadata(NULL, 0, &a, &b) < 0);
	assert(!iolens_name(NULL, 1) && iolens_name_at(NULL, 0, &id, &a) < 0);
	assert(!iolens_records_open(NULL, 1) && iolens_next(NULL) == 0 && iolens_id(NULL) == 0);
	assert(iolens_get_i64(NULL, "opens", 0, &i) < 0 && iolens_field_f64(NULL, 0, 0, &d) < 0);
	assert(!iolens_elements(NULL, 0) && !iolens_field_text(NULL, 0, 0, &n));
	assert(!iolens_segments(NULL, &s, sizeof s, 1) && !iolens_table_open(NULL, "process"));
	assert(!iolens_rows(NULL) && iolens_cell_i64(NULL, 0, 0, 0, &i) < 0);
	assert(iolens_module_id(NULL) == -1 && iolens_module_id("nosuch") == -1 && iolens_field_number(1, NULL) == -1);
}

static void sizes_are_the_callers(iolens_log *log)
{
	struct {
		struct iolens_job job;
		char behind[64];
	} room;
	memset(&room, 0x55, sizeof room);
	assert(iolens_job(log, &room.job, 16) == 1);
	assert(room.job.id == 42 && room.job.uid == 1000);
	assert(((unsigned char *)&room)[16] == 0x55);
	assert(iolens_job(log, &room.job, sizeof room) == 1);
	assert(room.job.nprocs == 4 && !strcmp(room.job.format, "3.41") && room.job.run_time == 100);
	assert(room.behind[0] == 0 && room.behind[63] == 0);
}

static void modules_and_fields(iolens_log *log)
{
	struct iolens_module m;
	struct iolens_field f;
	assert(iolens_module_id("mpiio") == 2 && iolens_module_id("MPI-IO") == 2);
	assert(iolens_module(log, 1, &m, sizeof m) && m.present && !m.partial && m.version == 4 && m.stored_size);
	assert(iolens_module(log, 9, &m, sizeof m) && !m.present && m.partial && !strcmp(m.key, "stdio"));
	assert(iolens_module(NULL, 63, &m, sizeof m) && !m.key && !iolens_module(log, 64, &m, sizeof m));
	int number = iolens_field_number(1, "size_read");
	assert(iolens_field(1, (size_t)number, &f, sizeof f) && f.count == 10 && f.type == IOLENS_I64);
	assert(iolens_field_number(1, "POSIX_SIZE_READ_1G_PLUS") == number);
	assert(iolens_field(8, (size_t)iolens_field_number(8, "component.stripe_size"), &f, sizeof f));
	assert(!strcmp(f.name, "component.stripe_size") && !f.count && !strcmp(f.unit, "bytes"));
	struct iolens_field other;
	assert(iolens_field(8, (size_t)iolens_field_number(8, "component.flags"), &other, sizeof other));
	assert(!strcmp(f.name, "component.stripe_size") && !strcmp(other.name, "component.flags"));
	assert(!iolens_field(1, 100000, &f, sizeof f) && !iolens_field(99, 0, &f, sizeof f));
}

static void counters(iolens_log *log)
{
	int64_t i;
	double d;
	iolens_records *r = iolens_records_open(log, 1);
	assert(iolens_get_i64(r, "opens", 0, &i) == IOLENS_E_USAGE);
	assert(iolens_next(r) == 1 && iolens_id(r) == 5 && iolens_rank(r) == 3);
	assert(iolens_get_i64(r, "opens", 0, &i) == 1 && i == 7);
	assert(iolens_get_i64(r, "POSIX_OPENS", 0, &i) == 1 && i == 7);
	assert(iolens_get_i64(r, "size_read_100_1k", 0, &i) == 1 && i == 8);
	assert(iolens_get_i64(r, "size_read", 1, &i) == 1 && i == 8);
	assert(iolens_get_f64(r, "read_time", 0, &d) == 1 && d == 0.25);
	assert(iolens_get_i64(r, "opens", 1, &i) < 0 && iolens_get_i64(r, "size_read", 10, &i) < 0);
	assert(iolens_get_i64(r, "nosuch", 0, &i) < 0);
	assert(iolens_next(r) == 0 && iolens_next(r) == 0);
	iolens_records_close(r);
	r = iolens_records_open(log, 2);
	assert(iolens_next(r) == 1);
	assert(iolens_get_f64(r, "close_start_timestamp", 0, &d) == 0 && d == -1);
	iolens_records_close(r);
	assert(!iolens_records_open(log, 40) && iolens_error(log) == IOLENS_E_UNSUPPORTED);
}

static void names_and_mounts(iolens_log *log)
{
	const char *a, *b;
	uint64_t id;
	assert(iolens_metadata(log, 0, &a, &b) == 1 && !strcmp(a, "lib_ver") && !strcmp(b, "3.4.7"));
	assert(iolens_metadata(log, 1, &a, &b) == 0);
	assert(iolens_mount(log, 0, &a, &b) == 1 && !strcmp(a, "/scratch") && !strcmp(b, "lustre"));
	assert(iolens_mount_of(log, "/scratch/x", NULL, &b) == 1 && !strcmp(b, "lustre"));
	assert(iolens_mount_of(log, "relative", NULL, &b) == 0);
	assert(!strcmp(iolens_name(log, 5), "/scratch/five") && !iolens_name(log, 6));
	assert(iolens_name_at(log, 0, &id, &a) == 1 && id == 5 && iolens_name_at(log, 1, &id, &a) == 0);
}

static void errors(const char *path)
{
	iolens_log *log = iolens_open(path);
	assert(iolens_error(log) == IOLENS_E_NOT_LOG && *iolens_error_message(log));
	assert(!iolens_records_open(log, 1) && !iolens_name(log, 1) && !iolens_table_name(log, 0));
	iolens_close(log);
	log = iolens_open("no/such/file");
	assert(iolens_error(log) == IOLENS_E_IO);
	iolens_close(log);
	log = iolens_open_memory("", 0);
	assert(iolens_error(log) < 0);
	iolens_close(log);
}

int main(int argc, char **argv)
{
	(void)argc;
	iolens_log *log = iolens_open(argv[1]);
	assert(iolens_error(log) == 0 && !*iolens_error_message(log));
	nothing_comes_of_nothing();
	sizes_are_the_callers(log);
	modules_and_fields(log);
	names_and_mounts(log);
	counters(log);
	errors(argv[2]);
	iolens_close(log);
	puts(iolens_version());
	return 0;
}
