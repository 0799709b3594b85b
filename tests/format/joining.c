/* One log made in several places is the log made at once. */
#include "join.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "hash.h"
#include "log.h"
#include "make_store.h"
#include "precompressed.h"
#include "reader.h"
#include "records.h"
#include "trailer.h"
#include "unit.h"

enum { RANKS_MAX = 16 };

/* Ranks of a job, and who can read whose store. */
struct jobs {
	int ranks, nodes;
	bool cyclic; /* rank r is at place r % places, not in blocks */
	char *directory;
	char store[RANKS_MAX][128];
	bool absent[RANKS_MAX], packed;
	size_t part; /* bytes of rows that make a part of a table; 0 = as the library decides */
	char at_once[128], joined[128];
	struct assemble_job job;
};

static struct jobs *begin(int ranks, int nodes, bool cyclic)
{
	struct jobs *j = calloc(1, sizeof *j);
	*j = (struct jobs){.ranks = ranks, .nodes = nodes, .cyclic = cyclic, .directory = unit_directory()};
	for (int r = 0; r < ranks; r++) {
		snprintf(j->store[r], sizeof j->store[r], "%s/%d.store", j->directory, r);
		make_store(j->store[r], r, ranks);
	}
	snprintf(j->at_once, sizeof j->at_once, "%s/once.darshan", j->directory);
	snprintf(j->joined, sizeof j->joined, "%s/joined.darshan", j->directory);
	j->job = (struct assemble_job){.epoch.realtime = 1700000000000000000, .id = 42};
	return j;
}

static void end(struct jobs *j)
{
	unit_remove(j->directory);
	free(j);
}

static void make_at_once(const struct jobs *j)
{
	const char *stores[RANKS_MAX];
	size_t n = 0;
	struct log_error err = {0};
	for (int r = 0; r < j->ranks; r++)
		if (!j->absent[r])
			stores[n++] = j->store[r];
	CHECK(assemble_stores(&j->job, stores, n, j->at_once, &err) >= 0);
	TEXT(err.message, "");
}

/* ---- in several places ---- */

struct place {
	struct join *join;
	struct join_node place;
	struct assemble_job job;
	int64_t ranks[RANKS_MAX];
	const char *stores[RANKS_MAX];
	uint64_t before[RANKS_MAX][JOIN_REGIONS], at[JOIN_REGIONS];
};

static void open_place(const struct jobs *j, struct place *p, int number)
{
	*p = (struct place){.place = {.number = number, .nprocs = j->ranks, .part = j->part}};
	p->place.ranks = p->ranks;
	p->place.stores = p->stores;
	for (int r = 0; r < j->ranks; r++) {
		int home = j->cyclic ? r % j->nodes : r * j->nodes / j->ranks;
		if (home != number)
			continue;
		p->ranks[p->place.nranks++] = r;
		if (!j->absent[r])
			p->stores[p->place.nstores++] = j->store[r];
	}
	p->job = j->job;
	p->job.first = j->packed ? p->stores[0] : NULL;
	CHECK(join_open(&p->join, &p->job, &p->place) >= 0);
}

typedef int told(struct join *j, const void *from, size_t n);
typedef int tells(struct join *j, struct log_bytes *out);

/* As the leaders of nodes do it: a binomial tree. */
static void go_up(const struct jobs *j, struct place *p, tells *tell, told *add)
{
	struct log_bytes b = {0};
	for (int step = 1; step < j->nodes; step *= 2) {
		for (int to = 0; to + step < j->nodes; to += 2 * step) {
			memcpy(p[to].before[to + step], join_sizes(p[to].join), sizeof p->at);
			EQUAL(tell(p[to + step].join, &b), 0);
			EQUAL(add(p[to].join, b.at, b.used), 0);
		}
	}
	log_bytes_free(&b);
}

static void go_down(const struct jobs *j, struct place *p)
{
	int step = 1;
	while (step < j->nodes)
		step *= 2;
	for (step /= 2; step; step /= 2)
		for (int from = 0; from + step < j->nodes; from += 2 * step)
			for (int r = 0; r < JOIN_REGIONS; r++)
				p[from + step].at[r] = p[from].at[r] + p[from].before[from + step][r];
}

