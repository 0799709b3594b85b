/* A lock that is not to be had: the wait has an end, and each is counted as lost. */
#include <pthread.h>

#include "lock.h"
#include "unit.h"

static int lost;

static void count_lost(void)
{
	lost++;
}

struct attempt {
	struct lock *lock;
	bool deep, taken;
};

static void *attempt(void *given)
{
	struct attempt *a = given;
	lock_identify();
	a->taken = a->deep ? lock_take_deep(a->lock) : lock_take(a->lock);
	return NULL;
}

static struct attempt by_another_thread(struct lock *lock, bool deep)
{
	struct attempt a = {.lock = lock, .deep = deep};
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, attempt, &a) == 0);
	pthread_join(thread, NULL);
	return a;
}

TEST(a_lock_that_is_held_is_given_up_and_counted)
{
	for (int deep = 0; deep < 2; deep++) {
		struct lock lock = {0};
		lost = 0;
		lock_on_lost = count_lost;
		lock_identify();
		CHECK(lock_take(&lock));
		struct attempt first = by_another_thread(&lock, deep), second = by_another_thread(&lock, deep);
		CHECK(!first.taken && !second.taken);
		EQUAL(lost, 2);
		lock_drop(&lock);
		CHECK(by_another_thread(&lock, deep).taken);
		EQUAL(lost, 2);
	}
}

TEST(a_lock_that_the_only_thread_took_is_held_against_later_ones)
{
	struct lock lock = {0};
	lost = 0;
	lock_on_lost = count_lost;
	lock_start();
	lock_identify();
	CHECK(lock_take(&lock));
	CHECK(!by_another_thread(&lock, false).taken);
	EQUAL(lost, 1);
	lock_drop(&lock);
	CHECK(by_another_thread(&lock, true).taken);
}

/* As a signal handler does that interrupted its holder. */
TEST(a_lock_of_the_thread_itself_is_counted_at_once)
{
	struct lock lock = {0};
	lost = 0;
	lock_on_lost = count_lost;
	lock_identify();
	CHECK(lock_take(&lock));
	CHECK(!lock_take(&lock));
	EQUAL(lost, 1);
	lock_drop(&lock);
	CHECK(lock_take(&lock));
	EQUAL(lost, 1);
}

/* What a thread of the parent held is free in its forked child. */
TEST(a_lock_of_the_parent_is_free_in_its_child)
{
	struct lock lock = {0};
	lost = 0;
	lock_on_lost = count_lost;
	lock_identify();
	CHECK(lock_take(&lock));
	lock_next_process();
	CHECK(by_another_thread(&lock, false).taken);
	EQUAL(lost, 0);
}
