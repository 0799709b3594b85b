#include "precision.h"
#include "reduce.h"

#include <string.h>

#include "make.h"
#include "reduce_plan.h"
#include "unit.h"

static const struct schema_module *const posix = &schema_modules[LOG_MOD_POSIX];
static const struct schema_module *const stdio = &schema_modules[LOG_MOD_STDIO];

/* One record of a file that all ranks use, from the ranks' records. */
static struct posix_record reduce(const struct posix_record *ranks, int n)
{
	struct posix_record all = ranks[0], one;
	struct reduce_state as, os;
	reduce_begin(posix, &all, &as);
	for (int i = 1; i < n; i++) {
		one = ranks[i];
		reduce_begin(posix, &one, &os);
		reduce_merge(posix, &all, &as, &one, &os);
	}
	reduce_end(posix, &all, &as);
	return all;
}

TEST(variance_is_that_of_the_population)
{
	struct posix_record ranks[] = {
		{.rank = 0, .bytes_written = 100, .write_time = 1},
		{.rank = 1, .bytes_written = 400, .write_time = 2},
		{.rank = 2, .bytes_read = 900, .read_time = 3},
		{.rank = 3, .bytes_read = 1000, .bytes_written = 600, .meta_time = 4},
	};
	struct posix_record all = reduce(ranks, 4);
	NEAR(all.variance_rank_bytes, 322500);
	NEAR(all.variance_rank_time, 1.25);
	EQUAL(all.rank, -1);
	EQUAL(all.bytes_read + all.bytes_written, 3000);
}

TEST(fastest_and_slowest_rank_come_with_their_bytes_and_time)
{
	struct posix_record ranks[] = {
		{.rank = 5, .bytes_written = 10, .write_time = 2, .meta_time = 1},
		{.rank = 6, .bytes_written = 20, .write_time = 0.5, .read_time = 0.25},
		{.rank = 7, .bytes_written = 30, .write_time = 9},
	};
	struct posix_record all = reduce(ranks, 3);
	EQUAL(all.fastest_rank, 6);
	EQUAL(all.fastest_rank_bytes, 20);
	NEAR(all.fastest_rank_time, 0.75);
	EQUAL(all.slowest_rank, 7);
	EQUAL(all.slowest_rank_bytes, 30);
	NEAR(all.slowest_rank_time, 9);
}

TEST(every_module_has_room_in_its_plan)
{
	static struct reduce_plan room;
	for (int m = 0; m < LOG_MOD_COUNT; m++)
		if (schema_modules[m].nfields)
			CHECK(reduce_plan(&schema_modules[m], &room)->nruns < REDUCE_RUNS);
}

TEST(stored_times_are_on_a_grid_and_never_stays_never)
{
	struct posix_record r = {
		.open_start_timestamp = 1.0000001,
		.write_start_timestamp = 1e-9,
		.close_end_timestamp = 5.5 * 0x1p-20,
		.write_time = 0.123456789,
		.meta_time = 1e-9,
		.read_time = 1.03e-6,
		.max_read_time = 3.1e-6,
		.max_write_time = -1,
		.fastest_rank_time = 0.0000033,
		.slowest_rank_time = 0.123456789,
		.variance_rank_time = 1.0 / 3,
		.variance_rank_bytes = 1.0 / 3,
		.bytes_written = 12345,
	};
	reduce_to_grid(posix, &r);
	EQUAL(r.open_start_timestamp == 1, 1);
	EQUAL(r.read_start_timestamp == 0, 1);
	EQUAL(r.write_start_timestamp == 0x1p-19, 1);
	EQUAL(r.close_end_timestamp == 3 * 0x1p-19, 1);
	EQUAL(r.write_time == 129454 * 0x1p-20, 1);
	EQUAL(r.read_time == 9 * 0x1p-23, 1);
	EQUAL(r.max_read_time == 13 * 0x1p-22, 1);
	EQUAL(r.fastest_rank_time == 14 * 0x1p-22, 1);
	EQUAL(r.slowest_rank_time == 64727 * 0x1p-19, 1);
	EQUAL(r.meta_time == 0x1p-24, 1);
	EQUAL(r.max_write_time == -1, 1);
	EQUAL(r.variance_rank_time == 5461 * 0x1p-14, 1);
	EQUAL(r.variance_rank_bytes == 1.0 / 3, 1);
	EQUAL(r.bytes_written, 12345);
}