static void write_places(const struct jobs *j, const struct place *p, const struct join_file *file)
{
	int fd = open(file->path, O_WRONLY);
	CHECK(fd >= 0);
	for (int n = 0; n < j->nodes; n++) {
		for (int r = 0; r < JOIN_REGIONS; r++) {
			size_t size;
			const void *region = join_region(p[n].join, (enum join_region)r, &size);
			EQUAL(pwrite(fd, region, size, (off_t)p[n].at[r]), size);
		}
	}
	close(fd);
}

static void make_joined(const struct jobs *j)
{
	struct place *p = calloc((size_t)j->nodes, sizeof *p);
	struct log_bytes decision = {0};
	struct join_file file;
	for (int n = 0; n < j->nodes; n++)
		open_place(j, &p[n], n);
	go_up(j, p, join_survey, join_survey_add);
	EQUAL(join_begin(p->join, j->joined, &file), 0);
	EQUAL(join_decide(p->join, &decision), 0);
	for (int n = 0; n < j->nodes; n++)
		EQUAL(join_make(p[n].join, decision.at, decision.used), 0);
	go_up(j, p, join_share, join_share_add);
	EQUAL(join_lay_out(p->join, p->at), 0);
	go_down(j, p);
	write_places(j, p, &file);
	EQUAL(join_finish(p->join), 0);
	TEXT(join_error(p->join)->message, "");
	for (int n = 0; n < j->nodes; n++)
		join_close(p[n].join);
	log_bytes_free(&decision);
	free(p);
}

/* ---- are they the same? ---- */

static bool same_field(const struct schema_field *f, const uint8_t *a, const uint8_t *b)
{
	double x, y;
	if (f->type != FIELD_F64)
		return !memcmp(a, b, 8);
	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	return fabs(x - y) <= 1e-9 * fabs(x);
}

static bool same_record(const struct log_record *a, const struct log_record *b)
{
	if (a->id != b->id || a->rank != b->rank || a->size != b->size)
		return false;
	if (a->schema->layout != LAYOUT_PLAIN)
		return !memcmp(a->data, b->data, a->size);
	for (uint32_t f = 0; f < a->schema->nfields; f++)
		for (int e = 0; e < a->schema->fields[f].count; e++) {
			size_t at = a->schema->fields[f].offset + 8 * (size_t)e;
			if (!same_field(&a->schema->fields[f], (const uint8_t *)a->data + at,
					(const uint8_t *)b->data + at))
				return false;
		}
	return true;
}

/* The record of that id and rank in the other log. */
static bool has_same(struct log *log, int module, const struct log_record *wanted)
{
	struct log_records *records;
	struct log_record r;
	bool found = false;
	if (log_records_open(&records, log, module, NULL) < 0)
		return false;
	while (!found && log_records_next(records, &r, NULL) > 0)
		found = r.id == wanted->id && r.rank == wanted->rank && same_record(&r, wanted);
	log_records_close(records);
	return found;
}

/* Every record of one is in the other; how many there are. */
static int64_t count_in(struct log *a, struct log *b, int module)
{
	struct log_records *records;
	struct log_record r;
	int64_t n = 0;
	int code = log_records_open(&records, a, module, NULL);
	while (code >= 0 && (code = log_records_next(records, &r, NULL)) > 0) {
		CHECK(has_same(b, module, &r));
		n++;
	}
	EQUAL(code, 0);
	log_records_close(records);
	return n;
}

static uint64_t row_hash(const struct trailer_table *t, uint64_t row)
{
	uint64_t hash = 1;
	for (size_t k = 0; k < trailer_fields(t); k++) {
		const struct trailer_field *f = trailer_field_at(t, k);
		size_t n = 8;
		int64_t number = trailer_i64(t, row, f, 0);
		double real = trailer_f64(t, row, f, 0);
		const void *data = f->type == TRAILER_F64 ? (const void *)&real : &number;
		if (f->type >= TRAILER_STR)
			data = trailer_text(t, row, f, 0, &n);
		hash = log_hash(data, n, hash);
	}
	return hash;
}

