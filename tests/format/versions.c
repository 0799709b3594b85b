/* Old versions, variable layouts, and logs of 1.x and 2.x, through the API. */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "make.h"
#include "unit.h"

/* The log of one region, opened; *data is to be freed. */
static struct log *open_one(int module, uint32_t version, const void *bytes, size_t size, uint8_t **data)
{
	struct other_log o = {.minor = 41, .compression = LOG_PLAIN, .regions = 1};
	size_t n;
	struct log *log;
	o.region[0] = (struct other_region){module, version, bytes, size};
	*data = make_other_log(&o, &n);
	EQUAL(log_open_memory(&log, *data, n, NULL), 0);
	return log;
}

/* Code of the first record. */
static int read_first(int module, uint32_t version, const void *bytes, size_t size, struct log_error *err)
{
	uint8_t *data;
	struct log_records *records;
	struct log_record r;
	struct log *log = open_one(module, version, bytes, size, &data);
	EQUAL(log_records_open(&records, log, module, NULL), 0);
	int code = log_records_next(records, &r, err);
	log_records_close(records);
	log_close(log);
	free(data);
	return code;
}

TEST(a_record_says_what_its_version_lacked)
{
	uint64_t words[83] = {5};
	uint8_t *data;
	struct log_records *records;
	struct log_record r;
	struct log *log = open_one(LOG_MOD_POSIX, 3, words, sizeof words, &data);
	const struct schema_module *m = &schema_modules[LOG_MOD_POSIX];
	EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
	CHECK(!log_records_have(records, schema_by_name(m, "dups")));
	CHECK(log_records_have(records, schema_by_name(m, "opens")));
	EQUAL(log_records_next(records, &r, NULL), 1);
	CHECK(!log_record_has(&r, schema_by_name(m, "dups")));
	CHECK(!log_record_has(&r, schema_by_name(m, "renamed_from")));
	CHECK(log_record_has(&r, schema_by_name(m, "close_start_timestamp")));
	EQUAL(((const struct posix_record *)r.data)->dups, -1);
	EQUAL(((const struct posix_record *)r.data)->renamed_from, 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(a_striping_of_version_1_is_one_component)
{
	uint64_t words[] = {5, 0, 100, 1, 7, 65536, 3, 11, 12, 13};
	uint8_t *data;
	size_t n;
	struct log_records *records;
	struct log_record r;
	struct log *log = open_one(LOG_MOD_LUSTRE, 1, words, sizeof words, &data);
	const struct schema_module *m = &schema_modules[LOG_MOD_LUSTRE];
	EQUAL(log_records_open(&records, log, LOG_MOD_LUSTRE, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	const struct schema_field *f = schema_by_name(m, "component");
	const struct lustre_component *c = log_record_array(&r, f, &n);
	EQUAL(n, 1);
	EQUAL(c->stripe_size, 65536);
	EQUAL(c->stripe_count, 3);
	EQUAL(c->ext_end, -1);
	CHECK(!log_record_has(&r, &f->element->fields[2]));
	CHECK(log_record_has(&r, &f->element->fields[0]));
	CHECK(log_record_has(&r, schema_by_name(m, "num_components")));
	const int64_t *targets = log_record_array(&r, schema_by_name(m, "ost_id"), &n);
	EQUAL(n, 3);
	EQUAL(targets[2], 13);
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(segments_that_nobody_takes_are_skipped)
{
	struct {
		struct dxt_posix_record head;
		struct dxt_posix_segment segment[3];
	} both[2] = {{.head = {.id = 5, .rank = 1, .writes = 2, .reads = 1}},
		     {.head = {.id = 6, .rank = 2, .writes = 1, .reads = 2}}};
	struct log_segment s[8];
	uint8_t *data;
	struct log_records *records;
	struct log_record r;
	both[1].segment[0].offset = 77;
	struct log *log = open_one(LOG_MOD_DXT_POSIX, 2, both, sizeof both, &data);
	EQUAL(log_records_open(&records, log, LOG_MOD_DXT_POSIX, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(log_segments_next(records, s, 1, NULL), 1);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(r.id, 6);
	EQUAL(log_segments_next(records, s, 8, NULL), 1);
	EQUAL(s[0].offset, 77);
	CHECK(s[0].is_write);
	EQUAL(log_segments_next(records, s, 8, NULL), 2);
	CHECK(!s[0].is_write);
	EQUAL(log_segments_next(records, s, 8, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(absurd_counts_are_damage)
{
	static const struct {
		int module, version;
		uint64_t words[14]; /* the counts among them; nothing behind */
		size_t used;
	} cases[] = {
		{LOG_MOD_LUSTRE, 2, {5, 0, 1ull << 60, 0}, 4},
		{LOG_MOD_LUSTRE, 2, {5, 0, 0, 1ull << 61}, 4},
		{LOG_MOD_LUSTRE, 2, {5, 0, (uint64_t)-1, 0}, 4},
		{LOG_MOD_LUSTRE, 2, {5, 0, 1000, 0}, 4},
		{LOG_MOD_LUSTRE, 1, {5, 0, 0, 0, 0, 65536, 1ull << 58}, 7},
		{LOG_MOD_LUSTRE, 1, {5, 0, 0, 0, 0, 65536, (uint64_t)-5}, 7},
		/* a component with more stripes than the record, and with a negative number */
		{LOG_MOD_LUSTRE, 2, {5, 0, 1, 1, 65536, 2, 0, 0, 0, 0, 0, 0, 0, 9}, 14},
		{LOG_MOD_LUSTRE, 2, {5, 0, 1, 1, 65536, (uint64_t)-1, 0, 0, 0, 0, 0, 0, 0, 9}, 14},
		{LOG_MOD_DXT_POSIX, 1, {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint64_t)-1, 0}, 13},
		{LOG_MOD_DXT_MPIIO, 3, {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1ull << 62, 1ull << 62}, 13},
		{LOG_MOD_MDHIM, 1, {5, 0, 0, 0, 0, 0, 1ull << 60, 0, 0, 0, 0, 0}, 12},
		{LOG_MOD_APMPI, 1, {5, 0, 0x41504D504A, 0, 0, 0}, 6},
		{LOG_MOD_APXC, 1, {5, 0, 0, 0, 0, 0, 0, 0, 0}, 9},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct log_error err = {0};
		int code = read_first(cases[i].module, (uint32_t)cases[i].version, cases[i].words, 8 * cases[i].used,
				      &err);
		EQUAL(code, LOG_E_DAMAGED);
		CHECK(*err.message);
	}
}

TEST(announced_segments_that_are_missing_are_damage)
{
	uint64_t words[13] = {[0] = 5, [11] = 1ull << 50};
	struct log_segment s[4];
	struct log_error err = {0};
	uint8_t *data;
	struct log_records *records;
	struct log_record r;
	struct log *log = open_one(LOG_MOD_DXT_POSIX, 1, words, sizeof words, &data);
	EQUAL(log_records_open(&records, log, LOG_MOD_DXT_POSIX, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(log_segments_next(records, s, 4, &err), LOG_E_DAMAGED);
	TEXT(err.message, "region ends within a record");
	log_records_close(records);
	log_close(log);
	free(data);
}

TEST(a_header_says_which_counters_mean_something)
{
	static uint8_t region[48 + 5232];
	static const uint64_t head[6] = {5, 0, 0x41504D5049, 0xffffffff00000000};
	const struct schema_module *m = &schema_modules[LOG_MOD_APMPI];
	memcpy(region, head, sizeof head);
	region[48] = 6;
	for (int sync = 0; sync < 2; sync++) {
		uint8_t *data;
		struct log_records *records;
		struct log_record r;
		region[24] = (uint8_t)sync;
		struct log *log = open_one(LOG_MOD_APMPI, 1, region, sizeof region, &data);
		EQUAL(log_records_open(&records, log, LOG_MOD_APMPI, NULL), 0);
		EQUAL(log_records_header(records, &r, NULL), 1);
		EQUAL(((const struct apmpi_header *)r.data)->sync_flag, sync);
		EQUAL(log_record_has(&r, schema_by_name(r.schema, "total_comm_sync_time_variance")), sync);
		EQUAL(log_records_next(records, &r, NULL), 1);
		EQUAL(r.id, 6);
		EQUAL(log_record_has(&r, schema_by_name(m, "total_comm_sync_time")), sync);
		CHECK(log_record_has(&r, schema_by_name(m, "total_comm_time")));
		EQUAL(log_records_next(records, &r, NULL), 0);
		log_records_close(records);
		log_close(log);
		free(data);
	}
}

/* ---- 1.x and 2.x ---- */

enum { OLD_JOB = 4096 };

/* A 2.06 log, not compressed, of one file. */
static size_t make_old(uint8_t *log, const struct cp_record *r)
{
	static const int64_t numbers[] = {6567223, 1001, 1000000000, 1000000010, 4, 4711};
	memset(log, 0, OLD_JOB);
	memcpy(log, "2.06", 4);
	memcpy(log + 8, numbers, sizeof numbers);
	strcpy((char *)log + 56, "lib_ver=2.3.1\n");
	strcpy((char *)log + 1080, "./old program\n17\text3\t/\n18\tlustre\t/data");
	memcpy(log + OLD_JOB, r, sizeof *r);
	return OLD_JOB + sizeof *r;
}

TEST(records_of_2_x_become_those_of_modules)
{
	static uint8_t bytes[OLD_JOB + sizeof(struct cp_record)];
	struct cp_record old = {.id = 9, .rank = -1, .name_suffix = "end/of/name.h5", .device = 18};
	struct log *log;
	struct log_records *records;
	struct log_record r;
	const struct log_job *job;
	old.posix_reads = 3;
	old.indep_opens = 4;
	old.mpi_read_time = 2.5;
	old.bytes_read = 1000;
	old.indep_nc_opens = 2;
	old.coll_nc_opens = 5;
	old.size_read[9] = 8;
	old.open_timestamp = 1000000001.5;
	log_enable_old();
	EQUAL(log_open_memory(&log, bytes, make_old(bytes, &old), NULL), 0);
	EQUAL(log_old_version(log), 206);
	EQUAL(log_job(log, &job, NULL), 0);
	EQUAL(job->nprocs, 4);
	TEXT(job->exe, "./old program");
	TEXT(job->metadata[0].value, "2.3.1");
	TEXT(log_name(log, 9), "/data/...end/of/name.h5");
	TEXT(log_mount_of(job, log_name(log, 9))->value, "lustre");
	EQUAL(log_container(log)->module[LOG_MOD_H5F].length, 0);
	EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	const struct posix_record *p = r.data;
	EQUAL(p->reads, 3);
	EQUAL(p->bytes_read, 1000);
	EQUAL(p->size_read[9], 8);
	EQUAL(p->dups, -1);
	CHECK(p->open_start_timestamp == 1.5);
	CHECK(log_record_has(&r, schema_by_name(r.schema, "reads")));
	CHECK(!log_record_has(&r, schema_by_name(r.schema, "dups")));
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	EQUAL(log_records_open(&records, log, LOG_MOD_MPIIO, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(((const struct mpiio_record *)r.data)->indep_opens, 4);
	CHECK(!log_record_has(&r, schema_by_name(r.schema, "bytes_read")));
	log_records_close(records);
	EQUAL(log_records_open(&records, log, LOG_MOD_PNETCDF_FILE, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 1);
	EQUAL(((const struct pnetcdf_file_record *)r.data)->opens, 7);
	log_records_close(records);
	EQUAL(log_records_open(&records, log, LOG_MOD_LUSTRE, NULL), 0);
	EQUAL(log_records_next(records, &r, NULL), 0);
	log_records_close(records);
	log_close(log);
}

TEST(damage_of_old_logs_never_breaks_the_reader)
{
	static uint8_t bytes[OLD_JOB + sizeof(struct cp_record)];
	struct cp_record old = {.id = 9, .rank = 1, .posix_reads = 3, .device = 17};
	size_t size = make_old(bytes, &old);
	uint64_t seed = 11;
	log_enable_old();
	for (int i = 0; i < 3000; i++) {
		size_t n = i % 3 ? size : unit_random(&seed) % size, at = unit_random(&seed) % size;
		uint8_t *copy = malloc(n + 1);
		struct log *log;
		memcpy(copy, bytes, n);
		copy[at < n ? at : n] = (uint8_t)unit_random(&seed);
		if (log_open_memory(&log, copy, n, NULL) >= 0) {
			struct log_records *records;
			struct log_record r;
			CHECK(log_names_count(log) < 3);
			EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
			while (log_records_next(records, &r, NULL) > 0)
				CHECK(log_name(log, r.id));
			log_records_close(records);
			log_close(log);
		}
		free(copy);
	}
}
