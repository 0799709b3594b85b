#include "own_stack.h"

#include <stdint.h>

#include "sys.h"

/* Calls `work` on the stack below `top`, and comes back on the caller's. No swapcontext: AddressSanitizer's writes a line to
   the program's standard error, under a lock of its own that a fork may have left held. Debuggers unwind through it. */
void own_stack_enter(void *context, void (*work)(void *context), void *top) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".hidden own_stack_enter\n.globl own_stack_enter\n.type own_stack_enter, @function\n"
	"own_stack_enter:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdx, %rsp\n"
	"	call *%rsi\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_stack_enter, .-own_stack_enter\n");
#elif defined(__aarch64__)
__asm__(".hidden own_stack_enter\n.globl own_stack_enter\n.type own_stack_enter, @function\n"
	"own_stack_enter:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register x29\n"
	"	mov sp, x2\n"
	"	blr x1\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa sp, 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_stack_enter, .-own_stack_enter\n");
#endif

bool own_stack_call(size_t size, void (*work)(void *context), void *context)
{
	char *stack = sys_map(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
	if (!stack)
		return false;
	struct sys_signals signals = sys_block_signals();
	own_stack_enter(context, work, (void *)((uintptr_t)(stack + size) & ~(uintptr_t)15));
	sys_restore_signals(signals);
	sys_unmap(stack, size);
	return true;
}