/* Of a table's rows, in whatever order. */
static uint64_t table_hash(struct trailer *trailer, const char *name, uint64_t *rows)
{
	struct trailer_table *t;
	uint64_t sum = 0;
	EQUAL(trailer_find(trailer, name, &t, NULL), 0);
	*rows = trailer_rows(t);
	for (uint64_t row = 0; row < *rows; row++)
		sum += row_hash(t, row);
	trailer_free(t);
	return sum;
}

static void same_tables(struct log *a, struct log *b)
{
	struct trailer *x, *y;
	uint64_t n, m;
	EQUAL(trailer_open(&x, a, NULL), 0);
	EQUAL(trailer_open(&y, b, NULL), 0);
	EQUAL(trailer_count(y), trailer_count(x));
	for (size_t k = 0; k < trailer_count(x); k++) {
		const char *name = trailer_at(x, k)->name;
		bool costs = !strcmp(name, "phase");
		uint64_t hash = table_hash(x, name, &n);
		CHECK(costs || hash == table_hash(y, name, &m));
		EQUAL(costs ? 0 : m, costs ? 0 : n);
	}
	trailer_close(x);
	trailer_close(y);
}

static void same_jobs(struct log *a, struct log *b)
{
	const struct log_job *x, *y;
	EQUAL(log_job(a, &x, NULL), 0);
	EQUAL(log_job(b, &y, NULL), 0);
	TEXT(y->exe, x->exe);
	EQUAL(y->nprocs, x->nprocs);
	EQUAL(y->id, x->id);
	EQUAL(y->start, x->start);
	EQUAL(y->end_ns, x->end_ns);
	EQUAL(y->nmounts, x->nmounts);
	TEXT(y->mounts[0].key, x->mounts[0].key);
}

static void same_names(struct log *a, struct log *b)
{
	uint64_t id;
	EQUAL(log_names_count(b), log_names_count(a));
	for (size_t n = 0; n < log_names_count(a); n++) {
		const char *name = log_name_at(a, n, &id), *other = log_name(b, id);
		TEXT(other ? other : "none", name);
	}
}

static int count_name(void *count, uint64_t id, const char *name)
{
	(void)id, (void)name;
	++*(size_t *)count;
	return 0;
}

/* As they stand in the log, however often. */
static size_t written_names(const char *path)
{
	struct log *log;
	struct log_error damage;
	size_t n = 0;
	EQUAL(log_open_file(&log, path, NULL), 0);
	EQUAL(names_walk(log, count_name, &n, &damage), 0);
	log_close(log);
	return n;
}

static void compare(const struct jobs *j)
{
	struct log *a, *b;
	struct stat s;
	EQUAL(log_open_file(&a, j->at_once, NULL), 0);
	EQUAL(log_open_file(&b, j->joined, NULL), 0);
	for (int i = 0; i < WRITTEN_COUNT; i++)
		EQUAL(count_in(b, a, written_modules[i].module), count_in(a, b, written_modules[i].module));
	same_names(a, b);
	EQUAL(written_names(j->at_once), log_names_count(a));
	if (!j->packed) /* what a rank has deflated stays as it is */
		EQUAL(written_names(j->joined), log_names_count(b));
	same_tables(a, b);
	same_jobs(a, b);
	EQUAL(stat(j->joined, &s), 0);
	EQUAL(s.st_mode & 0777, 0400);
	log_close(a);
	log_close(b);
}

/* 25 files of all, 40 of each, 9 of every third rank: as many records of POSIX. */
static void has_all_records(const struct jobs *j, int64_t stores)
{
	struct log *log;
	struct log_records *records;
	struct log_record r;
	int64_t shared = 0, own = 0;
	EQUAL(log_open_file(&log, j->joined, NULL), 0);
	EQUAL(log_records_open(&records, log, LOG_MOD_POSIX, NULL), 0);
	while (log_records_next(records, &r, NULL) > 0) {
		shared += r.rank < 0;
		own += r.rank >= 0;
	}
	log_records_close(records);
	log_close(log);
	bool all = stores == j->ranks;
	EQUAL(shared, all ? 25 : 0);
	EQUAL(own, stores * (40 + 3 + (all ? 0 : 25)));
}

