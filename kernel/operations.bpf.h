/* Operations that are counted by name. */
#ifndef IOLENS_OPERATIONS_BPF_H
#define IOLENS_OPERATIONS_BPF_H

#include "records.bpf.h"

/* By opendir, which all C libraries make of these two: as from inside, that is no open of a file. */
INLINE bool opens_stream(unsigned long flags)
{
	return flags & O_DIRECTORY && flags & O_CLOEXEC;
}

static __attribute__((noinline)) int count_operation(const struct call *c, __u32 id, bool failed, __s64 bytes)
{
	struct observed_image *i = bpf_map_lookup_elem(&images, &c->thread->image);
	if (!i || i->ignore || id >= OBSERVED_OPERATION_COUNT)
		return 0;
	struct observed_operation *o = &i->operation[id];
	__sync_fetch_and_add(&o->count, 1);
	__sync_fetch_and_add(&o->time, c->end - c->start);
	if (failed)
		__sync_fetch_and_add(&o->errors, 1);
	else if (bytes)
		__sync_fetch_and_add(&o->bytes, bytes);
	return 0;
}

/* ---- operations that are counted whatever they are done to, and also when they fail ---- */

INLINE int open_operation(unsigned long flags)
{
	return opens_stream(flags) ? OBSERVED_OPENDIR : OBSERVED_OPEN;
}

INLINE int stat_operation(const char *path, bool empty)
{
	char first = 1;
	if (empty)
		bpf_probe_read_user(&first, sizeof first, path);
	return first ? OBSERVED_STAT : -1;
}

INLINE bool is_lock(unsigned long command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

/* By the number of the system call, plus 1. */
static const __u8 operations[OBSERVED_CALLS] = {
	[__NR_creat] = OBSERVED_OPEN + 1,
	[__NR_openat2] = OBSERVED_OPEN + 1,
	[__NR_stat] = OBSERVED_STAT + 1,
	[__NR_lstat] = OBSERVED_STAT + 1,
	[__NR_sync] = OBSERVED_SYNC + 1,
	[__NR_syncfs] = OBSERVED_SYNC + 1,
	[__NR_sync_file_range] = OBSERVED_SYNC + 1,
	[__NR_unlink] = OBSERVED_UNLINK + 1,
	[__NR_rename] = OBSERVED_RENAME + 1,
	[__NR_renameat] = OBSERVED_RENAME + 1,
	[__NR_renameat2] = OBSERVED_RENAME + 1,
	[__NR_link] = OBSERVED_LINK + 1,
	[__NR_linkat] = OBSERVED_LINK + 1,
	[__NR_symlink] = OBSERVED_SYMLINK + 1,
	[__NR_symlinkat] = OBSERVED_SYMLINK + 1,
	[__NR_readlink] = OBSERVED_READLINK + 1,
	[__NR_readlinkat] = OBSERVED_READLINK + 1,
	[__NR_mkdir] = OBSERVED_MKDIR + 1,
	[__NR_mkdirat] = OBSERVED_MKDIR + 1,
	[__NR_rmdir] = OBSERVED_RMDIR + 1,
	[__NR_access] = OBSERVED_ACCESS + 1,
	[__NR_faccessat] = OBSERVED_ACCESS + 1,
	[__NR_faccessat2] = OBSERVED_ACCESS + 1,
	[__NR_chmod] = OBSERVED_CHMOD + 1,
	[__NR_fchmod] = OBSERVED_CHMOD + 1,
	[__NR_fchmodat] = OBSERVED_CHMOD + 1,
	[__NR_chown] = OBSERVED_CHOWN + 1,
	[__NR_lchown] = OBSERVED_CHOWN + 1,
	[__NR_fchown] = OBSERVED_CHOWN + 1,
	[__NR_fchownat] = OBSERVED_CHOWN + 1,
	[__NR_utime] = OBSERVED_UTIME + 1,
	[__NR_utimes] = OBSERVED_UTIME + 1,
	[__NR_futimesat] = OBSERVED_UTIME + 1,
	[__NR_utimensat] = OBSERVED_UTIME + 1,
	[__NR_truncate] = OBSERVED_TRUNCATE + 1,
	[__NR_ftruncate] = OBSERVED_TRUNCATE + 1,
	[__NR_fallocate] = OBSERVED_FALLOCATE + 1,
	[__NR_flock] = OBSERVED_LOCK + 1,
	[__NR_sendfile] = OBSERVED_SENDFILE + 1,
	[__NR_copy_file_range] = OBSERVED_COPY_FILE_RANGE + 1,
	[__NR_readahead] = OBSERVED_READAHEAD + 1,
	[__NR_fadvise64] = OBSERVED_READAHEAD + 1,
	[__NR_msync] = OBSERVED_MSYNC + 1,
};

/* enum observed_operation_id; below 0: it is none. */
INLINE int operation_of(const struct call *c, unsigned long number)
{
	const unsigned long *a = c->argument;
	switch (number) {
	case __NR_open:
		return open_operation(a[1]);
	case __NR_openat:
		return open_operation(a[2]);
	case __NR_newfstatat:
		return stat_operation((const char *)a[1], a[3] & AT_EMPTY_PATH);
	case __NR_statx:
		return stat_operation((const char *)a[1], a[2] & AT_EMPTY_PATH);
	case __NR_unlinkat:
		return a[2] & AT_REMOVEDIR ? OBSERVED_RMDIR : OBSERVED_UNLINK;
	case __NR_fcntl:
		return is_lock(a[1]) ? OBSERVED_LOCK : -1;
	}
	return number < OBSERVED_CALLS ? operations[number] - 1 : -1;
}

INLINE void on_operation(struct call *c, long number)
{
	int id = operation_of(c, number);
	__s64 bytes = 0;
	if (id == OBSERVED_FALLOCATE)
		bytes = c->argument[3];
	else if (id == OBSERVED_SENDFILE || id == OBSERVED_COPY_FILE_RANGE)
		bytes = c->result;
	if (id >= 0)
		count_operation(c, id, c->result < 0, bytes);
}

#endif
