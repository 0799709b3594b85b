/*
 * Ways around libc's I/O functions: counted as calls by name, so that a report can say what the unseen bytes are.
 *
 * syscall() is passed on by a jump with all registers as they came: a vfork or clone made through it returns to the caller as
 * ever. Programs that hold the instruction themselves (Go, liburing once its rings are made) are not seen here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../async/own_ring.h"
#include "../posix/map.h"
#include "../posix/record.h"
#include "fds.h"
#include "life.h"
#include "names.h"
#include "process_state.h"
#include "sandbox.h"
#include "self.h"
#include "wrap.h"

/* ---- syscall() ---- */

#if defined(__x86_64__)

enum { NUMBERS = 512 };

static const struct {
	int number;
	enum state_operation_id operation;
} known[] = {
	{SYS_read, STATE_OP_UNSEEN_RAW_READ},
	{SYS_pread64, STATE_OP_UNSEEN_RAW_READ},
	{SYS_readv, STATE_OP_UNSEEN_RAW_READ},
	{SYS_preadv, STATE_OP_UNSEEN_RAW_READ},
	{SYS_preadv2, STATE_OP_UNSEEN_RAW_READ},
	{SYS_write, STATE_OP_UNSEEN_RAW_WRITE},
	{SYS_pwrite64, STATE_OP_UNSEEN_RAW_WRITE},
	{SYS_writev, STATE_OP_UNSEEN_RAW_WRITE},
	{SYS_pwritev, STATE_OP_UNSEEN_RAW_WRITE},
	{SYS_pwritev2, STATE_OP_UNSEEN_RAW_WRITE},
	{SYS_open, STATE_OP_UNSEEN_RAW_OPEN},
	{SYS_openat, STATE_OP_UNSEEN_RAW_OPEN},
	{SYS_creat, STATE_OP_UNSEEN_RAW_OPEN},
	{437 /* SYS_openat2, which older headers lack */, STATE_OP_UNSEEN_RAW_OPEN},
};

enum { CLOSE_RANGE = 436 }; /* SYS_close_range, which older headers lack */

static const int others[] = {SYS_exit_group, SYS_fork, SYS_vfork, SYS_clone,  SYS_clone3,
			     SYS_close,      SYS_dup2, SYS_dup3,  CLOSE_RANGE};

/* After them the store may be out of reach, or the working directory another one (wrap.c has what libc has). */
static const int rousing[] = {
	SYS_vfork,     SYS_clone,     SYS_clone3, SYS_chroot,   SYS_pivot_root, SYS_unshare,  SYS_setns,
	SYS_mount,     SYS_umount2,   SYS_setuid, SYS_setreuid, SYS_setresuid,  SYS_setfsuid, SYS_setfsgid,
	SYS_setrlimit, SYS_prlimit64, 446 /* SYS_landlock_restrict_self, which older headers lack */};

/* Calls that are recorded as what they are: libraries that hook mmap make it so, and what copies files without glibc's new functions. */
static const int recorded[] = {SYS_mmap,          SYS_munmap,          SYS_mremap,         SYS_sendfile,
			       SYS_splice,        SYS_copy_file_range, SYS_io_submit,      SYS_io_getevents,
			       SYS_io_pgetevents, SYS_io_uring_setup,  SYS_io_uring_enter, SYS_io_uring_register,
			       SYS_seccomp,       SYS_chdir,           SYS_fchdir,         SYS_rename,
			       SYS_renameat,      SYS_renameat2};

/* One bit per number. Written at the start, by one thread. */
__attribute__((used, visibility("hidden"))) uint64_t bypass_known[NUMBERS / 64] AT_START;
__attribute__((used, visibility("hidden"))) uint64_t bypass_recorded[NUMBERS / 64] AT_START;
__attribute__((used, visibility("hidden"))) void *bypass_syscall AT_START;

__attribute__((constructor)) static void know(void)
{
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		bypass_known[known[i].number / 64] |= UINT64_C(1) << known[i].number % 64;
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		bypass_known[others[i] / 64] |= UINT64_C(1) << others[i] % 64;
	for (unsigned i = 0; i < sizeof rousing / sizeof *rousing; i++)
		bypass_known[rousing[i] / 64] |= UINT64_C(1) << rousing[i] % 64;
	for (unsigned i = 0; i < sizeof recorded / sizeof *recorded; i++)
		bypass_recorded[recorded[i] / 64] |= UINT64_C(1) << recorded[i] % 64;
	wrap_resolve("syscall", &bypass_syscall);
}

/* What kind of child clone3 makes is in the program's memory, which is not for us to read before the kernel has. */
static void see_child(long number, long first)
{
	bool own_memory = number == SYS_fork || (number == SYS_clone && !(first & CLONE_VM));
	bool our_memory = number == SYS_vfork || (number == SYS_clone && first & CLONE_VM);
	if (own_memory || number == SYS_clone3 || (our_memory && !(number == SYS_clone && first & CLONE_FILES)))
		life_share();
	if (our_memory || number == SYS_clone3) {
		fds_vfork_seen();
		if (number != SYS_vfork && !(number == SYS_clone && first & CLONE_VFORK))
			lock_share();
	}
}