TEST(a_process_begins_no_later_and_ends_no_earlier_than_it_did)
{
	EQUAL(precise_begin(0.0141) == 1848 * 0x1p-17, 1);
	EQUAL(precise_end(0.0141) == 1849 * 0x1p-17, 1);
	EQUAL(precise_begin(1848 * 0x1p-17) == 1848 * 0x1p-17, 1);
	EQUAL(precise_end(1848 * 0x1p-17) == 1848 * 0x1p-17, 1);
	EQUAL(precise_begin(0) == 0 && precise_end(0) == 0, 1);
	EQUAL(precise_cost(0.0002831) == 296 * 0x1p-20, 1);
}

TEST(a_rank_that_did_nothing_is_the_fastest)
{
	struct posix_record ranks[] = {{.rank = 0, .write_time = 1}, {.rank = 1}};
	struct posix_record all = reduce(ranks, 2);
	EQUAL(all.fastest_rank, 1);
	NEAR(all.fastest_rank_time, 0);
}

TEST(a_single_rank_is_fastest_and_slowest)
{
	struct posix_record one = {.rank = 3, .bytes_read = 12, .read_time = 0.5};
	struct posix_record all = reduce(&one, 1);
	EQUAL(all.fastest_rank, 3);
	EQUAL(all.slowest_rank, 3);
	EQUAL(all.slowest_rank_bytes, 12);
	NEAR(all.variance_rank_time, 0);
}

TEST(counts_add_up_and_missing_ones_stay_missing)
{
	struct posix_record ranks[] = {
		{.opens = 1, .reads = 10, .mmaps = -1, .size_read = {1, 2, 3}, .consec_reads = 4},
		{.opens = 2, .reads = 20, .mmaps = -1, .size_read = {10, 20, 30}, .consec_reads = 5},
		{.opens = 3, .reads = 30, .mmaps = -1, .size_read = {100, 200, 300}, .consec_reads = 6},
	};
	struct posix_record all = reduce(ranks, 3);
	EQUAL(all.opens, 6);
	EQUAL(all.reads, 60);
	EQUAL(all.mmaps, -1);
	EQUAL(all.size_read[0], 111);
	EQUAL(all.size_read[2], 333);
	EQUAL(all.consec_reads, 15);
}

TEST(starts_are_the_earliest_and_ends_the_latest)
{
	struct posix_record ranks[] = {
		{.open_start_timestamp = 3, .open_end_timestamp = 4, .read_start_timestamp = 0},
		{.open_start_timestamp = 1, .open_end_timestamp = 2, .read_start_timestamp = 5},
		{.open_start_timestamp = 0, .open_end_timestamp = 0, .read_start_timestamp = 7},
	};
	struct posix_record all = reduce(ranks, 3);
	NEAR(all.open_start_timestamp, 1);
	NEAR(all.open_end_timestamp, 4);
	NEAR(all.read_start_timestamp, 5);
	NEAR(all.write_start_timestamp, 0);
}

TEST(a_stamp_that_was_not_measured_loses_to_one_that_was)
{
	struct posix_record ranks[] = {{.close_start_timestamp = -1}, {.close_start_timestamp = 2}};
	NEAR(reduce(ranks, 2).close_start_timestamp, 2);
}

TEST(the_slowest_operation_comes_with_its_size)
{
	struct posix_record ranks[] = {
		{.max_read_time = 1, .max_read_time_size = 111, .max_write_time = 9, .max_write_time_size = 999},
		{.max_read_time = 3, .max_read_time_size = 333, .max_write_time = 2, .max_write_time_size = 222},
		{.max_read_time = 2, .max_read_time_size = 222, .max_write_time = 3, .max_write_time_size = 333},
	};
	struct posix_record all = reduce(ranks, 3);
	NEAR(all.max_read_time, 3);
	EQUAL(all.max_read_time_size, 333);
	NEAR(all.max_write_time, 9);
	EQUAL(all.max_write_time_size, 999);
}

TEST(common_values_merge_by_count_then_value)
{
	struct posix_record ranks[] = {
		{.access = {10, 20, 30, 40}, .access_count = {9, 8, 7, 6}},
		{.access = {40, 50, 10, 60}, .access_count = {5, 9, 1, 7}},
	};
	static const int64_t values[] = {40, 10, 50, 20}, counts[] = {11, 10, 9, 8};
	struct posix_record all = reduce(ranks, 2);
	for (int i = 0; i < 4; i++) {
		EQUAL(all.access[i], values[i]);
		EQUAL(all.access_count[i], counts[i]);
	}
	EQUAL(all.stride[0], 0);
	EQUAL(all.stride_count[0], 0);
}