static void check(int ranks, int nodes, bool cyclic, int absent)
{
	struct jobs *j = begin(ranks, nodes, cyclic);
	if (absent >= 0)
		j->absent[absent] = true;
	make_at_once(j);
	make_joined(j);
	compare(j);
	if (ranks > 1)
		has_all_records(j, ranks - (absent >= 0));
	end(j);
}

TEST(one_place_makes_the_log_alone)
{
	check(5, 1, false, -1);
}

TEST(ranks_in_blocks)
{
	for (int nodes = 2; nodes <= 7; nodes++)
		check(7, nodes, false, -1);
}

TEST(ranks_dealt_out_to_the_places)
{
	check(7, 2, true, -1);
	check(8, 3, true, -1);
}

TEST(a_place_of_each_of_sixteen_ranks)
{
	check(16, 16, false, -1);
}

TEST(a_job_of_one_rank)
{
	check(1, 1, false, -1);
}

TEST(a_rank_without_a_store_shares_nothing)
{
	check(6, 3, false, 3);
	check(4, 4, false, 2);
}

TEST(what_ranks_have_deflated_ahead)
{
	struct jobs *j = begin(6, 2, false);
	struct log_error err;
	make_at_once(j);
	for (int r = 0; r < 6; r++) {
		char path[160];
		struct log *log, *other;
		struct id_set shared = {0};
		snprintf(path, sizeof path, "%s%s", j->store[r], PRECOMPRESSED_SUFFIX);
		EQUAL(log_open_file(&log, j->store[r], &err), 0);
		EQUAL(log_open_file(&other, j->store[r / 3 * 3], &err), 0);
		EQUAL(precompressed_ids(&shared, other, &err), 0);
		EQUAL(r % 3 ? precompressed_make(log, &shared, r, path, &err) : 0, 0);
		id_set_free(&shared);
		log_close(log);
		log_close(other);
	}
	j->packed = true;
	make_joined(j);
	compare(j);
	has_all_records(j, 6);
	end(j);
}

/* What a place tells, with one byte of it changed: an error, or other numbers; never more. */
static void damaged_with(size_t part, tells *tell, told *add, bool made)
{
	struct jobs *j = begin(2, 2, false);
	j->part = part;
	struct place from, to;
	struct log_bytes b = {0}, decision = {0};
	open_place(j, &from, 1);
	open_place(j, &to, 0);
	EQUAL(join_survey(from.join, &b), 0);
	EQUAL(join_survey_add(to.join, b.at, b.used), 0);
	EQUAL(join_decide(to.join, &decision), 0);
	EQUAL(made ? join_make(from.join, decision.at, decision.used) : 0, 0);
	EQUAL(tell(from.join, &b), 0);
	join_close(to.join);
	for (size_t at = 0; at < b.used; at += at < 2000 ? 8 : 997) {
		open_place(j, &to, 0);
		EQUAL(made ? join_make(to.join, decision.at, decision.used) : 0, 0);
		b.at[at] ^= 0xff;
		add(to.join, b.at, b.used);
		b.at[at] ^= 0xff;
		join_close(to.join);
	}
	open_place(j, &to, 0);
	CHECK(add(to.join, b.at, b.used / 2) < 0);
	CHECK(join_found(to.join).failed || join_error(to.join)->code < 0);
	join_close(to.join);
	join_close(from.join);
	log_bytes_free(&b);
	log_bytes_free(&decision);
	end(j);
}

static void damaged(tells *tell, told *add, bool made)
{
	damaged_with(0, tell, add, made);
}

TEST(a_survey_that_is_damaged)
{
	damaged(join_survey, join_survey_add, false);
}

TEST(a_share_that_is_damaged)
{
	damaged(join_share, join_share_add, true);
}