/* What a descriptor is that is replaced or closed is asked at its next use. */
static void see_descriptor(long number, long a, long b, long c)
{
	enum { CLOEXEC = 4 };
	if (number == SYS_close)
		posix_forget((unsigned)a, (unsigned)a);
	else if ((number == SYS_dup2 || number == SYS_dup3) && a != b)
		posix_forget((unsigned)b, (unsigned)b);
	else if (number == CLOSE_RANGE && !(c & CLOEXEC))
		posix_forget((unsigned)a, (unsigned)b);
}

/* With the first arguments of syscall(). */
void bypass_seen(long number, long first, long second, long third) __attribute__((used, visibility("hidden")));
void bypass_seen(long number, long first, long second, long third)
{
	wrap_real("syscall", &bypass_syscall);
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].number == number && !self.inside)
			self_count(known[i].operation, 1, 0, 0);
	for (unsigned i = 0; i < sizeof rousing / sizeof *rousing; i++)
		if (rousing[i] == number)
			life_rouse();
	if (number == SYS_chroot || number == SYS_pivot_root || number == SYS_unshare || number == SYS_setns)
		names_directory_changing();
	if (number == SYS_unshare && first & CLONE_FILES) {
		life_share();
		if (!lock_is_needless() && self_ready())
			fds_part(true); /* if it fails, descriptors are as before, and only asked about more often */
	}
	if (number == SYS_exit_group)
		life_end(STATE_END_EXIT, first);
	see_child(number, first);
	see_descriptor(number, first, second, third);
}

typedef long type_syscall(long, long, long, long, long, long, long);

static long pass(long number, long a, long b, long c, long d, long e, long f)
{
	return ((type_syscall *)wrap_real("syscall", &bypass_syscall))(number, a, b, c, d, e, f);
}

static long map(long at, long n, long protection, long flags, long fd, long from)
{
	struct span s = flags & MAP_ANONYMOUS || (int)fd < 0 ? (struct span){.fd = (int)fd} : span_fd((int)fd);
	struct map_taken replaced;
	map_unmapping(&replaced, (void *)at, flags & MAP_FIXED ? (size_t)n : 0);
	long got = pass(SYS_mmap, at, n, protection, flags, fd, from);
	map_unmapped(&replaced, got != -1);
	posix_on_map(s, n, got != -1);
	if (got != -1 && s.at)
		map_began(s, (void *)got, (size_t)n, (int)protection, (int)flags, from);
	return got;
}

static long unmap(long at, long n)
{
	struct map_taken taken;
	map_unmapping(&taken, (void *)at, (size_t)n);
	long result = pass(SYS_munmap, at, n, 0, 0, 0, 0);
	map_unmapped(&taken, result == 0);
	return result;
}

static long move(long at, long n, long room, long flags, long to)
{
	struct map_taken taken, replaced;
	map_resizing(&taken, (void *)at, (size_t)n, (size_t)room);
	map_unmapping(&replaced, (void *)to, flags & MREMAP_FIXED ? (size_t)room : 0);
	long got = pass(SYS_mremap, at, n, room, flags, to, 0);
	map_unmapped(&replaced, got != -1);
	map_unmapped(&taken, got != -1);
	if (got != -1)
		map_moved((void *)at, (size_t)(room < n ? room : n), (void *)got, (size_t)room);
	return got;
}

static bool moves_directory(long number)
{
	return number == SYS_chdir || number == SYS_fchdir || number == SYS_rename || number == SYS_renameat ||
	       number == SYS_renameat2;
}

/* The working directory becomes another one, or gets another name, as any file may. */
static long move_directory(long number, long a, long b, long c, long d, long e)
{
	struct span s = span_path();
	names_directory_moving();
	long result = pass(number, a, b, c, d, e, 0);
	names_directory_moved();
	if (number == SYS_rename)
		posix_on_rename(s, AT_FDCWD, (const char *)a, AT_FDCWD, (const char *)b, (int)result);
	else if (number == SYS_renameat || number == SYS_renameat2)
		posix_on_rename(s, (int)a, (const char *)b, (int)c, (const char *)d, (int)result);
	return result;
}

static long confine(long operation, long flags, long argument)
{
	if (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER)
		life_confine(operation == SECCOMP_SET_MODE_STRICT);
	long result = pass(SYS_seccomp, operation, flags, argument, 0, 0, 0);
	if (operation == SECCOMP_SET_MODE_FILTER && result >= 0) /* the descriptor of a listener */
		sandbox_filter_set((const struct sock_fprog *)argument);
	return result;
}