TEST(common_values_with_equal_counts_put_the_larger_first)
{
	struct posix_record ranks[] = {
		{.stride = {1, 2}, .stride_count = {5, 5}},
		{.stride = {4, 3}, .stride_count = {5, 5}},
	};
	struct posix_record all = reduce(ranks, 2);
	for (int i = 0; i < 4; i++)
		EQUAL(all.stride[i], 4 - i);
}

/* Bytes and ten numbers each, of which neither is a value of its own. */
TEST(patterns_merge_as_a_whole)
{
	const struct schema_module *m = &schema_modules[LOG_MOD_H5D];
	const int64_t row[11] = {512, 1, 4, 8, 2, 1}, other[11] = {512, 1, 4, 8, 2, 2}, few[11] = {8};
	struct h5d_record a = {0}, b = {0};
	struct reduce_state as, bs;
	memcpy(a.access, row, sizeof row);
	a.access_count[0] = 3;
	memcpy(b.access, other, sizeof other);
	memcpy(b.access + 11, few, sizeof few);
	memcpy(b.access + 22, row, sizeof row);
	b.access_count[0] = 5, b.access_count[1] = 4, b.access_count[2] = 2;
	reduce_begin(m, &a, &as);
	reduce_begin(m, &b, &bs);
	reduce_merge(m, &a, &as, &b, &bs);
	CHECK(!memcmp(a.access, other, sizeof other) && a.access_count[0] == 5);
	CHECK(!memcmp(a.access + 11, row, sizeof row) && a.access_count[1] == 5);
	CHECK(!memcmp(a.access + 22, few, sizeof few) && a.access_count[2] == 4);
	CHECK(a.access_count[3] == 0 && a.access[33] == 0);
}

TEST(the_value_zero_is_never_common)
{
	struct posix_record ranks[] = {
		{.access = {0, 7}, .access_count = {100, 1}},
		{.access = {7}, .access_count = {1}},
	};
	struct posix_record all = reduce(ranks, 2);
	EQUAL(all.access[0], 7);
	EQUAL(all.access_count[0], 2);
	EQUAL(all.access_count[1], 0);
}

/* Records of ranks that used few of many sizes, in the order that `turn` gives, pairwise or one after the other. */
static struct posix_record reduce_sizes(const struct posix_record *ranks, int n, int turn, bool pairwise)
{
	struct posix_record r[64];
	struct reduce_state s[64];
	for (int i = 0; i < n; i++) {
		r[i] = ranks[(i * turn + turn) % n];
		reduce_begin(posix, &r[i], &s[i]);
		s[i].most = REDUCE_MOST_OF_RANKS;
	}
	for (int step = 1; pairwise && step < n; step *= 2)
		for (int i = 0; i + step < n; i += 2 * step)
			reduce_merge(posix, &r[i], &s[i], &r[i + step], &s[i + step]);
	for (int i = 1; !pairwise && i < n; i++)
		reduce_merge(posix, &r[0], &s[0], &r[i], &s[i]);
	for (int i = 1; i < n; i++)
		reduce_forget(&s[i]);
	reduce_end(posix, &r[0], &s[0]);
	return r[0];
}

/* Folded into four slots, 32 is displaced each time it comes. */
TEST(what_most_ranks_used_is_found_however_few_times_each_did)
{
	struct posix_record ranks[8] = {{.access = {104, 103, 102, 101}, .access_count = {1, 1, 1, 1}}};
	for (int i = 1; i < 8; i++)
		ranks[i] = (struct posix_record){
			.access = {32}, .access_count = {1}, .stride = {1000 + i, 8}, .stride_count = {2, 1}};
	struct posix_record all = reduce_sizes(ranks, 8, 1, false);
	EQUAL(all.access[0], 32);
	EQUAL(all.access_count[0], 7);
	EQUAL(all.access[3], 102);
	EQUAL(all.stride[0], 8);
	EQUAL(all.stride_count[0], 7);
	EQUAL(all.stride[1], 1007);
}

