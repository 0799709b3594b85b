#include "finalize.h"

#include <stdlib.h>

#include "config.h"
#include "job_log.h"
#include "note.h"
#include "scratch.h"
#include "session.h"
#include "sys.h"
#include "world.h"

void finalize_not_all(void)
{
	const char *directory = session_world_directory();
	bool collected = *directory && !sys_exists(directory); /* by `iolens recover`, while this rank was stopped */
	if (!collected)
		note("not all ranks came to MPI_Finalize within %g s: the stores are kept in %s: `iolens recover %s` "
		     "makes "
		     "the log",
		     config.finalize_timeout, directory, directory);
}

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

/* Nobody to wait for, and nothing to tell. */
static void finalize_alone(bool has_store, const struct patience *p)
{
	const char *store = session_store_path();
	if (has_store && sys_exists(store) && job_log(&store, 1, NULL, 0, p->until))
		sys_remove_directory(session_world_directory());
}

void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store)
{
	struct patience p = patience_from_now(config.finalize_timeout);
	if (!b->may_communicate())
		return;
	scratch_use();
	if (world->size == 1 && !by_messages()) {
		finalize_alone(has_store, &p);
		return;
	}
	bool near = on_one_node(world);
	bool all = near ? meet_on_node(world, has_store, &p) : meet_by_messages(b, world, has_store, &p);
	if (!all)
		patience_give_up(near ? 0 : world->id);
}
