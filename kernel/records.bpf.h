/* What the BPF programs keep: their maps, and records of files by names. */
#ifndef IOLENS_RECORDS_BPF_H
#define IOLENS_RECORDS_BPF_H

#include "kernel_types.h"
#include "observed.h"

#include <asm/unistd.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/fcntl.h>
#include <stdbool.h>

enum {
	AT_CURSOR = -2,
	TYPE_MASK = 0170000,
	TYPE_FILE = 0100000,
	TYPE_DIRECTORY = 0040000,
	TYPE_PIPE = 0010000,
	TYPE_SOCKET = 0140000,
	TYPE_CHARACTERS = 0020000,
	USER_CODE_64 = 0x33, /* the code segment of 64-bit programs: others have other numbers of system calls */
	ALIGNMENT = 8,
	LUSTRE = 0x0BD00BD0,
	LUSTRE_BLOCK = 1 << 20,
	VECTOR = 64, /* elements of a vector whose alignment is looked at */
};

volatile const struct observed_settings settings SEC(".rodata.settings");
struct observed_sums sums;

struct thread {
	__u64 image;   /* 0 = it is not to be observed: another store has it, or it has not become the command yet */
	__u64 member;  /* of the session: what it becomes by an exec is to be observed */
	__u64 start;   /* of the system call that it is in */
	__u64 closing; /* the file of a close */
};

struct opened_key {
	__u64 image;
	__u64 file; /* struct file */
};

/* An open file description. */
struct opened {
	__u64 inode;
	__u64 name;    /* observed_key.name; 0 = it has no record: */
	__u64 class;   /* enum observed_class */
	__s64 last[2]; /* last byte read, written */
};

struct scratch {
	struct observed_head head;
	char text[3 * OBSERVED_PATH];
	struct observed_file empty;
	struct observed_image new_image;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OBSERVED_OPENS);
	__type(key, struct opened_key);
	__type(value, struct opened);
} opens SEC(".maps");

/* Made one by one: room for all of them would be locked memory. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OBSERVED_FILES);
	__type(key, struct observed_key);
	__type(value, struct observed_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OBSERVED_SHARED_FILES);
	__type(key, struct observed_key);
	__type(value, struct observed_file);
} shared SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OBSERVED_IMAGES);
	__type(key, __u64);
	__type(value, struct observed_image);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, OBSERVED_RING);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

#define INLINE static inline __attribute__((always_inline))

/* A system call that returns. */
struct call {
	struct thread *thread;
	struct task_struct *task;
	unsigned long argument[5];
	long result;
	__u64 start, end;
};

INLINE struct scratch *scratch(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&scratches, &zero);
}

INLINE struct file *file_of(struct task_struct *task, long fd)
{
	struct file *file = NULL;
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	if (fd < 0 || !table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + fd);
	return file;
}

/* ---- names ---- */

/*
 * Appends the names of the directories from `dentry` upwards, the innermost first, to the text at `used`; returns where it
 * ends. Not static: the verifier goes through such functions once, not for each call.
 */
__attribute__((noinline)) __u32 append_directories(__u32 used, __u64 dentry, __u64 mount)
{
	struct scratch *s = scratch();
	struct dentry *d = (void *)dentry;
	struct mount *m = (void *)mount - bpf_core_field_offset(struct mount, mnt);
	struct dentry *root = BPF_CORE_READ(bpf_get_current_task_btf(), fs, root.dentry);
	for (int i = 0; s && i < OBSERVED_DEPTH; i++) {
		struct dentry *parent = BPF_CORE_READ(d, d_parent);
		if (d == root || used >= 2 * OBSERVED_PATH)
			break;
		if (d == BPF_CORE_READ(m, mnt.mnt_root)) {
			struct mount *outer = BPF_CORE_READ(m, mnt_parent);
			if (outer == m)
				break;
			d = BPF_CORE_READ(m, mnt_mountpoint);
			m = outer;
			continue;
		}
		if (d == parent)
			break;
		const unsigned char *name = BPF_CORE_READ(d, d_name.name);
		__u64 at = used;
		asm volatile("%0 &= %1" : "+r"(at) : "i"(2 * OBSERVED_PATH - 1)); /* a bound that the verifier sees */
		long n = bpf_probe_read_kernel_str(&s->text[at], 256, name);
		if (n > 0)
			used += n & 511;
		d = parent;
	}
	return used;
}

INLINE __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Of the text's first n bytes, behind which are eight zeros; not static, as above. */
__attribute__((noinline)) __u64 hash_of_text(__u32 n)
{
	struct scratch *s = scratch();
	__u64 hash = n;
	for (__u32 at = 0; s && at < OBSERVED_PATH && at < n; at += 8)
		hash = mix(hash, *(__u64 *)&s->text[at]);
	return hash;
}

INLINE void emit(struct scratch *s, __u32 used)
{
	__u64 size = sizeof s->head + (used > sizeof s->text ? 0 : used);
	asm volatile("" : "+r"(size));
	__u64 wake = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > OBSERVED_FILLED ? BPF_RB_FORCE_WAKEUP
										     : BPF_RB_NO_WAKEUP;
	if (size > sizeof s->head + sizeof s->text || bpf_ringbuf_output(&events, s, size, wake) != 0)
		__sync_fetch_and_add(&sums.events, 1);
}

