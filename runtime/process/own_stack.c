#include "own_stack.h"

#include <stdint.h>
#include <ucontext.h>

#include "sys.h"

/* At the lower end of the stack itself, so that two threads do not share one. */
struct switching {
	ucontext_t here, there;
	void (*work)(void *);
	void *context;
};

/* makecontext passes integers only. */
static void begin(unsigned high, unsigned low)
{
	struct switching *s = (struct switching *)((uintptr_t)high << 32 | low);
	s->work(s->context);
}

bool own_stack_call(size_t size, void (*work)(void *context), void *context)
{
	struct switching *s = sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
	if (!s)
		return false;
	struct sys_signals signals = sys_block_signals();
	s->work = work;
	s->context = context;
	getcontext(&s->there); /* with that mask */
	s->there.uc_stack = (stack_t){.ss_sp = s + 1, .ss_size = size - sizeof *s};
	s->there.uc_link = &s->here;
	makecontext(&s->there, (void (*)(void))begin, 2, (unsigned)((uintptr_t)s >> 32), (unsigned)(uintptr_t)s);
	swapcontext(&s->here, &s->there);
	sys_restore_signals(signals);
	sys_unmap(s, size);
	return true;
}
