/* Open file descriptions: how they come, are shared and go. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../lustre/record.h"
#include "../phases/loader.h"
#include "arena.h"
#include "config.h"
#include "lines.h"
#include "operation.h"
#include "record.h"
#include "run.h"
#include "sampling.h"
#include "site.h"
#include "state.h"
#include "watcher.h"
#include "store.h"
#include "sys.h"

/* Under the lock. It also keeps a description from becoming another open while all are marked for a fork. */
static struct lock free_lock;
static struct posix_open *free_list;
static uint64_t last_id;

/* 0: nothing is unaligned. */
static uint32_t mask_of(int64_t alignment, bool *divides)
{
	if (alignment <= 0)
		return 0;
	*divides |= (alignment & (alignment - 1)) || alignment > UINT32_MAX;
	return (uint32_t)alignment - 1;
}

static void made(struct file *f)
{
	struct posix_file *file = (struct posix_file *)f;
	file->record->mem_alignment = config.alignment;
	file->record->file_alignment = f->name->alignment;
	file->memory_mask = mask_of(config.alignment, &file->divides);
	file->file_mask = mask_of(f->name->alignment, &file->divides);
	file->divides |= names_is_overflow(f->name); /* so each access of its opens comes to posix_open_weigh */
	file->last_op = -1;
	file->usual = POSIX_NONE;
}

static const struct file_kind kind = {WRITTEN_POSIX, sizeof(struct posix_file), made};

enum state_class_id posix_without_record(void)
{
	return file_without_record(&kind);
}

struct posix_file *posix_file_of(const struct path *p)
{
	return file_of(&kind, p);
}

struct posix_file *posix_file_known(const struct path *p)
{
	return file_known(&kind, names_find(p));
}

static struct posix_open *open_take(uint64_t *id)
{
	struct posix_open *o = NULL;
	*id = 0;
	if (lock_take(&free_lock)) {
		o = free_list;
		if (o)
			free_list = o->next_free;
		*id = ++last_id;
		lock_drop(&free_lock);
	}
	return o ? o : arena_take(sizeof *o);
}

/*
 * The memory stays an open file description for ever: a thread that raced with close may still use it. So at each moment it has
 * a file and a name, and it can be held only when all of it is there.
 */
static void begin(struct posix_open *o, struct posix_file *f, uint64_t id)
{
	__atomic_store_n(&o->file, f, __ATOMIC_RELAXED);
	__atomic_store_n(&o->head.name, f->name, __ATOMIC_RELAXED);
	o->head.id = id;
	o->offset = o->last[IO_READ] = o->last[IO_WRITE] = 0;
	__atomic_store_n(&o->marks, 0, __ATOMIC_RELAXED);
	o->forced = false;
	o->by = o->weight = 0;
	__atomic_store_n(&o->references, 1, __ATOMIC_RELEASE);
}

struct posix_open *posix_open_make(struct posix_file *f)
{
	uint64_t id;
	struct posix_open *o = open_take(&id);
	if (o)
		begin(o, f, id);
	return o;
}

/* Of a description whose writes are forced each one takes the clock: without an id, none is left out. */
void posix_open_set_flags(struct posix_open *o, int flags)
{
	posix_open_append(o, flags & O_APPEND);
	o->forced = flags & O_DSYNC; /* of which O_SYNC has the bit, too */
	if (o->forced)
		o->head.id = 0;
}

int posix_flags_of(int fd)
{
	int flags = sys_fcntl(fd, F_GETFL, 0);
	return flags >= 0 ? flags : 0;
}

void posix_open_append(struct posix_open *o, bool appends)
{
	if (appends)
		posix_mark(o, POSIX_APPENDS);
	else
		__atomic_fetch_and(&o->marks, (uint8_t)~POSIX_APPENDS, __ATOMIC_RELAXED);
}

