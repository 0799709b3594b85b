#include "finalize.h"

#include <stdlib.h>

#include "config.h"
#include "job_log.h"
#include "warn.h"
#include "scratch.h"
#include "session.h"
#include "sys.h"

/* messages, mpiio */
static bool by_messages(void)
{
	return config.finalize && config.finalize[0] == 'm';
}

/* All ranks decide alike, because the launcher has told all of them the same. */
static bool on_one_node(const struct life_world *world)
{
	return world->local_size == world->size && !by_messages();
}

/* One rank: no other to wait for or to inform. */
static void finalize_alone(bool has_store, const struct deadline *p)
{
	const char *store = session_store_path();
	if (has_store && sys_exists(store) && job_log(&store, 1, NULL, 0, p->until))
		sys_remove_directory(session_world_directory());
}

static void make_log(const struct mpi_backend *b, const struct life_world *world, bool has_store)
{
	struct deadline p = deadline_from_now(config.finalize_timeout);
	if (world->size == 1 && !by_messages()) {
		finalize_alone(has_store, &p);
		return;
	}
	bool near = on_one_node(world);
	bool all = near ? meet_on_node(world, has_store, &p) : meet_by_messages(b, world, has_store, &p);
	if (!all)
		deadline_give_up(near ? 0 : world->id);
}

bool finalize_possible_without_mpi(const struct life_world *world)
{
	return on_one_node(world);
}

void finalize_without_mpi(const struct life_world *world, bool has_store)
{
	struct deadline p = deadline_from_now(config.finalize_timeout);
	scratch_use();
	struct sys_signals signals = sys_block_signals();
	if (world->size == 1)
		finalize_alone(has_store, &p);
	else
		pass_by_node(world, has_store, &p);
	sys_restore_signals(signals);
}

void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store)
{
	if (!b->may_communicate())
		return;
	scratch_use();
	struct sys_signals signals = sys_block_signals();
	make_log(b, world, has_store);
	sys_restore_signals(signals);
}
