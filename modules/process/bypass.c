/*
 * Ways around libc's I/O functions: counted as calls by name, so that a report can say what the unseen bytes are.
 *
 * syscall() is passed on by a jump with all registers as they came: a vfork or clone made through it returns to the caller as
 * ever. Programs that hold the instruction themselves (Go, liburing once its rings are made) are not seen here.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "life.h"
#include "live.h"
#include "self.h"
#include "wrap.h"

static void count(enum live_operation_id operation, int64_t calls)
{
	int saved = errno;
	if (self_ready()) {
		self_enter();
		self_shard()->operation[operation].count += calls;
		self_shard_done();
		self_leave();
	}
	errno = saved;
}

/* ---- libaio and liburing ---- */

WRAP(int, io_submit, void *context, long n, void **blocks)
{
	int done = REAL(io_submit)(context, n, blocks);
	if (done > 0)
		count(LIVE_OP_IO_SUBMIT, done);
	return done;
}

WRAP(int, io_uring_queue_init, unsigned entries, void *ring, unsigned flags)
{
	count(LIVE_OP_IO_URING, 1);
	return REAL(io_uring_queue_init)(entries, ring, flags);
}

WRAP(int, io_uring_queue_init_params, unsigned entries, void *ring, void *parameters)
{
	count(LIVE_OP_IO_URING, 1);
	return REAL(io_uring_queue_init_params)(entries, ring, parameters);
}

/* ---- syscall() ---- */

#if defined(__x86_64__)

enum { NUMBERS = 512 };

static const struct {
	int number;
	enum live_operation_id operation;
} known[] = {
	{SYS_read, LIVE_OP_RAW_READ},           {SYS_pread64, LIVE_OP_RAW_READ},
	{SYS_readv, LIVE_OP_RAW_READ},          {SYS_preadv, LIVE_OP_RAW_READ},
	{SYS_preadv2, LIVE_OP_RAW_READ},        {SYS_write, LIVE_OP_RAW_WRITE},
	{SYS_pwrite64, LIVE_OP_RAW_WRITE},      {SYS_writev, LIVE_OP_RAW_WRITE},
	{SYS_pwritev, LIVE_OP_RAW_WRITE},       {SYS_pwritev2, LIVE_OP_RAW_WRITE},
	{SYS_open, LIVE_OP_RAW_OPEN},           {SYS_openat, LIVE_OP_RAW_OPEN},
	{SYS_creat, LIVE_OP_RAW_OPEN},          {SYS_io_submit, LIVE_OP_IO_SUBMIT},
	{SYS_io_uring_setup, LIVE_OP_IO_URING}, {SYS_io_uring_enter, LIVE_OP_IO_URING_ENTER},
};

/* One bit per number, filled when the library starts. */
__attribute__((used, visibility("hidden"))) uint64_t bypass_known[NUMBERS / 64];
__attribute__((used, visibility("hidden"))) void *bypass_syscall;
__attribute__((section("iolens_wraps"), used)) static const struct wrap wrap_of_syscall = {"syscall", &bypass_syscall};

__attribute__((constructor)) static void know(void)
{
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		bypass_known[known[i].number / 64] |= UINT64_C(1) << known[i].number % 64;
	bypass_known[SYS_seccomp / 64] |= UINT64_C(1) << SYS_seccomp % 64;
	bypass_known[SYS_exit_group / 64] |= UINT64_C(1) << SYS_exit_group % 64;
}

void bypass_note(long number, long first) __attribute__((used, visibility("hidden")));
void bypass_note(long number, long first)
{
	if (!bypass_syscall)
		wrap_resolve(&wrap_of_syscall);
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].number == number)
			count(known[i].operation, 1);
	if (number == SYS_seccomp && first != 2) /* SECCOMP_GET_ACTION_AVAIL confines nothing */
		life_confine(first == 0);
	if (number == SYS_exit_group)
		life_end(LIVE_END_EXIT, first);
}

__asm__(".globl syscall\n.type syscall, @function\n"
	"syscall:\n"
	"	movq bypass_syscall(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	cmpq $511, %rdi\n"
	"	ja 2f\n"
	"	btq %rdi, bypass_known(%rip)\n"
	"	jnc 2f\n"
	"1:	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $8, %rsp\n"
	"	call bypass_note\n"
	"	addq $8, %rsp\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	movq bypass_syscall(%rip), %rax\n"
	"2:	jmp *%rax\n"
	".size syscall, .-syscall\n");

#endif
