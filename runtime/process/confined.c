#include "confined.h"

#include "arena.h"
#include "kernel.h"
#include "names.h"
#include "self.h"
#include "store.h"
#include "sys.h"

enum { FILES = 64, THREADS = 8, NAME = 256 /* bytes */, MEMORY = 128 << 10 };

static void reserve(void)
{
	struct process_state *state = store_state();
	if (self_shard())
		self_shard_done();
	arena_reserve(MEMORY);
	names_reserve();
	store_reserve(FILES, NAME);
	store_touch(&state->shard[THREADS - 1], sizeof *state->shard);
}

void confined_prepare(void)
{
	struct state_process *p = &store_state()->process;
	self_enter();
	reserve();
	kernel_account(p, false);
	self_leave();
}
