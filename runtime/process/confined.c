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
	kernel_io(p->kernel_at_end);
	kernel_used(p->used_at_end);
	p->own_moved[IO_READ] = sys_own_read;
	p->own_moved[IO_WRITE] = sys_own_written;
	self_leave();
}