/* How many parts the directory of a log has of the process table. */
static int count_parts(const char *path)
{
	struct compact_footer footer;
	struct directory_contents c = {0};
	struct stat s;
	int n = 0, fd = open(path, O_RDONLY);
	EQUAL(fstat(fd, &s), 0);
	off_t ends = s.st_size - (off_t)sizeof footer;
	EQUAL(pread(fd, &footer, sizeof footer, ends), sizeof footer);
	uint8_t *directory = malloc(footer.length);
	EQUAL(pread(fd, directory, footer.length, ends - footer.length), footer.length);
	EQUAL(directory_read(&c, directory, footer.length, (uint64_t)ends - footer.length), 0);
	for (size_t i = 0; i < c.count; i++)
		n += !strcmp(c.entries[i].name, "process");
	directory_contents_free(&c);
	free(directory);
	close(fd);
	return n;
}

/* Ranks of the process table, in order of the rows. */
static void check_order(const struct jobs *j)
{
	struct log *log;
	struct trailer *trailer;
	struct trailer_table *t;
	EQUAL(log_open_file(&log, j->joined, NULL), 0);
	EQUAL(trailer_open(&trailer, log, NULL), 0);
	EQUAL(trailer_find(trailer, "process", &t, NULL), 0);
	EQUAL(trailer_rows(t), j->ranks);
	for (int r = 0; r < j->ranks; r++)
		EQUAL(trailer_i64(t, (uint64_t)r, trailer_field(t, "rank"), 0), r);
	trailer_free(t);
	trailer_close(trailer);
	log_close(log);
}

TEST(tables_of_many_ranks_are_encoded_on_the_way)
{
	static const struct {
		int ranks, nodes;
		size_t part; /* 1: each place encodes its own */
		int parts;
	} cases[] = {{4, 2, 1, 2}, {7, 7, 1, 7}, {7, 7, 1000, 3}, {7, 3, 100000, 1}, {3, 1, 1, 1}};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct jobs *j = begin(cases[k].ranks, cases[k].nodes, false);
		j->part = cases[k].part;
		make_at_once(j);
		make_joined(j);
		compare(j);
		check_order(j);
		EQUAL(count_parts(j->joined), cases[k].parts);
		end(j);
	}
}

TEST(a_share_in_parts_that_is_damaged)
{
	damaged_with(1, join_share, join_share_add, true);
}

TEST(a_place_that_cannot_take_part_is_known_to_the_first)
{
	struct jobs *j = begin(2, 2, false);
	struct place p[2];
	struct log_bytes b = {0};
	open_place(j, &p[0], 0);
	open_place(j, &p[1], 1);
	join_fail(p[1].join, "no such luck");
	EQUAL(join_survey(p[1].join, &b), 0);
	EQUAL(join_survey_add(p[0].join, b.at, b.used), 0);
	struct join_found found = join_found(p[0].join);
	CHECK(found.failed);
	TEXT(found.why, "no such luck");
	EQUAL(found.stores, 2);
	for (int n = 0; n < 2; n++)
		join_close(p[n].join);
	log_bytes_free(&b);
	end(j);
}

TEST(a_store_of_a_rank_of_another_place)
{
	struct jobs *j = begin(3, 3, false);
	struct place p = {.ranks = {1}, .stores = {j->store[2]}};
	p.place = (struct join_node){
		.number = 1, .nprocs = 3, .ranks = p.ranks, .nranks = 1, .stores = p.stores, .nstores = 1};
	CHECK(join_open(&p.join, &j->job, &p.place) < 0);
	CHECK(join_found(p.join).failed);
	join_close(p.join);
	end(j);
}

TEST(a_store_that_cannot_be_read_is_left_out)
{
	struct jobs *j = begin(4, 2, false);
	EQUAL(truncate(j->store[2], 100), 0);
	make_at_once(j);
	make_joined(j);
	compare(j);
	has_all_records(j, 3);
	end(j);
}

TEST(the_first_place_has_no_store)
{
	check(4, 4, false, 0);
}
