/* Threads that end the process or replace its program at once, and handlers that interrupt them. */
#include "ending.h"

#include <pthread.h>
#include <time.h>

#include "lock.h"
#include "unit.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void begin_test(void)
{
	lock_identify();
	ending_none();
	self.ends = 0;
}

TEST(the_last_exec_to_fail_undoes_the_end)
{
	begin_test();
	EQUAL(ending_begin(), ENDING_FIRST);
	ending_recorded();
	EQUAL(ending_begin(), ENDING_JOINED);
	CHECK(!ending_take_back());
	CHECK(ending_take_back());
	ending_none();
	CHECK(!ending_take_back());
	EQUAL(ending_begin(), ENDING_FIRST);
}

/* It does not wait for the thread that it has interrupted, at whatever that was, and its exec that fails undoes nothing. */
TEST(a_handler_waits_for_nothing_and_undoes_nothing)
{
	begin_test();
	double before = now();
	EQUAL(ending_begin(), ENDING_FIRST);
	EQUAL(ending_begin(), ENDING_BUSY);
	CHECK(!ending_take_back());
	ending_recorded();
	CHECK(ending_take_back()); /* the thread's own */
	EQUAL(ending_begin(), ENDING_BUSY);
	CHECK(!ending_begin_anew());
	CHECK(!ending_take_back());
	ending_none();
	CHECK(now() - before < 0.5);
}

/* ---- several that end behind an exec ---- */

enum { THREADS = 4, ROUNDS = 2000 };

static pthread_barrier_t barrier;
static bool recorded; /* plain: the thread at work alone uses it */
static int at_once, most, anew, busy;

static void record_anew(void)
{
	int others = __atomic_fetch_add(&at_once, 1, __ATOMIC_RELAXED);
	if (others)
		__atomic_store_n(&most, others + 1, __ATOMIC_RELAXED);
	if (!recorded)
		anew++;
	recorded = true;
	__atomic_fetch_sub(&at_once, 1, __ATOMIC_RELAXED);
}

static void *end(void *unused)
{
	lock_identify();
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		if (ending_begin() != ENDING_JOINED || !ending_begin_anew()) {
			__atomic_fetch_add(&busy, 1, __ATOMIC_RELAXED);
		} else {
			record_anew();
			ending_recorded();
		}
		pthread_barrier_wait(&barrier);
		self.ends = 0;
	}
	return unused;
}

TEST(threads_that_end_behind_an_exec_record_that_one_after_the_other)
{
	pthread_t threads[THREADS];
	most = anew = busy = at_once = 0;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_create(&threads[t], NULL, end, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		begin_test();
		recorded = false;
		EQUAL(ending_begin(), ENDING_FIRST);
		ending_recorded();
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		for (int t = 0; t <= THREADS; t++) {
			self.ends = 1;
			EQUAL(ending_take_back(), t == THREADS);
		}
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	EQUAL(most, 0);
	EQUAL(anew, ROUNDS);
	EQUAL(busy, 0);
}
