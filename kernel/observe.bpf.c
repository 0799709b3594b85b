/*
 * The kernel's side of `iolens run --kernel`: what system calls of a session's programs do to files, counted where they
 * return. It needs tracepoints alone, and BTF, by which structs of other kernels are found (CO-RE). It changes nothing,
 * and is gone with the companion that has loaded it.
 */
#include "images.bpf.h"
#include "operations.bpf.h"
#include "records.bpf.h"

char terms[] SEC("license") = "Dual BSD/GPL";

/* ---- open file descriptions ---- */

/* A file *.store in a directory .iolens-* or iolens-*: what any session, or none, has its stores in. */
INLINE bool makes_store_anywhere(struct file *file)
{
	char above[9] = {}, name[8] = {};
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
	__u32 length = BPF_CORE_READ(d, d_name.len);
	if (length < 7)
		return false;
	bpf_probe_read_kernel_str(name, sizeof name, BPF_CORE_READ(d, d_name.name) + length - 6);
	bpf_probe_read_kernel_str(above, sizeof above, BPF_CORE_READ(d, d_parent, d_name.name));
	const char *of = above[0] == '.' ? above + 1 : above;
	return of[0] == 'i' && of[1] == 'o' && of[2] == 'l' && of[3] == 'e' && of[4] == 'n' && of[5] == 's' &&
	       of[6] == '-' && name[0] == '.' && name[1] == 's' && name[2] == 't' && name[3] == 'o' && name[4] == 'r' &&
	       name[5] == 'e';
}

