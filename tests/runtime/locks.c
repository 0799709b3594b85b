/* A lock that is not to be had: the wait has an end, and each is counted as lost. */
#include <pthread.h>

#include "../../runtime/capture/file.c"

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

/* ---- a file whose record needs a lock ---- */

static bool table_is_free, has_room;

bool names_lock(void)
{
	return table_is_free;
}

void names_unlock(void)
{
}

struct name *names_entry(const struct path *p, enum store_use use)
{
	static struct name n;
	(void)p, (void)use;
	return has_room ? &n : NULL;
}

void *store_record(enum written slot, uint64_t id, enum store_use use)
{
	static int64_t record[512];
	(void)slot, (void)id, (void)use;
	return record;
}

bool folded_is_program(const struct path *p)
{
	(void)p;
	return false;
}

bool store_is_narrow(void)
{
	return false;
}

bool folded_is_heavy(const struct path *p)
{
	(void)p;
	return false;
}

void folded_count(int module, const struct path *p, enum store_use use)
{
	(void)module, (void)p, (void)use;
}

uint32_t folded_threshold(void)
{
	return 0;
}

struct name *folded_package(const struct path *p)
{
	(void)p;
	return NULL;
}

struct name *folded_mount(const struct path *p, enum store_use use)
{
	(void)p, (void)use;
	return NULL;
}

static enum state_class_id class_of(bool free_table, bool room)
{
	static const struct file_kind kind = {.slot = WRITTEN_POSIX, .size = sizeof(struct file)};
	static struct path p;
	table_is_free = free_table;
	has_room = room;
	return file_of(&kind, &p) ? STATE_CLASS_NONE : file_without_record(&kind);
}

TEST(a_file_without_a_record_counts_by_what_it_lacks)
{
	EQUAL(class_of(true, false), STATE_CLASS_NO_ROOM);
	EQUAL(class_of(false, true), STATE_CLASS_TABLE_BUSY);
	EQUAL(class_of(true, false), STATE_CLASS_NO_ROOM);
	config.disabled = UINT32_C(1) << LOG_MOD_POSIX;
	EQUAL(class_of(true, true), STATE_CLASS_FILTERED);
	config.disabled = 0;
	EQUAL(class_of(true, true), STATE_CLASS_NONE);
}