TEST(common_values_of_ranks_do_not_depend_on_order_or_grouping)
{
	enum { RANKS = 61, SIZES = 200 }; /* a prime: every turn visits all */
	struct posix_record ranks[RANKS] = {{0}};
	int64_t count[SIZES] = {0};
	uint64_t seed = 9;
	for (int i = 0; i < RANKS; i++)
		for (int k = 0; k < 4; k++) {
			int64_t size =
				1 + (int64_t)((seed = seed * 6364136223846793005u + 1) >> 33) % (k ? SIZES - 1 : 9);
			ranks[i].access[k] = size;
			count[size] += ranks[i].access_count[k] = 1 + (i + k) % 5;
		}
	struct posix_record first = reduce_sizes(ranks, RANKS, 1, false);
	for (int i = 0; i < 4; i++) {
		EQUAL(first.access_count[i], count[first.access[i]]);
		for (int64_t size = 1; size < SIZES; size++) {
			bool shown = false;
			for (int k = 0; k <= i; k++)
				shown |= first.access[k] == size;
			CHECK(shown || count[size] <= first.access_count[i]);
		}
	}
	for (int turn = 1; turn < RANKS; turn++)
		for (int pairwise = 0; pairwise < 2; pairwise++) {
			struct posix_record all = reduce_sizes(ranks, RANKS, turn, pairwise);
			CHECK(!memcmp(all.access, first.access, sizeof all.access));
			CHECK(!memcmp(all.access_count, first.access_count, sizeof all.access_count));
		}
}

/* Beyond the bound: what is dropped are the least, and the memory is that of the bound. */
TEST(frequent_values_survive_the_bound)
{
	struct common *c = common_make(REDUCE_MOST_OF_RANKS);
	struct common_value shown[COMMON_SHOWN];
	for (int64_t i = 1; i <= 100000; i++) {
		CHECK(common_add(c, 1000000 + i, 1) == 0);
		CHECK(common_add(c, 1 + i % 4, 1) == 0);
	}
	common_show(c, shown);
	CHECK(c->bound);
	CHECK(c->size <= 4 * REDUCE_MOST_OF_RANKS);
	for (int i = 0; i < COMMON_SHOWN; i++) {
		EQUAL(shown[i].value, COMMON_SHOWN - i);
		EQUAL(shown[i].count, 25000);
	}
	common_free(c);
}

/* Everything but the common values, which are kept to four here, gives the same in any order and grouping. */
TEST(merging_does_not_depend_on_order_or_grouping)
{
	enum { RANKS = 6 };
	uint64_t seed = 5;
	for (int round = 0; round < 50; round++) {
		struct posix_record r[RANKS], left, right, two;
		struct reduce_state s[RANKS], ls, rs, ts;
		for (int i = 0; i < RANKS; i++) {
			make_posix(&r[i], &seed, 1, i);
			r[i].mode = r[i].mem_alignment = r[i].file_alignment = 8;
			memset(r[i].access_count, 0, sizeof r[i].access_count);
			memset(r[i].stride_count, 0, sizeof r[i].stride_count);
			for (size_t k = 2; k < offsetof(struct posix_record, open_start_timestamp) / 8; k++)
				((int64_t *)&r[i])[k] &= 0xffffff; /* sums must not wrap */
			r[i].renamed_from = 8;
			r[i].read_time = i + 0.5 * round; /* no ties */
			reduce_begin(posix, &r[i], &s[i]);
		}
		left = r[0], ls = s[0];
		for (int i = 1; i < RANKS; i++)
			reduce_merge(posix, &left, &ls, &r[i], &s[i]);
		right = r[5], rs = s[5];
		reduce_merge(posix, &right, &rs, &r[3], &s[3]);
		reduce_merge(posix, &right, &rs, &r[0], &s[0]);
		two = r[4], ts = s[4];
		reduce_merge(posix, &two, &ts, &r[1], &s[1]);
		reduce_merge(posix, &two, &ts, &r[2], &s[2]);
		reduce_merge(posix, &right, &rs, &two, &ts);
		reduce_end(posix, &left, &ls);
		reduce_end(posix, &right, &rs);
		NEAR(left.variance_rank_bytes / right.variance_rank_bytes, 1);
		NEAR(left.variance_rank_time / right.variance_rank_time, 1);
		NEAR(left.write_time, right.write_time);
		size_t integers = offsetof(struct posix_record, open_start_timestamp);
		CHECK(!memcmp(&left, &right, integers));
	}
}

TEST(a_ranks_record_is_merged_as_it_is)
{
	uint64_t seed = 7;
	for (int64_t rank = 1; rank < 50; rank++) {
		struct posix_record one, begun, slow, quick;
		struct reduce_state os, ss, qs;
		make_posix(&slow, &seed, 1, 0);
		make_posix(&one, &seed, 1, 99);
		slow.read_time = 5;
		one.read_time = (double)(rank % 11);
		reduce_begin(posix, &slow, &ss);
		quick = slow, qs = ss;
		begun = one;
		begun.rank = rank;
		reduce_begin(posix, &begun, &os);
		reduce_merge(posix, &slow, &ss, &begun, &os);
		reduce_merge_rank(posix, &quick, &qs, &one, rank);
		reduce_end(posix, &slow, &ss);
		reduce_end(posix, &quick, &qs);
		CHECK(!memcmp(&slow, &quick, sizeof slow));
	}
}