/* A store is being made in a directory of the session: this program is observed from inside. */
INLINE bool makes_store(struct file *file, unsigned flags)
{
	if ((flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
		return false;
	struct inode *parent = BPF_CORE_READ(file, f_path.dentry, d_parent, d_inode);
	__u64 number = BPF_CORE_READ(parent, i_ino), device = BPF_CORE_READ(parent, i_sb, s_dev);
	if (!settings.root)
		return makes_store_anywhere(file);
	for (int i = 0; i < OBSERVED_DIRECTORIES; i++)
		if (settings.directory[i].inode == number && settings.directory[i].device == device)
			return true;
	return false;
}

INLINE void leave_alone(struct scratch *s, struct thread *t)
{
	s->head.event = OBSERVED_EVENT_PRELOADED;
	s->head.image = t->image;
	s->head.path = s->head.base = s->head.args = 0;
	emit(s, 0);
	t->image = 0;
}

INLINE __u64 class_of(struct inode *inode, unsigned type)
{
	unsigned device = BPF_CORE_READ(inode, i_rdev) >> 20;
	if (type == TYPE_PIPE)
		return OBSERVED_PIPE;
	if (type == TYPE_SOCKET)
		return OBSERVED_SOCKET;
	if (type != TYPE_CHARACTERS)
		return OBSERVED_SPECIAL;
	return device == 4 || device == 5 || (device >= 136 && device <= 143) ? OBSERVED_TERMINAL : OBSERVED_DEVICE;
}

/* A pipe with a name (FIFO) has no record: an open of it waits for another process, not for storage. */
INLINE void count_pipe_opened(const struct call *c)
{
	struct observed_image *i = bpf_map_lookup_elem(&images, &c->thread->image);
	if (i)
		__sync_fetch_and_add(&i->class[OBSERVED_PIPE].opens, 1);
}

static __attribute__((noinline)) int on_open(struct call *c, int dir, const char *path, unsigned flags, unsigned mode)
{
	struct path base = {};
	struct scratch *s = scratch();
	struct file *file = file_of(c->task, c->result);
	if (!s || !file)
		return 0;
	if (makes_store(file, flags)) {
		leave_alone(s, c->thread);
		return 0;
	}
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	if (opens_stream(flags))
		return 0;
	struct opened_key key = {c->thread->image, (__u64)file};
	struct opened o = {.inode = (__u64)inode};
	if ((BPF_CORE_READ(inode, i_mode) & TYPE_MASK) == TYPE_PIPE) {
		o.class = OBSERVED_PIPE;
		bpf_map_update_elem(&opens, &key, &o, BPF_ANY);
		count_pipe_opened(c);
		return 0;
	}
	__u64 name = name_of_path(s, c->task, dir, path, &base);
	struct observed_file *f = name ? record_of(s, c, &name, inode, base.dentry, base.mnt) : NULL;
	o.name = f ? name : 0;
	bpf_map_update_elem(&opens, &key, &o, BPF_ANY);
	bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	count_open(f, c, creates ? (__s64)mode : -1, false);
	return 0;
}

/* Inherited or passed: regular files get the name that the kernel knows. */
static __attribute__((noinline)) int adopt(struct call *c, struct file *file)
{
	struct scratch *s = scratch();
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct opened_key key = {c->thread->image, (__u64)file};
	struct opened o = {.inode = (__u64)inode};
	if (!s)
		return 0;
	unsigned type = BPF_CORE_READ(inode, i_mode) & TYPE_MASK;
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
	/* What is in memory alone stands in no directory. */
	if (type != TYPE_FILE || BPF_CORE_READ(d, d_parent) == d) {
		o.class = class_of(inode, type);
	} else {
		s->head.path = 0;
		o.name = mix((__u64)d, BPF_CORE_READ(inode, i_ino)) | 1;
		if (!record_of(s, c, &o.name, inode, d, BPF_CORE_READ(file, f_path.mnt)))
			o.name = 0;
	}
	bpf_map_update_elem(&opens, &key, &o, BPF_ANY);
	return 0;
}

INLINE struct opened *opened_of(struct call *c, struct file *file)
{
	struct opened_key key = {c->thread->image, (__u64)file};
	struct opened *o = bpf_map_lookup_elem(&opens, &key);
	if (o && o->inode == (__u64)BPF_CORE_READ(file, f_inode))
		return o;
	adopt(c, file);
	return bpf_map_lookup_elem(&opens, &key);
}

INLINE struct observed_file *record_at(const struct call *c, const struct opened *o)
{
	struct observed_key key = {c->thread->image, o ? o->name : 0};
	return find_record(&key);
}

INLINE struct observed_file *record_of_fd(struct call *c, long fd)
{
	struct file *file = file_of(c->task, fd);
	return file ? record_at(c, opened_of(c, file)) : NULL;
}

/* ---- reading and writing ---- */

INLINE int size_class(__s64 n)
{
	return (n > 100) + (n > 1024) + (n > 10240) + (n > 102400) + (n > 1048576) + (n > 4194304) + (n > 10485760) +
	       (n > 104857600) + (n > 1073741824);
}

INLINE void add_frequent(struct observed_frequent *q, __s64 value)
{
	__u32 at = q->latest;
	if (at >= OBSERVED_DISTINCT || at >= q->used || q->value[at] != value)
		for (at = 0; at < OBSERVED_DISTINCT; at++)
			if (at >= q->used || q->value[at] == value)
				break;
	if (at >= OBSERVED_DISTINCT)
		return;
	if (at >= q->used) {
		q->used = at + 1;
		q->value[at] = value;
	}
	q->latest = at;
	q->count[at]++;
}

INLINE void count_pattern(struct observed_file *f, struct opened *o, int kind, __s64 at, __s64 got)
{
	__s64 last = o->last[kind], end = at + got - 1, stride = 0;
	if (at > last) {
		f->sequential[kind]++;
		if (at > 0 && last != 0)
			stride = at - last - 1;
	}
	f->consecutive[kind] += at == last + 1;
	o->last[kind] = end;
	if (end > f->max_byte[kind])
		f->max_byte[kind] = end;
	f->switches += f->last_kind && f->last_kind != kind + 1;
	f->last_kind = kind + 1;
	add_frequent(&f->stride, stride);
	add_frequent(&f->access, got);
}

INLINE void count_class(const struct call *c, const struct opened *o, int kind)
{
	struct observed_image *i = bpf_map_lookup_elem(&images, &c->thread->image);
	__u64 class = o->class;
	if (!i || !class || class >= OBSERVED_CLASSES)
		return;
	__sync_fetch_and_add(&i->class[class].calls[kind], 1);
	__sync_fetch_and_add(&i->class[class].bytes[kind], c->result);
}

INLINE int count_access(struct call *c, long fd, int kind, unsigned long buffer, __s64 at)
{
	struct file *file = file_of(c->task, fd);
	struct opened *o = file ? opened_of(c, file) : NULL;
	struct observed_file *f = record_at(c, o);
	__s64 got = c->result;
	if (o && !o->name)
		count_class(c, o, kind);
	if (!f || !o)
		return 0;
	if (kind == OBSERVED_WRITE && BPF_CORE_READ(file, f_flags) & O_APPEND)
		at = BPF_CORE_READ(file, f_inode, i_size) - got;
	else if (at == AT_CURSOR)
		at = BPF_CORE_READ(file, f_pos) - got;
	bpf_spin_lock(&f->lock);
	f->calls[kind]++;
	f->bytes[kind] += got;
	int class = size_class(got);
	if (class < OBSERVED_SIZES)
		f->size[kind][class]++;
	f->unaligned_memory += buffer % ALIGNMENT != 0;
	f->unaligned_file += f->alignment > 0 && (__u64)at % (__u64)f->alignment != 0;
	count_pattern(f, o, kind, at, got);
	add_time(f, kind, c);
	stamp(&f->first[kind], &f->last[kind], c);
	if (c->end - c->start > f->longest[kind]) {
		f->longest[kind] = c->end - c->start;
		f->longest_bytes[kind] = got;
	}
	bpf_spin_unlock(&f->lock);
	return 0;
}

static __attribute__((noinline)) int on_read(struct call *c, long fd, unsigned long buffer, __s64 at)
{
	return count_access(c, fd, OBSERVED_READ, buffer, at);
}

static __attribute__((noinline)) int on_write(struct call *c, long fd, unsigned long buffer, __s64 at)
{
	return count_access(c, fd, OBSERVED_WRITE, buffer, at);
}

/* The address of the first unaligned element, else 0. */
INLINE unsigned long unaligned_of(unsigned long vector, unsigned long count)
{
	for (unsigned i = 0; i < VECTOR; i++) {
		unsigned long element[2] = {};
		if (i >= count || bpf_probe_read_user(element, sizeof element, (void *)(vector + i * sizeof element)))
			break;
		if (element[0] % ALIGNMENT)
			return element[0];
	}
	return 0;
}

/* Where a transfer began: an offset in memory has been moved on by it. */
INLINE __s64 began(unsigned long at, __s64 got)
{
	__s64 offset = 0;
	return at && bpf_probe_read_user(&offset, sizeof offset, (void *)at) == 0 ? offset - got : AT_CURSOR;
}

INLINE void on_transfer(struct call *c, long from, unsigned long from_at, long to, unsigned long to_at)
{
	__u64 end = c->end;
	c->end = c->start + (end - c->start) / 2;
	on_read(c, from, 0, began(from_at, c->result));
	c->start = c->end;
	c->end = end;
	on_write(c, to, 0, began(to_at, c->result));
}

/* ---- the rest ---- */

/* Of a file that has a record; else nothing is counted. */
INLINE void count_of_file(struct observed_file *f, __s64 *counter, int kind, const struct call *c, int operation)
{
	if (!f)
		return;
	count(f, counter, kind, c);
	count_operation(c, operation, false, 0);
}

static __attribute__((noinline)) int on_stat(struct call *c, int dir, const char *path, const void *mode, bool empty)
{
	struct path base = {};
	struct scratch *s = scratch();
	unsigned short type = 0;
	if (!s || bpf_probe_read_user(&type, sizeof type, mode) != 0 || (type & TYPE_MASK) != TYPE_FILE)
		return 0;
	__u64 name = path ? name_of_path(s, c->task, dir, path, &base) : 0;
	struct observed_file *f = NULL;
	if (name)
		f = record_of(s, c, &name, NULL, base.dentry, base.mnt);
	else if (empty)
		f = record_of_fd(c, dir);
	if (f)
		count(f, &f->stats, OBSERVED_META, c);
	if (f && !name)
		count_operation(c, OBSERVED_STAT, false, 0);
	return 0;
}

static __attribute__((noinline)) int on_rename(struct call *c, int old_dir, const char *old, int new_dir,
					       const char *new)
{
	struct path base = {};
	struct scratch *s = scratch();
	struct observed_key key = {c->thread->image, s ? name_of_path(s, c->task, old_dir, old, &base) : 0};
	struct observed_file *f = key.name ? bpf_map_lookup_elem(&files, &key) : NULL;
	if (!f || !s)
		return 0;
	count(f, &f->rename_sources, OBSERVED_META, c);
	__u64 name = name_of_path(s, c->task, new_dir, new, &base);
	struct observed_file *to = name ? record_of(s, c, &name, NULL, base.dentry, base.mnt) : NULL;
	if (!to)
		return 0;
	bpf_spin_lock(&to->lock);
	to->rename_targets++;
	if (!to->renamed_from)
		to->renamed_from = key.name;
	bpf_spin_unlock(&to->lock);
	return 0;
}

INLINE void on_close(struct call *c)
{
	struct opened_key key = {c->thread->image, c->thread->closing};
	struct opened *o = key.file ? bpf_map_lookup_elem(&opens, &key) : NULL;
	struct observed_file *f = record_at(c, o);
	if (!f)
		return;
	bpf_spin_lock(&f->lock);
	stamp(&f->close_first, &f->close_last, c);
	add_time(f, OBSERVED_META, c);
	bpf_spin_unlock(&f->lock);
	count_operation(c, OBSERVED_CLOSE, false, 0);
}

INLINE void on_map(struct call *c, unsigned long bytes, unsigned long protection, unsigned long flags, long fd)
{
	struct observed_file *f = flags & 0x20 /* MAP_ANONYMOUS */ ? NULL : record_of_fd(c, fd);
	if (!f)
		return;
	bpf_spin_lock(&f->lock);
	f->mmaps++;
	f->executable |= (protection & 4) != 0;
	bpf_spin_unlock(&f->lock);
	count_operation(c, OBSERVED_MMAP, false, bytes);
}

INLINE void on_dup(struct call *c)
{
	struct observed_file *f = record_of_fd(c, c->result);
	count_open(f, c, -1, true);
	if (f)
		count_operation(c, OBSERVED_DUP, false, 0);
}

INLINE void on_open2(struct call *c)
{
	struct {
		__u64 flags, mode;
	} how = {};
	if (bpf_probe_read_user(&how, sizeof how, (void *)c->argument[2]) == 0)
		on_open(c, c->argument[0], (void *)c->argument[1], how.flags, how.mode);
}

/* ---- system calls ---- */

#define FD   ((int)a[0])
#define PATH ((const char *)a[0])
#define AT   ((const char *)a[1])

/* Offsets in memory are of struct stat and struct statx. */
INLINE void on_other(struct call *c, long number)
{
	enum { STAT_MODE = 24, STATX_MODE = 28 };
	unsigned long *a = c->argument;
	struct observed_file *f;
	switch (number) {
	case __NR_dup:
	case __NR_dup2:
	case __NR_dup3:
		on_dup(c);
		break;
	case __NR_fcntl:
		if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)
			on_dup(c);
		break;
	case __NR_lseek:
		f = record_of_fd(c, FD);
		if (f)
			count_of_file(f, &f->seeks, OBSERVED_META, c, OBSERVED_SEEK);
		break;
	case __NR_fsync:
		f = record_of_fd(c, FD);
		if (f)
			count_of_file(f, &f->fsyncs, OBSERVED_WRITE, c, OBSERVED_FSYNC);
		break;
	case __NR_fdatasync:
		f = record_of_fd(c, FD);
		if (f)
			count_of_file(f, &f->fdsyncs, OBSERVED_WRITE, c, OBSERVED_FSYNC);
		break;
	case __NR_stat:
	case __NR_lstat:
		on_stat(c, AT_FDCWD, PATH, (void *)(a[1] + STAT_MODE), false);
		break;
	case __NR_fstat:
		on_stat(c, FD, NULL, (void *)(a[1] + STAT_MODE), true);
		break;
	case __NR_newfstatat:
		on_stat(c, FD, AT, (void *)(a[2] + STAT_MODE), a[3] & AT_EMPTY_PATH);
		break;
	case __NR_statx:
		on_stat(c, FD, AT, (void *)(a[4] + STATX_MODE), a[2] & AT_EMPTY_PATH);
		break;
	case __NR_rename:
		on_rename(c, AT_FDCWD, PATH, AT_FDCWD, AT);
		break;
	case __NR_renameat:
	case __NR_renameat2:
		on_rename(c, FD, AT, a[2], (void *)a[3]);
		break;
	case __NR_mmap:
		on_map(c, a[1], a[2], a[3], (int)a[4]);
		break;
	}
}

/* Calls that have a result of 0 or more. */
INLINE void on_success(struct call *c, long number)
{
	unsigned long *a = c->argument;
	switch (number) {
	case __NR_read:
		on_read(c, FD, a[1], AT_CURSOR);
		break;
	case __NR_write:
		on_write(c, FD, a[1], AT_CURSOR);
		break;
	case __NR_pread64:
		on_read(c, FD, a[1], a[3]);
		break;
	case __NR_pwrite64:
		on_write(c, FD, a[1], a[3]);
		break;
	case __NR_readv:
		on_read(c, FD, unaligned_of(a[1], a[2]), AT_CURSOR);
		break;
	case __NR_writev:
		on_write(c, FD, unaligned_of(a[1], a[2]), AT_CURSOR);
		break;
	case __NR_preadv:
	case __NR_preadv2:
		on_read(c, FD, unaligned_of(a[1], a[2]), (long)a[3] == -1 ? AT_CURSOR : (long)a[3]);
		break;
	case __NR_pwritev:
	case __NR_pwritev2:
		on_write(c, FD, unaligned_of(a[1], a[2]), (long)a[3] == -1 ? AT_CURSOR : (long)a[3]);
		break;
	case __NR_sendfile:
		on_transfer(c, a[1], a[2], a[0], 0);
		break;
	case __NR_copy_file_range:
		on_transfer(c, a[0], a[1], a[2], a[3]);
		break;
	case __NR_open:
		on_open(c, AT_FDCWD, PATH, a[1], a[2]);
		break;
	case __NR_creat:
		on_open(c, AT_FDCWD, PATH, O_CREAT | O_WRONLY | O_TRUNC, a[1]);
		break;
	case __NR_openat:
		on_open(c, FD, AT, a[2], a[3]);
		break;
	case __NR_openat2:
		on_open2(c);
		break;
	default:
		on_other(c, number);
	}
}

/* Most calls are one of these: nothing of them is counted by name. */
INLINE bool moves_data(long number)
{
	return number <= __NR_write || number == __NR_pread64 || number == __NR_pwrite64;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter, struct pt_regs *regs, long number)
{
	struct thread *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	if (!t || !t->image || (regs->cs & 0xffff) != USER_CODE_64)
		return 0;
	t->closing = 0;
	if (number == __NR_close)
		t->closing = (__u64)file_of(bpf_get_current_task_btf(), (int)regs->di);
	t->start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || !t->image || !t->start)
		return 0;
	struct call c = {.thread = t,
			 .task = task,
			 .argument = {regs->di, regs->si, regs->dx, regs->r10, regs->r8},
			 .result = result,
			 .start = t->start,
			 .end = bpf_ktime_get_ns()};
	long number = regs->orig_ax;
	t->start = 0;
	if (number == __NR_close)
		on_close(&c);
	else if (result >= 0 || (number == __NR_mmap && result < -4095))
		on_success(&c, number);
	if (!moves_data(number) && t->image)
		on_operation(&c, number);
	return 0;
}
