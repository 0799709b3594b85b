/* The dynamic linker's calls: what is unloaded, and what is looked up by name. */
#include "wrap.h"

/* Pointers into libraries that wrappers were bound to are kept. */
WRAP(int, dlclose, void *handle)
{
	resolve_unloading();
	int result = REAL(dlclose)(handle);
	resolve_unloaded();
	return result;
}

/*
 * It finds out who calls, so no frame of ours may be in between: note what is to be asked, and jump. Atomic: any thread writes the
 * same address (wrap.h).
 */
__attribute__((used)) static void *real_dlsym_entry;

__attribute__((used)) static void *dlsym_prepare(void *handle, const char *name)
{
	(void)wrap_real("dlsym", &real_dlsym_entry);
	return resolve_asked(handle, name);
}

#if defined(__x86_64__)
__asm__(".globl dlsym\n.type dlsym, @function\n"
	"dlsym:\n"
	"	pushq %rsi\n"
	"	call dlsym_prepare\n"
	"	popq %rsi\n"
	"	movq %rax, %rdi\n"
	"	jmp *real_dlsym_entry(%rip)\n"
	".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".globl dlsym\n.type dlsym, @function\n"
	"dlsym:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	str x1, [sp, #16]\n"
	"	bl dlsym_prepare\n"
	"	ldr x1, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	adrp x16, real_dlsym_entry\n"
	"	ldr x16, [x16, :lo12:real_dlsym_entry]\n"
	"	br x16\n"
	".size dlsym, .-dlsym\n");
#endif