/* Every cell of every record is merged by some run, or by one of those that look at several. */
TEST(a_plan_has_room_for_every_module)
{
	static struct reduce_plan room;
	for (int k = 0; k < LOG_MOD_COUNT; k++) {
		const struct schema_module *m = &schema_modules[k];
		const struct reduce_plan *p = reduce_plan(m, &room);
		uint32_t cells = 0, planned = 0;
		for (uint32_t f = 0; f < m->nfields; f++)
			if (m->fields[f].follows < 0 && m->fields[f].count && m->fields[f].reduce < REDUCE_TOP4)
				cells += m->fields[f].reduce == REDUCE_SUM || m->fields[f].reduce == REDUCE_ANY ||
							 m->fields[f].reduce == REDUCE_SUM_OR_MISSING
						 ? m->fields[f].count
						 : 1;
		for (int r = 0; r < p->nruns; r++)
			planned += p->run[r].op == OP_TOP4 ? 0 : p->run[r].n;
		EQUAL(planned, cells);
		CHECK(p->nruns < REDUCE_RUNS && p->nfollowers < REDUCE_FOLLOWERS && p->nvariances < REDUCE_VARIANCES);
		CHECK(p->opens.n < 15 && p->reads.n < 15 && p->writes.n < 15);
		CHECK(p->read_bytes.n < 15 && p->written_bytes.n < 15);
	}
}

TEST(other_modules_reduce_by_their_tables)
{
	struct stdio_record a = {.rank = 0, .opens = 1, .bytes_written = 5, .write_time = 1, .max_byte_written = 4};
	struct stdio_record b = {.rank = 1, .opens = 1, .bytes_written = 7, .write_time = 3, .max_byte_written = 6};
	struct reduce_state as, bs;
	reduce_begin(stdio, &a, &as);
	reduce_begin(stdio, &b, &bs);
	reduce_merge(stdio, &a, &as, &b, &bs);
	reduce_end(stdio, &a, &as);
	EQUAL(a.opens, 2);
	EQUAL(a.bytes_written, 12);
	EQUAL(a.max_byte_written, 6);
	EQUAL(a.slowest_rank, 1);
	EQUAL(a.fastest_rank_bytes, 5);
	NEAR(a.variance_rank_time, 1);
	NEAR(a.variance_rank_bytes, 1);
}

TEST(a_total_over_several_files_has_no_fastest_rank)
{
	struct posix_record total, scratch;
	struct posix_record one = {.id = 1, .rank = 0, .opens = 1, .mmaps = -4, .bytes_read = 5, .read_time = 1};
	struct posix_record two = {.id = 2, .rank = 1, .opens = 1, .mmaps = -4, .bytes_read = 6, .read_time = 2};
	struct reduce_total t = {0};
	reduce_total_add(posix, &t, &total, &one, &scratch);
	EQUAL(total.slowest_rank, 0);
	EQUAL(total.slowest_rank_bytes, 5);
	EQUAL(total.mmaps, -1);
	reduce_total_add(posix, &t, &total, &two, &scratch);
	EQUAL(total.opens, 2);
	EQUAL(total.mmaps, -1);
	EQUAL(total.bytes_read, 11);
	EQUAL(total.slowest_rank, -1);
	EQUAL(total.fastest_rank_bytes, -1);
	NEAR(total.slowest_rank_time, 0);
	NEAR(total.variance_rank_bytes, 0);
}

TEST(a_total_over_one_file_keeps_the_shared_records_ranks)
{
	struct posix_record total, scratch;
	struct posix_record shared = {
		.id = 1, .rank = -1, .slowest_rank = 3, .slowest_rank_bytes = 33, .variance_rank_time = 7};
	struct reduce_total t = {0};
	reduce_total_add(posix, &t, &total, &shared, &scratch);
	EQUAL(total.slowest_rank, 3);
	EQUAL(total.slowest_rank_bytes, 33);
	NEAR(total.variance_rank_time, 0);
}

TEST(sums_of_damaged_logs_wrap_without_harm)
{
	struct posix_record ranks[] = {{.bytes_read = INT64_MAX}, {.bytes_read = INT64_MAX}};
	EQUAL(reduce(ranks, 2).bytes_read, -2);
}