/* The path in user memory is read into the scratch; its key, 0 for no path. */
INLINE __u64 name_of_path(struct scratch *s, struct task_struct *task, int dir, const char *path, struct path *base)
{
	long n = bpf_probe_read_user_str(s->text, OBSERVED_PATH, path);
	if (n <= 1 || n > OBSERVED_PATH)
		return 0;
	*(__u64 *)&s->text[n] = 0;
	base->dentry = NULL;
	__u64 hash = hash_of_text(n);
	if (s->text[0] != '/') {
		if (dir == AT_FDCWD) {
			base->dentry = BPF_CORE_READ(task, fs, pwd.dentry);
			base->mnt = BPF_CORE_READ(task, fs, pwd.mnt);
		} else {
			struct file *f = file_of(task, dir);
			base->dentry = BPF_CORE_READ(f, f_path.dentry);
			base->mnt = BPF_CORE_READ(f, f_path.mnt);
		}
		hash = mix(mix(hash, (__u64)base->dentry), BPF_CORE_READ(base->dentry, d_inode, i_ino));
	}
	s->head.path = n - 1;
	return hash | 1;
}

INLINE __s64 block_size(struct inode *inode)
{
	struct super_block *b = BPF_CORE_READ(inode, i_sb);
	return BPF_CORE_READ(b, s_magic) == LUSTRE ? LUSTRE_BLOCK : BPF_CORE_READ(b, s_blocksize);
}

INLINE struct observed_file *find_record(const struct observed_key *key)
{
	if (!key->name)
		return NULL;
	return OBSERVED_IS_SHARED(key->name) ? bpf_map_lookup_elem(&shared, key) : bpf_map_lookup_elem(&files, key);
}

/* Returns what happened: 0 made, or below 0. */
INLINE long make_record(struct scratch *s, struct observed_image *image, const struct observed_key *key)
{
	if (image->files >= settings.image_files)
		return -7; /* E2BIG */
	long made = bpf_map_update_elem(&files, key, &s->empty, BPF_NOEXIST);
	if (!made)
		__sync_fetch_and_add(&image->files, 1);
	return made == -17 /* EEXIST: another thread was faster */ ? 0 : made;
}

/*
 * The record of a name, made if need be; its name is what the scratch's text begins with. Where there is no room for another one,
 * the name becomes that of the record which the further files of its file system share.
 */
INLINE struct observed_file *record_of(struct scratch *s, const struct call *c, __u64 *name, struct inode *inode,
				       struct dentry *base, struct vfsmount *mount)
{
	struct observed_key key = {c->thread->image, *name};
	struct observed_image *image = bpf_map_lookup_elem(&images, &key.image);
	struct observed_file *f = bpf_map_lookup_elem(&files, &key);
	if (f || !image || image->ignore)
		return f;
	s->empty.alignment = inode ? block_size(inode) : 4096;
	s->head.event = OBSERVED_EVENT_NAME;
	if (make_record(s, image, &key) != 0) {
		s->head.event = OBSERVED_EVENT_SHARED;
		*name = key.name = OBSERVED_SHARED(inode ? BPF_CORE_READ(inode, i_sb, s_dev) : 0);
		long made = bpf_map_update_elem(&shared, &key, &s->empty, BPF_NOEXIST);
		if (made && made != -17)
			__sync_fetch_and_add(&sums.files, 1);
	}
	__u32 path = s->head.path;
	if (path >= OBSERVED_PATH)
		path = OBSERVED_PATH - 1;
	__u32 used = base ? append_directories(path, (__u64)base, (__u64)mount) : path;
	s->head.base = used - path;
	s->head.args = 0;
	s->head.image = key.image;
	s->head.name = key.name;
	emit(s, used);
	return find_record(&key);
}

/* ---- times; inside the record's lock ---- */

INLINE void add_time(struct observed_file *f, int kind, const struct call *c)
{
	__u64 from = c->start > f->ended[kind] ? c->start : f->ended[kind];
	if (c->end <= from)
		return;
	f->time[kind] += c->end - from;
	f->ended[kind] = c->end;
}

INLINE void stamp(__u64 *first, __u64 *last, const struct call *c)
{
	if (!*first || *first > c->start)
		*first = c->start;
	*last = c->end;
}

INLINE void count(struct observed_file *f, __s64 *counter, int kind, const struct call *c)
{
	if (!f)
		return;
	bpf_spin_lock(&f->lock);
	++*counter;
	add_time(f, kind, c);
	bpf_spin_unlock(&f->lock);
}

INLINE void count_open(struct observed_file *f, const struct call *c, __s64 mode, bool dup)
{
	if (!f)
		return;
	bpf_spin_lock(&f->lock);
	f->opens++;
	f->dups += dup;
	if (mode >= 0)
		f->mode = mode & 07777;
	stamp(&f->open_first, &f->open_last, c);
	add_time(f, OBSERVED_META, c);
	bpf_spin_unlock(&f->lock);
}

#endif
