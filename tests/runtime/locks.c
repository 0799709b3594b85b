/* A lock that is not to be had: the wait has an end, and each is counted as lost. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- a holder at work ---- */

struct worker {
	struct lock *lock;
	int ready[2], done[2]; /* pipes */
	int thread;
	bool marked, ends;
};

static void *hold(void *given)
{
	struct worker *w = given;
	struct lock_work work = {.name = 0};
	char byte;
	lock_identify();
	CHECK(lock_take_deep(w->lock));
	if (w->marked)
		lock_work_begin(&work);
	w->thread = (int)syscall(SYS_gettid);
	CHECK(write(w->ready[1], "", 1) == 1);
	if (w->ends)
		return NULL;
	CHECK(read(w->done[0], &byte, 1) == 1);
	lock_drop_deep(w->lock);
	lock_work_end(&work);
	return NULL;
}

static pthread_t start_worker(struct worker *w)
{
	pthread_t thread;
	char byte;
	lost = 0;
	lock_on_lost = count_lost;
	CHECK(pipe(w->ready) == 0 && pipe(w->done) == 0);
	CHECK(pthread_create(&thread, NULL, hold, w) == 0);
	CHECK(read(w->ready[0], &byte, 1) == 1);
	return thread;
}

static void *end_worker(void *given)
{
	struct worker *w = given;
	struct timespec half_a_second = {.tv_nsec = 500 * 1000 * 1000};
	nanosleep(&half_a_second, NULL);
	CHECK(write(w->done[1], "", 1) == 1);
	return NULL;
}

static struct attempt while_held(bool marked)
{
	struct lock lock = {0};
	struct worker w = {.lock = &lock, .marked = marked};
	pthread_t worker = start_worker(&w), ender;
	CHECK(pthread_create(&ender, NULL, end_worker, &w) == 0);
	struct attempt a = by_another_thread(&lock, true);
	pthread_join(ender, NULL);
	pthread_join(worker, NULL);
	a.lock = NULL;
	return a;
}

TEST(a_lock_is_waited_for_longer_while_its_holder_is_at_work)
{
	CHECK(while_held(true).taken);
	EQUAL(lost, 0);
	CHECK(!while_held(false).taken);
	EQUAL(lost, 1);
}

static void is_waited_for_no_longer(struct worker *w)
{
	int64_t most = 200 * 1000 * 1000;
	struct lock_wait waited = {.waited = most};
	CHECK(!lock_wait_longer(&waited, &most, w->thread));
	EQUAL(most, 200 * 1000 * 1000);
	CHECK(!by_another_thread(w->lock, true).taken);
	EQUAL(lost, 1);
}

TEST(a_holder_at_work_that_has_ended_is_waited_for_no_longer)
{
	struct lock lock = {0};
	struct worker w = {.lock = &lock, .marked = true, .ends = true};
	pthread_t worker = start_worker(&w);
	while (syscall(SYS_tgkill, getpid(), w.thread, 0) == 0)
		sched_yield();
	is_waited_for_no_longer(&w);
	pthread_join(worker, NULL); /* only now: a new thread would have its name */
}

/* As a debugger does with one thread. */
TEST(a_holder_at_work_that_is_stopped_is_waited_for_no_longer)
{
	struct lock lock = {0};
	struct worker w = {.lock = &lock, .marked = true};
	int stopped[2];
	char byte;
	pthread_t worker = start_worker(&w);
	CHECK(pipe(stopped) == 0);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid_t tracer = fork();
	if (tracer == 0) {
		int status;
		bool good = ptrace(PTRACE_SEIZE, w.thread, 0, 0) == 0 &&
			    ptrace(PTRACE_INTERRUPT, w.thread, 0, 0) == 0 &&
			    waitpid(w.thread, &status, __WALL) == w.thread && write(stopped[1], "", 1) == 1;
		pause();
		_exit(good);
	}
	CHECK(read(stopped[0], &byte, 1) == 1);
	is_waited_for_no_longer(&w);
	CHECK(kill(tracer, SIGKILL) == 0 && waitpid(tracer, NULL, 0) == tracer); /* the thread goes on */
	CHECK(write(w.done[1], "", 1) == 1);
	pthread_join(worker, NULL);
	CHECK(by_another_thread(&lock, true).taken);
}

TEST(the_wait_for_a_holder_at_work_has_an_end)
{
	struct lock lock = {0};
	struct worker w = {.lock = &lock, .marked = true};
	pthread_t worker = start_worker(&w);
	int64_t most = 0;
	CHECK(lock_wait_longer(&(struct lock_wait){.waited = INT64_C(4900) * 1000 * 1000}, &most, w.thread));
	EQUAL(most, INT64_C(5100) * 1000 * 1000);
	CHECK(!lock_wait_longer(&(struct lock_wait){.waited = INT64_C(5000) * 1000 * 1000}, &most, w.thread));
	CHECK(!by_another_thread(&lock, true).taken);
	EQUAL(lost, 1);
	CHECK(write(w.done[1], "", 1) == 1);
	pthread_join(worker, NULL);
}

static bool is_blocked(int signal)
{
	sigset_t set;
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
	return sigismember(&set, signal);
}

static void handle(int signal)
{
	(void)signal;
}

/* Also where all other threads block it: the file system that it asks may not answer for long. */
TEST(a_holder_at_work_runs_no_handler_and_can_be_ended)
{
	struct lock_work work;
	lock_identify();
	signal(SIGHUP, handle);
	signal(SIGUSR1, handle);
	signal(SIGTERM, SIG_DFL);
	lock_work_begin(&work);
	CHECK(is_blocked(SIGHUP) && is_blocked(SIGUSR1) && !is_blocked(SIGTERM));
	lock_work_end(&work);
	CHECK(!is_blocked(SIGHUP) && !is_blocked(SIGUSR1) && !is_blocked(SIGTERM));
}

TEST(a_holder_of_another_process_or_without_a_number_is_waited_for_no_longer)
{
	int64_t most = 1;
	struct lock_wait waited = {.waited = 1};
	CHECK(!lock_wait_longer(&waited, &most, getppid()) && !lock_wait_longer(&waited, &most, 0));
	EQUAL(most, 1);
	CHECK(lock_wait_longer(&waited, &most, (int)syscall(SYS_gettid)));
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
