/*
 * Ranks of one node make their log without a message. Who comes registers its store; what can be no other rank's it squeezes
 * before that, while the others do the same. The last one to come makes the log and removes the stores; the others wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "finalize.h"
#include "job_log.h"
#include "node.h"
#include "note.h"
#include "pack.h"
#include "session.h"
#include "store.h"
#include "sys.h"

/* Of records: below that one stream for all ranks is smaller, and as fast. */
enum { WORTH_PACKING = 128 << 10 };

static bool worth_packing(const struct log *store)
{
	const struct log_container *c = log_container(store);
	uint64_t bytes = 0;
	for (int m = 0; m < LOG_MAX_MODULES; m++)
		bytes += c->module[m].length;
	return bytes >= WORTH_PACKING;
}

static void pack(const char *store, const char *first, int64_t rank)
{
	char path[768 + sizeof PACK_SUFFIX];
	struct log_error err;
	struct log *mine, *other = NULL;
	struct id_set shared = {0};
	size_t size;
	const void *image = store_image(&size);
	if (log_open_memory(&mine, image, size, &err) < 0)
		return;
	snprintf(path, sizeof path, "%s%s", store, PACK_SUFFIX);
	if (worth_packing(mine) && log_open_file(&other, first, &err) >= 0 && pack_ids(&shared, other, &err) >= 0)
		pack_make(mine, &shared, rank, path, &err);
	id_set_free(&shared);
	if (other)
		log_close(other);
	log_close(mine);
}

/* The mark on the store says that its rank has come: what else is in the directory is some child's. */
bool meet_bring_store(const struct life_world *world)
{
	char mark[768], first[768];
	if (!session_mark_store(mark, sizeof mark))
		return false;
	node_first_store(first, sizeof first);
	if (first[0])
		pack(mark, first, world->rank);
	return node_register_store(mark);
}

static bool make_log(double waited, const struct patience *p)
{
	size_t n;
	const struct assemble_phase phase = {"wait", waited};
	char **paths = node_stores(&n);
	bool done = paths && job_log((const char *const *)paths, n, &phase, 1, p->until);
	node_forget_stores(paths, n);
	return done;
}

static bool meet(const struct life_world *world, bool has_store, struct patience *p)
{
	if (has_store && !meet_bring_store(world)) {
		if (node_give_up())
			note("no room for what the ranks tell each other: the stores are kept in %s",
			     session_world_directory());
		return false;
	}
	if (life_storeless())
		node_lack_store();
	if (node_come(world->size)) {
		if (node_lacking())
			note("%u of %lld ranks could not make their store (no room, or not allowed; IOLENS_TMPDIR "
			     "tells where): "
			     "the log is without them",
			     node_lacking(), (long long)world->size);
		bool done = make_log((double)(clock_monotonic() - p->begun) * 1e-9, p);
		node_settle(done ? NODE_MADE : NODE_KEPT);
		return true;
	}
	bool first_to_leave;
	enum node_outcome outcome = node_await(p, &first_to_leave);
	if (first_to_leave)
		finalize_not_all();
	return outcome != NODE_LEFT;
}

/* This rank was stopped for so long that `iolens recover` has been here: nobody waits for it. */
static bool is_collected(bool has_store)
{
	return has_store && !sys_exists(session_store_path());
}

bool meet_on_node(const struct life_world *world, bool has_store, struct patience *p)
{
	if (is_collected(has_store))
		return true;
	if (patience_given_up() || !node_enter(world->meeting))
		return false;
	bool all = meet(world, has_store, p);
	node_leave();
	return all;
}
