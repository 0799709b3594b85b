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

/* Everything but the common values gives the same in any order and grouping. */
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
