/*
 * Ranks of one node make their log without a message. Each rank deflates what no other rank can have, while the others do the
 * same, and registers its store. The last rank to come makes the log and removes the stores; the others wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "clock.h"
#include "finalize.h"
#include "job_log.h"
#include "lock.h"
#include "node.h"
#include "warn.h"
#include "precompressed.h"
#include "session.h"
#include "store.h"
#include "sys.h"
#include "trace_reader.h"

/* Of records: below that one stream for all ranks is smaller, and as fast. */
enum { WORTH_PRECOMPRESSING = 128 << 10 };

static bool worth_precompressing(void)
{
	return store_bytes() >= WORTH_PRECOMPRESSING;
}

/* Into a file next to the store: what the other store does not have. */
static void precompress(const char *store, const char *with, int64_t rank)
{
	char path[768 + sizeof PRECOMPRESSED_SUFFIX];
	struct log_error err;
	struct log *mine, *other = NULL;
	struct id_set shared = {0};
	size_t size;
	const void *memory = store_memory(&size);
	if (!with[0] || log_open_memory(&mine, memory, size, &err) < 0)
		return;
	snprintf(path, sizeof path, "%s%s", store, PRECOMPRESSED_SUFFIX);
	if (log_open_file(&other, with, &err) >= 0 && !precompressed_alike(mine, other) &&
	    precompressed_ids(&shared, other, &err) >= 0)
		precompressed_make(mine, &shared, rank, path, &err);
	id_set_free(&shared);
	if (other)
		log_close(other);
	log_close(mine);
}

/* Below that it is done as fast with all the others'. */
enum { TRACE_WORTH_AHEAD = 16 << 10 };

static void trace_ahead(const char *store, int64_t rank)
{
	char path[768 + sizeof TRACES_AHEAD_SUFFIX];
	struct log_error err;
	size_t size;
	const void *memory = store_memory(&size);
	if (store_state()->trace.used < TRACE_WORTH_AHEAD)
		return;
	snprintf(path, sizeof path, "%s%s", store, TRACES_AHEAD_SUFFIX);
	traces_ahead_make(memory, size, rank, path, &err);
}

struct ahead {
	const char *store, *with;
	int64_t rank;
};

static void make_trace_ahead(void *ahead)
{
	const struct ahead *a = ahead;
	trace_ahead(a->store, a->rank);
}

static void make_precompressed(void *ahead)
{
	const struct ahead *a = ahead;
	precompress(a->store, a->with, a->rank);
}

bool meet_bring_store(const struct life_world *world, const struct deadline *p)
{
	const char *store = session_store_path();
	char with[768];
	uint32_t order;
	struct ahead ahead = {store, with, world->rank};
	if (!node_register_store(store, &order))
		return false;
	if (world->size > 1)
		alone_do_long(make_trace_ahead, &ahead);
	if (!worth_precompressing() || (!order && (!p || !node_await_second(p))))
		return true;
	node_store(!order, with, sizeof with);
	alone_do_long(make_precompressed, &ahead);
	return true;
}

/* The others need not wait until the stores are removed. */
static void make_log(double waited, const struct deadline *p)
{
	size_t n;
	const struct assemble_phase phase = {"wait", waited};
	char **paths = node_stores(&n);
	const char *const *stores = (const char *const *)paths;
	bool done = paths && job_log_write(stores, n, &phase, 1, p->until);
	node_settle(done ? NODE_MADE : NODE_KEPT);
	job_log_settle(stores, n, done);
	node_forget_stores(paths, n);
}

static bool bring(const struct life_world *world, bool has_store, const struct deadline *p)
{
	if (has_store && !meet_bring_store(world, p)) {
		if (node_give_up())
			warn("no room for what the ranks tell each other: the stores are kept in %s",
			     session_world_directory());
		return false;
	}
	if (life_storeless())
		node_lack_store();
	return true;
}

/* The last one to come makes the log. */
static bool come(const struct life_world *world, const struct deadline *p)
{
	if (!node_come(world->size))
		return false;
	if (node_lacking())
		warn("%u of %lld ranks could not make their store (no room, or not allowed; IOLENS_TMPDIR "
		     "tells where): "
		     "the log is without them",
		     node_lacking(), (long long)world->size);
	make_log((double)(clock_monotonic() - p->begun) * 1e-9, p);
	return true;
}

static bool meet(const struct life_world *world, bool has_store, struct deadline *p)
{
	if (!bring(world, has_store, p))
		return false;
	if (come(world, p))
		return true;
	bool first_to_leave;
	enum node_outcome outcome = node_await(p, &first_to_leave);
	if (first_to_leave)
		job_log_not_all();
	return outcome != NODE_LEFT;
}

/* This rank was stopped for so long that `iolens recover` has been here: no rank waits for it. */
static bool is_collected(bool has_store)
{
	return has_store && !sys_exists(session_store_path());
}

bool meet_on_node(const struct life_world *world, bool has_store, struct deadline *p)
{
	if (is_collected(has_store))
		return true;
	if (deadline_given_up() || !node_enter(world->meeting))
		return false;
	bool all = meet(world, has_store, p);
	node_leave();
	return all;
}

void pass_by_node(const struct life_world *world, bool has_store, struct deadline *p)
{
	if (!is_collected(has_store) && !deadline_given_up() && node_enter(world->meeting))
		node_pass(bring(world, has_store, NULL) && come(world, p));
}
