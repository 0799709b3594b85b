#include "sandbox.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64 };
#else
enum { ARCHITECTURE = (int)AUDIT_ARCH_AARCH64 };
#endif

/* All that iolens adds to a program (docs/reliability.md, "Filters of system calls"; a test compares the two). */
static const int added[] = {
	SYS_brk,
	SYS_clock_gettime,
	SYS_clone,
	SYS_exit,
	SYS_faccessat,
	SYS_fcntl,
	SYS_fgetxattr,
	SYS_flock,
	SYS_fstatfs,
	SYS_ftruncate,
	SYS_futex,
	SYS_getcwd,
	SYS_getdents64,
	SYS_geteuid,
	SYS_getpeername,
	SYS_getpid,
	SYS_getppid,
	SYS_getrandom,
	SYS_getrusage,
	SYS_getsockopt,
	SYS_gettid,
	SYS_getuid,
	SYS_kcmp,
	SYS_kill,
	SYS_lseek,
	SYS_madvise,
	SYS_mkdirat,
	SYS_move_pages,
	SYS_mremap,
	SYS_munmap,
	SYS_nanosleep,
	SYS_ppoll,
	SYS_prctl,
	SYS_pread64,
	SYS_prlimit64,
	SYS_process_vm_readv,
	SYS_pwrite64,
#ifdef SYS_readlink
	SYS_readlink,
#endif
	SYS_readlinkat,
	SYS_renameat2,
	SYS_rt_sigaction,
	SYS_rt_sigpending,
	SYS_rt_sigprocmask,
	SYS_rt_sigtimedwait,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_sendto,
	SYS_shmctl,
	SYS_sigaltstack,
	SYS_statfs,
	SYS_statx,
	SYS_uname,
	SYS_unlinkat,
	SYS_write,
};

/* ---- the kernel's machine for filters ---- */

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t load(const struct seccomp_data *call, uint32_t at)
{
	uint32_t word = 0;
	if (at <= sizeof *call - sizeof word)
		memcpy(&word, (const char *)call + at, sizeof word);
	return word;
}

static uint32_t compute(uint16_t code, uint32_t a, uint32_t with)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + with;
	case BPF_SUB:
		return a - with;
	case BPF_MUL:
		return a * with;
	case BPF_DIV:
		return with ? a / with : 0;
	case BPF_AND:
		return a & with;
	case BPF_OR:
		return a | with;
	case BPF_XOR:
		return a ^ with;
	case BPF_LSH:
		return with < 32 ? a << with : 0;
	case BPF_RSH:
		return with < 32 ? a >> with : 0;
	default:
		return -a; /* BPF_NEG */
	}
}

static bool holds(uint16_t code, uint32_t a, uint32_t with)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == with;
	case BPF_JGT:
		return a > with;
	case BPF_JGE:
		return a >= with;
	default:
		return a & with; /* BPF_JSET */
	}
}

static uint32_t loaded(const struct machine *m, const struct sock_filter *f, const struct seccomp_data *call)
{
	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		return load(call, f->k);
	case BPF_MEM:
		return m->memory[f->k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof *call;
	default:
		return f->k; /* BPF_IMM */
	}
}

static uint32_t answer(const struct sock_fprog *filter, const struct seccomp_data *call)
{
	struct machine m = {0};
	for (unsigned at = 0; at < filter->len; at++) {
		const struct sock_filter *f = &filter->filter[at];
		uint32_t with = BPF_SRC(f->code) == BPF_X ? m.x : f->k;
		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			m.a = loaded(&m, f, call);
			break;
		case BPF_LDX:
			m.x = loaded(&m, f, call);
			break;
		case BPF_ST:
			m.memory[f->k % BPF_MEMWORDS] = m.a;
			break;
		case BPF_STX:
			m.memory[f->k % BPF_MEMWORDS] = m.x;
			break;
		case BPF_ALU:
			m.a = compute(f->code, m.a, with);
			break;
		case BPF_JMP:
			at += BPF_OP(f->code) == BPF_JA ? f->k : holds(f->code, m.a, with) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		default:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return SECCOMP_RET_ALLOW; /* none ends like this */
}

/* ---- what it means for the next program ---- */

/* Atomic: becomes true once, by a thread that sets a filter; those that start programs read it. */
static bool kills;

/* A trap, too: no handler lives through an exec. */
static bool is_deadly(uint32_t result)
{
	uint32_t action = result & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD || action == SECCOMP_RET_TRAP;
}

void sandbox_filter_set(const struct sock_fprog *filter)
{
	for (size_t i = 0; i < sizeof added / sizeof *added && !sandbox_kills(); i++) {
		struct seccomp_data call = {.nr = added[i], .arch = (uint32_t)ARCHITECTURE};
		if (is_deadly(answer(filter, &call)))
			__atomic_store_n(&kills, true, __ATOMIC_RELAXED);
	}
}

bool sandbox_kills(void)
{
	return __atomic_load_n(&kills, __ATOMIC_RELAXED);
}