void posix_open_release(uintptr_t at)
{
	struct posix_open *o = (struct posix_open *)at;
	if (at < STATE_CLASS_COUNT)
		return;
	bool alone = lock_is_needless();
	if (alone ? --o->references : __atomic_sub_fetch(&o->references, 1, __ATOMIC_ACQ_REL))
		return;
	if (!lock_take(&free_lock))
		return;
	o->next_free = free_list;
	free_list = o;
	lock_drop(&free_lock);
}

/* False: it has none, and is free. */
static bool add_reference(struct posix_open *o)
{
	uint32_t n = __atomic_load_n(&o->references, __ATOMIC_RELAXED);
	while (n && !__atomic_compare_exchange_n(&o->references, &n, n + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return n;
}

uintptr_t posix_open_hold(uintptr_t at, int fd)
{
	if (at < STATE_CLASS_COUNT)
		return at;
	if (!add_reference((struct posix_open *)at))
		return 0;
	if (fd < 0 || fds_peek(fd) == at)
		return at;
	posix_open_release(at);
	return 0;
}

/* ---- files without a record of their own ---- */

static void begin_elsewhere(struct posix_open *o, struct posix_file *f)
{
	__atomic_store_n(&o->file, f, __ATOMIC_RELEASE);
	__atomic_store_n(&o->head.name, f->name, __ATOMIC_RELEASE);
}

static int descriptor_of(const struct posix_open *o)
{
	int fd = fds_next(0);
	while (fd >= 0 && fds_peek(fd) != (uintptr_t)o)
		fd = fds_next(fd + 1);
	return fd;
}

/* It was made for the open at hand, which moves over to it. */
static void made_heavy(struct file *f)
{
	made(f);
	((struct posix_file *)f)->record->opens = 1;
}

void posix_open_weigh(struct posix_open *o, struct posix_file *shared, int64_t moved)
{
	static const struct file_kind heavy = {WRITTEN_POSIX, sizeof(struct posix_file), made_heavy};
	uint64_t weight = file_weigh(&o->weight, moved);
	if (!weight || o->file != shared)
		return;
	PATH(p);
	int fd = descriptor_of(o);
	if (fd < 0 || posix_path_of(fd, LOG_MOD_POSIX, names_class, p))
		return;
	bool known = posix_file_known(p);
	struct posix_file *f = file_heavy(&heavy, p, weight);
	if (!f)
		return;
	shared->record->opens -= !known && shared->record->opens > 0;
	begin_elsewhere(o, f);
}

/* Always inlined: each open has one. */
static inline __attribute__((always_inline)) void set_entry(int fd, uintptr_t at)
{
	posix_open_release(fds_foreign() ? fds_set_apart(fd, at) : fds_set(fd, at));
}

/* Of an open behind the first, that one's stamp stays: it has a cache line of its own, which is not looked at. */
static void count_open(struct posix_file *f, double start, double end)
{
	struct posix_record *r = f->record;
	bool later = r->opens++ > 0 && start >= f->ended[IO_META];
	site_opened(&f->file, kind.slot);
	if (later)
		r->open_end_timestamp = end;
	else
		file_stamp(&r->open_start_timestamp, &r->open_end_timestamp, start, end);
	FILE_TIME(f, IO_META, start, end);
	LINES(f, kind.slot, IO_META, 1, 0, start, end);
}

static bool creates(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static uintptr_t open_tracked(struct posix_file *f, int flags, int mode, double start, double end)
{
	struct posix_open *o = posix_open_make(f);
	if (o)
		posix_open_flags(o, flags);
	if (lock_take(&f->lock)) {
		count_open(f, start, end);
		if (creates(flags))
			f->record->mode = mode & 07777;
		lock_drop(&f->lock);
	}
	return (uintptr_t)o;
}

/* The first time in these letters; apart, as it is seldom. */
__attribute__((noinline)) static struct posix_file *file_at(int dir, const char *path, enum state_class_id *class)
{
	PATH(p);
	if (!names_path(p, dir, path))
		return NULL;
	loader_path(p);
	*class = names_open_class(LOG_MOD_POSIX, p);
	struct posix_file *f = *class ? NULL : posix_file_of(p);
	if (!f && !*class)
		*class = posix_without_record();
	return f;
}

struct posix_file *posix_file_at(int dir, const char *path, enum state_class_id *class)
{
	struct name *n = names_recall(LOG_MOD_POSIX, dir, path, class);
	if (*class)
		return NULL;
	struct posix_file *f = file_known(&kind, n);
	return f ? f : file_at(dir, path, class);
}

static bool in_memory_only(const struct path *p)
{
	return strncmp(p->text, "/memfd:", 7) == 0 || strncmp(p->text, "/SYSV", 5) == 0;
}

static void cut_deleted(struct path *p)
{
	static const char mark[] = " (deleted)";
	size_t n = sizeof mark - 1;
	if (p->length > n && memcmp(p->text + p->length - n, mark, n) == 0)
		p->length -= (uint32_t)n;
	p->text[p->length] = '\0';
}

enum state_class_id posix_path_of(int fd, int module, posix_filter *filter, struct path *p)
{
	if (!names_path_of_fd(p, fd))
		return STATE_CLASS_NAMELESS; /* a regular file below a path of more than 4,096 bytes, or without /proc */
	cut_deleted(p);
	return in_memory_only(p) ? STATE_CLASS_SPECIAL : filter(module, p);
}

enum state_class_id posix_behind(int fd, int module, struct path *p)
{
	struct stat s;
	if (sys_fstat(fd, &s) == 0 && !S_ISREG(s.st_mode))
		return (enum state_class_id)fds_class_of(fd, &s);
	return posix_path_of(fd, module, names_open_class, p);
}

/* A path that leads to an open file: what it leads to. */
__attribute__((noinline)) static struct posix_file *file_behind(int fd, enum state_class_id *class)
{
	PATH(p);
	*class = posix_behind(fd, LOG_MOD_POSIX, p);
	struct posix_file *f = *class ? NULL : posix_file_of(p);
	if (!f && !*class)
		*class = posix_without_record();
	return f;
}

/* What was made by this open, and a directory, is no pipe. */
static bool may_be_pipe(int flags)
{
	return !(flags & O_DIRECTORY) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
}

/* The first time in these letters: a named pipe gets no record. */
__attribute__((noinline)) static struct posix_file *file_new(int fd, int dir, const char *path, int flags,
							     enum state_class_id *class)
{
	if (may_be_pipe(flags) && fds_is_pipe(fd)) {
		*class = STATE_CLASS_PIPE;
		return NULL;
	}
	return file_at(dir, path, class);
}

static uintptr_t entry_for(int fd, int dir, const char *path, int flags, int mode, double start, double end)
{
	enum state_class_id class;
	struct name *n = names_recall(LOG_MOD_POSIX, dir, path, &class);
	struct posix_file *f = class ? NULL : file_known(&kind, n);
	if (!f && !class)
		f = file_new(fd, dir, path, flags, &class);
	if (f ? names_moved(dir, path, start) : names_leads(class, path))
		f = file_behind(fd, &class);
	if (f)
		return open_tracked(f, flags, mode, start, end);
	if (class)
		names_count_class(class);
	return class;
}

/* An open of a named pipe has waited for another process: that is no time of a file system. */
__attribute__((noinline)) static void pipe_opened(int fd)
{
	self_enter();
	operation_count_only(STATE_OP_POSIX_OPEN, false, 0, 0);
	names_count_class(STATE_CLASS_PIPE);
	set_entry(fd, STATE_CLASS_PIPE);
	self_leave();
}

void posix_opened(double start, int fd, int dir, const char *path, int flags, int mode)
{
	double end = clock_now();
	if (fds_waited_for_pipe(fd, end - start)) {
		pipe_opened(fd);
		return;
	}
	self_enter();
	operation_count(STATE_OP_POSIX_OPEN, IO_META, fd < 0, 0, start, end);
	if (fd >= 0) {
		uintptr_t at = entry_for(fd, dir, path, flags, mode, start, end);
		if (at >= STATE_CLASS_COUNT)
			lustre_on_open(((struct posix_open *)at)->head.name, fd);
		set_entry(fd, at);
	}
	self_leave();
}

void posix_on_open_unnamed(struct span s, int fd)
{
	if (!s.at)
		return;
	double end = clock_now();
	if (fd >= 0)
		posix_forget((unsigned)fd, (unsigned)fd);
	uintptr_t at = fd >= 0 ? fds_get(fd) : 0;
	self_enter();
	operation_count(STATE_OP_POSIX_OPEN, IO_META, fd < 0, 0, s.start, end);
	if (at >= STATE_CLASS_COUNT) {
		struct posix_open *o = (struct posix_open *)at;
		struct posix_file *f = o->file;
		if (lock_take(&f->lock)) {
			count_open(f, s.start, end);
			lock_drop(&f->lock);
		}
	} else if (at) {
		names_count_class((enum state_class_id)at);
	}
	self_leave();
}

void posix_on_queue(int fd)
{
	if (fd < 0 || !self_ready())
		return;
	self_enter();
	set_entry(fd, STATE_CLASS_SPECIAL);
	self_leave();
}

/* What it holds has found its place by now. */
static void ask_layout(int fd)
{
	const struct posix_open *o = (struct posix_open *)fds_peek(fd);
	if ((uintptr_t)o < STATE_CLASS_COUNT || o->head.name->layout != NAMES_LAYOUT_GROWS)
		return;
	self_enter();
	if (self.sampled)
		run_settle(IO_WRITE, fd);
	lustre_on_closing(o->head.name, fd, o->file->record->max_byte_written);
	self_leave();
}

uintptr_t posix_leave(int fd)
{
	if (!self_ready() || (fds_foreign() && fds_left_apart((unsigned)fd, (unsigned)fd)))
		return 0;
	fds_changed(fd);
	if (!fds_peek(fd))
		return 0;
	if (posix_watcher.closing && fds_peek(fd) >= STATE_CLASS_COUNT)
		posix_watcher.closing();
	ask_layout(fd);
	self_enter();
	uintptr_t at = fds_set(fd, 0);
	self_leave();
	return at;
}

static void settle_all(struct posix_open *o, double start, int fd)
{
	struct span s = {.at = (uintptr_t)o, .start = start, .fd = fd};
	for (enum io_op op = 0; op < IO_OPS; op++)
		posix_settle(s, op, start);
}

static inline void count_close(struct posix_open *o, struct posix_file *f, double start, double end)
{
	self_enter();
	if (lock_take(&f->lock)) {
		file_stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, start, end);
		FILE_TIME(f, IO_META, start, end);
		lock_drop(&f->lock);
	}
	posix_open_release((uintptr_t)o);
	operation_count(STATE_OP_POSIX_CLOSE, IO_META, false, 0, start, end);
	self_leave();
}

__attribute__((noinline)) static void close_unusual(struct posix_open *o, double start, double end, int fd)
{
	if (self.sampled)
		settle_all(o, start, fd);
	struct posix_file *f = o->file;
	count_close(o, f, start, end);
	self_enter();
	LINES(f, kind.slot, IO_META, 0, 0, start, end);
	self_leave();
}

void posix_closed(struct posix_open *o, double start, int fd)
{
	double end = clock_now();
	if (__builtin_expect(self_settles(), 0))
		close_unusual(o, start, end, fd);
	else
		count_close(o, o->file, start, end);
}

void posix_on_dup(struct span s, int fd)
{
	if (!s.at || fd < 0)
		return;
	bool foreign = fds_foreign();
	self_enter();
	if (fd != s.fd)
		set_entry(fd, s.at = posix_open_hold(s.at, foreign ? -1 : s.fd)); /* 0: asked at its first use */
	if (fd != s.fd && !foreign)
		fds_changed(fd);
	struct posix_open *o = posix_open_of(s);
	if (o && !foreign) {
		double end = clock_now();
		struct posix_file *f = o->file;
		if (lock_take(&f->lock)) {
			f->record->dups++;
			count_open(f, s.start, end);
			lock_drop(&f->lock);
		}
		operation_count(STATE_OP_POSIX_DUP, IO_META, false, 0, s.start, end);
	}
	self_leave();
}

void posix_on_flags(struct span s, int flags)
{
	if (posix_open_of(s))
		posix_open_append(posix_open_of(s), flags & O_APPEND);
}

void posix_on_stream(int fd, bool appends)
{
	struct posix_open *o = (struct posix_open *)fds_peek(fd);
	if ((uintptr_t)o < STATE_CLASS_COUNT)
		return;
	posix_mark(o, appends ? POSIX_SHARED | POSIX_APPENDS /* libc has set the flag */ : POSIX_SHARED);
}

bool posix_stream_appends(int fd)
{
	return fds_peek(fd) < STATE_CLASS_COUNT || posix_flags_of(fd) & O_APPEND;
}

static struct posix_open *open_of_stream(int fd, const char *name)
{
	uintptr_t at = fds_peek(fd);
	if (at >= STATE_CLASS_COUNT)
		return (struct posix_open *)at;
	PATH(p);
	struct posix_file *f = names_path(p, AT_FDCWD, name) ? posix_file_of(p) : NULL;
	struct posix_open *o = f ? posix_open_make(f) : NULL;
	if (o) {
		posix_open_flags(o, posix_flags_of(fd));
		set_entry(fd, (uintptr_t)o);
	}
	return o;
}

void posix_on_fileno(struct span s, int fd, const char *name)
{
	if (!s.at || (unsigned)fd >= FDS_MAX || !name || fds_foreign())
		return;
	double end = clock_now();
	self_enter();
	struct posix_open *o = open_of_stream(fd, name);
	if (o) {
		struct posix_file *f = o->file;
		posix_mark(o, POSIX_SHARED);
		if (lock_take(&f->lock)) {
			f->record->filenos++;
			count_open(f, s.start, end);
			lock_drop(&f->lock);
		}
	}
	self_leave();
}

void posix_forget(unsigned first, unsigned last)
{
	if (!self_ready() || (fds_foreign() && fds_left_apart(first, last)))
		return;
	self_enter();
	for (unsigned n = first; n <= last && n < fds_stream_end; n++)
		fds_changed((int)n);
	int fd = first < FDS_MAX ? fds_next((int)first) : -1;
	for (; fd >= 0 && (unsigned)fd <= last; fd = fds_next(fd + 1))
		posix_open_release(fds_set(fd, 0));
	self_leave();
}

/* ---- fork ---- */

void posix_open_share(struct posix_open *o)
{
	posix_mark(o, POSIX_SHARED | POSIX_ASKED);
}

void posix_on_sent(int fd)
{
	uintptr_t at = fds_peek(fd);
	if (at >= STATE_CLASS_COUNT && self_pass())
		posix_open_share((struct posix_open *)at);
}

static void share_all(void)
{
	for (int fd = fds_next(0); fd >= 0; fd = fds_next(fd + 1)) {
		uintptr_t at = fds_peek(fd); /* once: another thread may close it */
		if (at >= STATE_CLASS_COUNT)
			posix_open_share((struct posix_open *)at);
	}
}

/*
 * In the parent: the child may move the offsets it shares, so from now on they come from the kernel. The lock keeps a
 * closed description from becoming another open.
 */
void posix_opens_share(void)
{
	bool locked = self_enter_locked(&free_lock);
	share_all();
	if (locked)
		self_leave_locked(&free_lock);
}

void posix_opens_forget(void)
{
	free_list = NULL;
}