/* ---- asynchronous I/O ---- */

static long submit(long context, long n, long blocks)
{
	struct async_call call = async_call_begin(STATE_ASYNC_LIBAIO);
	if (!self.inside)
		self_count(STATE_OP_UNSEEN_IO_SUBMIT, 1, 0, 0);
	libaio_submit(&call, (const void *)context, n, (void *const *)blocks);
	long done = pass(SYS_io_submit, context, n, blocks, 0, 0, 0);
	async_call_returned(&call);
	libaio_submitted(&call, (const void *)context, n, (void *const *)blocks, done);
	async_call_end(&call);
	return done;
}

static long get_events(long number, long context, long least, long n, long events, long timeout, long mask)
{
	struct async_call call = async_call_begin(STATE_ASYNC_LIBAIO);
	long got = pass(number, context, least, n, events, timeout, mask);
	async_call_returned(&call);
	libaio_completed(&call, (const void *)context, (const void *)events, got);
	async_call_end(&call);
	return got;
}

static long set_up(long n, long parameters)
{
	long fd = pass(SYS_io_uring_setup, n, parameters, 0, 0, 0, 0);
	if (!self.inside)
		self_count(STATE_OP_UNSEEN_IO_URING_SETUP, 1, 0, 0);
	if (fd >= 0)
		uring_set_up((int)fd, (const void *)parameters);
	return fd;
}

static long enter(long fd, long submit, long wait, long flags, long set, long size)
{
	enum { REGISTERED_RING = 1 << 4 }; /* a number of the kernel's for it, not a descriptor */
	struct async_call call = async_call_begin(STATE_ASYNC_IO_URING);
	if (!self.inside)
		self_count(STATE_OP_UNSEEN_IO_URING_ENTER, 1, 0, 0);
	if (!(flags & REGISTERED_RING))
		uring_entering(&call, (int)fd, (unsigned)submit);
	long done = pass(SYS_io_uring_enter, fd, submit, wait, flags, set, size);
	async_call_returned(&call);
	if (!(flags & REGISTERED_RING))
		uring_entered(&call, (int)fd);
	async_call_end(&call);
	return done;
}

static long enroll(long fd, long operation, long argument, long n)
{
	long result = pass(SYS_io_uring_register, fd, operation, argument, n, 0, 0);
	if (result >= 0)
		uring_registered((int)fd, (unsigned)operation, (const void *)argument, (unsigned)n);
	return result;
}

/* What number that is among those that complete later; `true` = it was made. */
static bool asynchronous(long number, long a, long b, long c, long d, long e, long f, long *result)
{
	if (number == SYS_io_submit)
		*result = submit(a, b, c);
	else if (number == SYS_io_getevents || number == SYS_io_pgetevents)
		*result = get_events(number, a, b, c, d, e, f);
	else if (number == SYS_io_uring_setup)
		*result = set_up(a, b);
	else if (number == SYS_io_uring_enter)
		*result = enter(a, b, c, d, e, f);
	else if (number == SYS_io_uring_register)
		*result = enroll(a, b, c, d);
	else
		return false;
	return true;
}

/* Called as syscall() was. */
long bypass_record(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((used, visibility("hidden")));
long bypass_record(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_mmap && !posix_mapping)
		return map(a, b, c, d, e, f);
	if (number == SYS_munmap && !posix_mapping)
		return unmap(a, b);
	if (number == SYS_mremap && !posix_mapping)
		return move(a, b, c, d, e);
	if (number == SYS_seccomp)
		return confine(a, b, c);
	if (moves_directory(number))
		return move_directory(number, a, b, c, d, e);
	long got;
	if (asynchronous(number, a, b, c, d, e, f, &got))
		return got;
	struct span s = span_path();
	got = pass(number, a, b, c, d, e, f);
	if (number == SYS_sendfile)
		posix_on_transfer(s, STATE_OP_POSIX_SENDFILE, (int)b, posix_began((int64_t *)c, got), (int)a, AT_CURSOR,
				  got);
	else if (number == SYS_splice || number == SYS_copy_file_range)
		posix_on_transfer(s, number == SYS_splice ? STATE_OP_POSIX_SPLICE : STATE_OP_POSIX_COPY_FILE_RANGE,
				  (int)a, posix_began((int64_t *)b, got), (int)c, posix_began((int64_t *)d, got), got);
	return got;
}

__asm__(".globl syscall\n.type syscall, @function\n"
	"syscall:\n"
	"	movq bypass_syscall(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	cmpq $511, %rdi\n"
	"	ja 2f\n"
	"	btq %rdi, bypass_recorded(%rip)\n"
	"	jc bypass_record\n"
	"	btq %rdi, bypass_known(%rip)\n"
	"	jnc 2f\n"
	"1:	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $8, %rsp\n"
	"	call bypass_seen\n"
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
