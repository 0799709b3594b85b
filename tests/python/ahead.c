/* The second thread that unpacks ahead of whoever takes the records: every record once and in order, however it is stopped. */
#include "ahead.h"

#include <stdlib.h>
#include <string.h>

#include "make.h"
#include "unit.h"

enum { RECORDS = 8000, PROCESSES = 4 };

/* Random records, for a region that is worth a thread. */
static struct log_writer *big_log(int64_t bad_from)
{
	struct log_writer *w;
	struct log_job_text job = make_job(PROCESSES);
	struct posix_record record;
	uint64_t seed = 3;
	EQUAL(log_writer_memory(&w, NULL), 0);
	EQUAL(log_write_job(w, &job), 0);
	EQUAL(log_write_module(w, LOG_MOD_POSIX, schema_modules[LOG_MOD_POSIX].version), 0);
	for (int64_t i = 0; i < RECORDS; i++) {
		make_posix(&record, &seed, (uint64_t)i, i >= bad_from ? PROCESSES : i % PROCESSES);
		EQUAL(log_write_record(w, &record, sizeof record), 0);
	}
	EQUAL(log_writer_finish(w, NULL), 0);
	return w;
}

static struct handle *opened(const struct log_writer *w)
{
	struct handle *h;
	size_t size;
	const void *data = log_writer_data(w, &size);
	EQUAL(handle_open(&h, NULL, data, size, NULL), 0);
	return h;
}

/* Takes up to `most` records in calls of up to `n` each, with a stop after every `calls` of them; returns how many came. */
static int64_t take(struct ahead *a, int64_t from, int64_t most, int64_t n, int calls)
{
	const uint8_t *records;
	int64_t got = 1, at = from;
	while (got > 0 && at - from < most) {
		ahead_start(a);
		for (int i = 0; i < calls && (got = ahead_next(a, n, &records)) > 0; i++)
			for (int64_t k = 0; k < got; k++) {
				uint64_t id;
				memcpy(&id, records + (size_t)k * sizeof(struct posix_record), sizeof id);
				EQUAL(id, at++);
			}
		ahead_stop(a);
	}
	if (at - from < most)
		EQUAL(got, at == RECORDS ? 0 : -1);
	return at - from;
}

TEST(records_come_once_and_in_order_however_often_the_thread_is_stopped)
{
	struct log_writer *w = big_log(RECORDS);
	struct handle *h = opened(w);
	static const struct {
		int64_t n;
		int calls;
	} ways[] = {{1, 1000}, {7, 3}, {1000, 1}, {100000, 1}, {100000, 1000}};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct ahead *a = ahead_open(h, LOG_MOD_POSIX, true);
		CHECK(a);
		EQUAL(take(a, 0, INT64_MAX, ways[i].n, ways[i].calls), RECORDS);
		ahead_close(a);
	}
	handle_drop(h);
	log_writer_free(w);
}

TEST(a_thread_ahead_can_be_left_at_any_time)
{
	struct log_writer *w = big_log(RECORDS);
	struct handle *h = opened(w);
	for (int64_t most = 1; most < RECORDS; most *= 3) {
		struct ahead *a = ahead_open(h, LOG_MOD_POSIX, true);
		const uint8_t *records;
		CHECK(a);
		CHECK(take(a, 0, most, 50, 2) >= most);
		ahead_start(a);
		CHECK(ahead_next(a, 10, &records) >= 0);
		ahead_close(a);
	}
	handle_drop(h);
	log_writer_free(w);
}

TEST(two_readers_of_one_log_have_a_thread_each)
{
	struct log_writer *w = big_log(RECORDS);
	struct handle *h = opened(w);
	struct ahead *a[2] = {ahead_open(h, LOG_MOD_POSIX, true), ahead_open(h, LOG_MOD_POSIX, true)};
	int64_t at[2] = {0, 0};
	for (int turn = 0; turn < 20; turn++)
		at[turn % 2] += take(a[turn % 2], at[turn % 2], 200, 64, 2);
	for (int i = 0; i < 2; i++) {
		EQUAL(at[i] + take(a[i], at[i], INT64_MAX, 4096, 8), RECORDS);
		ahead_close(a[i]);
	}
	handle_drop(h);
	log_writer_free(w);
}

TEST(a_wrong_rank_ends_the_fast_way_where_it_stands)
{
	struct log_writer *w = big_log(6000);
	struct handle *h = opened(w);
	struct ahead *a = ahead_open(h, LOG_MOD_POSIX, true);
	EQUAL(take(a, 0, INT64_MAX, 512, 2), 6000);
	ahead_close(a);
	handle_drop(h);
	log_writer_free(w);
}
