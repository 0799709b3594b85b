/*
 * Jumps out of signal handlers: where one interrupted a record call of ours, that call never ends.
 *
 * The C library hides the stack pointer in a jmp_buf behind a secret of the process. It is learned from a jmp_buf of our own;
 * where that does not work out, a call that was left is noticed later, from a frame above it.
 */
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "thread.h"
#include "readable.h"
#include "self.h"
#include "wrap.h"

#if defined(__x86_64__)
enum { POINTER_AT = 6, ROTATED = 17 };
#else
enum { POINTER_AT = 13, ROTATED = 0 };
#endif

/* Written at the start, by one thread. */
static struct {
	bool known;
	uintptr_t value;
} secret AT_START;

static uintptr_t hidden_pointer(const void *buffer)
{
	uintptr_t v;
	memcpy(&v, (const char *)buffer + POINTER_AT * sizeof v, sizeof v);
	return ROTATED ? v >> ROTATED | v << (64 - ROTATED) : v;
}

static uintptr_t pointer_in(const void *buffer)
{
	return secret.known ? hidden_pointer(buffer) ^ secret.value : 0;
}

/* The stack pointer of a function is that which its calls of setjmp save. */
__attribute__((noinline)) static uintptr_t try(jmp_buf buffer)
{
	uintptr_t here;
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %0" : "=r"(here));
#else
	__asm__ volatile("mov %0, sp" : "=r"(here));
#endif
	if (_setjmp(buffer))
		return 0;
	return here;
}

/* Twice, at different depths: one secret must explain both. */
__attribute__((noinline)) static bool deeper(void)
{
	jmp_buf buffer;
	uintptr_t here = try(buffer);
	return here && pointer_in(buffer) == here;
}

__attribute__((constructor)) static void learn(void)
{
	jmp_buf buffer;
	uintptr_t here = try(buffer);
	secret.value = hidden_pointer(buffer) ^ here;
	secret.known = true;
	secret.known = deeper();
}

#define JUMP(name)                                \
	WRAP(void, name, void *buffer, int value) \
	{                                         \
		self_on_jump(pointer_in(buffer)); \
		REAL(name)(buffer, value);        \
		__builtin_unreachable();          \
	}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* ---- contexts ---- */

static uintptr_t pointer_of(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
	return context->uc_mcontext.sp;
#endif
}

WRAP(int, setcontext, const ucontext_t *context)
{
	if (readable(context, sizeof *context))
		self_on_jump(pointer_of(context));
	return REAL(setcontext)(context);
}

/* By a jump: the context saved is the caller's. The address is atomic: any thread writes the same one (wrap.h). */
__attribute__((used, visibility("hidden"))) void *jump_swapcontext;

__attribute__((used)) static void *swap_prepare(void)
{
	self_on_switch();
	return wrap_real("swapcontext", &jump_swapcontext);
}

#if defined(__x86_64__)
__asm__(".globl swapcontext\n.type swapcontext, @function\n"
	"swapcontext:\n"
	"	pushq %rdi\n"
	"	pushq %rsi\n"
	"	subq $8, %rsp\n"
	"	call swap_prepare\n"
	"	addq $8, %rsp\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	jmp *%rax\n"
	".size swapcontext, .-swapcontext\n");
#elif defined(__aarch64__)
__asm__(".globl swapcontext\n.type swapcontext, @function\n"
	"swapcontext:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp x0, x1, [sp, #16]\n"
	"	bl swap_prepare\n"
	"	mov x16, x0\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	br x16\n"
	".size swapcontext, .-swapcontext\n");
#endif
