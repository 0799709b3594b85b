/*
 * From a call outwards to its callers, by the unwind tables (.eh_frame) of the code on the stack. Takes no lock and no memory, and asks
 * about each page before it reads it. It follows what compilers write for plain calls: at anything else (expressions, signal handlers)
 * it stops. x86-64 only: elsewhere there is no first step.
 */
#ifndef IOLENS_UNWIND_H
#define IOLENS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_REGISTERS = 17, UNWIND_STACK = 7 }; /* DWARF's numbers; the last one is the return address */

/* The program or a library that is on the stack. */
struct unwind_code {
	uintptr_t from, to;
	uintptr_t table; /* where its PT_GNU_EH_FRAME is; 0 = it has none */
	bool stays;      /* it is never unloaded: its rows are remembered */
};

struct unwind_frame {
	uintptr_t at; /* where the call returns to */
	uintptr_t word[UNWIND_REGISTERS];
	uint32_t known; /* of the registers, a bit each */
};

/* What the caller must hold: no two threads walk at the same time. */
void unwind_begin(void);

/* The frame's caller, whose own registers are then in the frame. Its code is the frame's. False: it is not known. */
bool unwind_step(struct unwind_frame *f, const struct unwind_code *code);

/* The function that this is inlined into; it must not return before the last step. */
static inline __attribute__((always_inline)) void unwind_here(struct unwind_frame *f)
{
	*f = (struct unwind_frame){0};
#if defined(__x86_64__)
	/* rbx, rbp, rsp, r12 to r15; a call that returned one byte behind the next instruction would be at that. */
	__asm__ volatile("leaq 1(%%rip), %%rax\n\t"
			 "movq %%rax, (%0)\n\t"
			 "movq %%rbx, 32(%0)\n\t"
			 "movq %%rbp, 56(%0)\n\t"
			 "movq %%rsp, 64(%0)\n\t"
			 "movq %%r12, 104(%0)\n\t"
			 "movq %%r13, 112(%0)\n\t"
			 "movq %%r14, 120(%0)\n\t"
			 "movq %%r15, 128(%0)"
			 :
			 : "r"(f)
			 : "rax", "memory");
	f->known = 1 << 3 | 1 << 6 | 1 << UNWIND_STACK | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;
#endif
}

#endif
