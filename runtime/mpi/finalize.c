#include "finalize.h"

#include "note.h"
#include "session.h"

void finalize_world(const struct mpi_backend *b, const struct life_world *world, bool has_store)
{
	(void)b, (void)has_store;
	if (world->rank == 0)
		note("the ranks' stores are kept: `iolens recover %s` makes the log", session_world_directory());
}
