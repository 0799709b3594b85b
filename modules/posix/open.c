/* Open file descriptions: how they come, are shared, inherited and go. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "arena.h"
#include "config.h"
#include "life.h"
#include "record.h"
#include "state.h"
#include "store.h"
#include "sys.h"

static struct lock free_lock;
static struct posix_open *free_list;

static struct posix_file *file_make(struct name *n)
{
	struct posix_record *r = store_record(LOG_MOD_POSIX, sizeof *r, n->id, names_is_fold(n));
	struct posix_file *f = r ? arena_take(sizeof *f) : NULL;
	if (!f)
		return NULL;
	r->mem_alignment = config.alignment;
	r->file_alignment = n->alignment;
	*f = (struct posix_file){.name = n, .record = r, .last_kind = -1};
	return n->file[NAMES_POSIX] = f;
}

static struct posix_file *file_of_name(struct name *n)
{
	if (n && n->file[NAMES_POSIX])
		return n->file[NAMES_POSIX];
	return n ? file_make(n) : NULL;
}

/* Not excluded, and yet without a record. */
static enum live_class_id without_record(void)
{
	return config_module_on(LOG_MOD_POSIX) ? LIVE_CLASS_NO_ROOM : LIVE_CLASS_FILTERED;
}

struct posix_file *posix_file_of(const struct path *p)
{
	if (!config_module_on(LOG_MOD_POSIX))
		return NULL;
	names_lock();
	struct posix_file *f = file_of_name(names_entry(p));
	f = f ? f : file_of_name(names_fold(LOG_MOD_POSIX, p));
	names_unlock();
	return f;
}

struct posix_file *posix_file_known(const struct path *p)
{
	names_lock();
	struct name *n = names_find(p);
	struct posix_file *f = n ? n->file[NAMES_POSIX] : NULL;
	names_unlock();
	return f;
}

static struct posix_open *open_take(void)
{
	lock_take(&free_lock);
	struct posix_open *o = free_list;
	if (o)
		free_list = o->next_free;
	lock_drop(&free_lock);
	return o ? o : arena_take(sizeof *o);
}

struct posix_open *posix_open_make(struct posix_file *f)
{
	struct posix_open *o = open_take();
	if (o)
		*o = (struct posix_open){.head.name = f->name, .file = f, .references = 1};
	return o;
}

/* The memory stays an open file description for ever: a thread that raced with close may still look at it. */
static void open_release(uintptr_t at)
{
	struct posix_open *o = (struct posix_open *)at;
	if (at < LIVE_CLASS_COUNT || __atomic_sub_fetch(&o->references, 1, __ATOMIC_ACQ_REL))
		return;
	lock_take(&free_lock);
	o->next_free = free_list;
	free_list = o;
	lock_drop(&free_lock);
}

static void set_entry(int fd, uintptr_t at)
{
	open_release(fds_set(fd, at));
}

static void stamp(double *first, double *last, double start, double end)
{
	if (*first == 0 || *first > start)
		*first = start;
	*last = end;
}

static void count_open(struct posix_file *f, double start, double end)
{
	f->record->opens++;
	stamp(&f->record->open_start_timestamp, &f->record->open_end_timestamp, start, end);
	posix_time(f, LIVE_META, start, end);
}

static bool creates(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static uintptr_t open_tracked(struct posix_file *f, int flags, int mode, double start, double end)
{
	struct posix_open *o = posix_open_make(f);
	if (o)
		o->append = flags & O_APPEND;
	lock_take(&f->lock);
	count_open(f, start, end);
	if (creates(flags))
		f->record->mode = mode & 07777;
	lock_drop(&f->lock);
	return (uintptr_t)o;
}

/* The first time in these letters; apart, for the room that a path takes on the stack. */
__attribute__((noinline)) static struct posix_file *file_at(int dir, const char *path, enum live_class_id *class)
{
	struct path p;
	if (!names_path(&p, dir, path))
		return NULL;
	*class = names_class(LOG_MOD_POSIX, &p);
	struct posix_file *f = *class ? NULL : posix_file_of(&p);
	if (!f && !*class)
		*class = without_record();
	return f;
}

struct posix_file *posix_file_at(int dir, const char *path, enum live_class_id *class)
{
	struct name *n = names_recall(LOG_MOD_POSIX, path, class);
	if (*class)
		return NULL;
	return n && n->file[NAMES_POSIX] ? n->file[NAMES_POSIX] : file_at(dir, path, class);
}

static uintptr_t entry_for(int dir, const char *path, int flags, int mode, double start, double end)
{
	enum live_class_id class;
	struct posix_file *f = posix_file_at(dir, path, &class);
	if (f)
		return open_tracked(f, flags, mode, start, end);
	if (class)
		names_count_class(class);
	return class;
}

void posix_on_open(struct span s, int fd, int dir, const char *path, int flags, int mode)
{
	if (!s.at)
		return;
	double end = clock_now();
	self_enter();
	posix_count_operation(LIVE_OP_OPEN, fd < 0, 0, s.start, end);
	if (fd >= 0) {
		uintptr_t at = entry_for(dir, path, flags, mode, s.start, end);
		if (!fds_foreign())
			set_entry(fd, at);
	}
	self_leave();
}

/* Before the real close: afterwards the number may already be another thread's new file. */
struct span posix_span_close(int fd)
{
	struct span s = {0, 0, fd};
	if ((unsigned)fd >= FDS_MAX || !self_ready() || !fds_table[fd] || fds_foreign())
		return s;
	s.at = fds_set(fd, 0);
	if (span_tracked(s))
		s.start = clock_now();
	return s;
}

void posix_on_close(struct span s)
{
	struct posix_open *o = posix_open_of(s);
	if (!o)
		return;
	double end = clock_now();
	struct posix_file *f = o->file;
	self_enter();
	lock_take(&f->lock);
	stamp(&f->record->close_start_timestamp, &f->record->close_end_timestamp, s.start, end);
	posix_time(f, LIVE_META, s.start, end);
	lock_drop(&f->lock);
	open_release(s.at);
	posix_count_operation(LIVE_OP_CLOSE, false, 0, s.start, end);
	self_leave();
}

void posix_on_dup(struct span s, int fd)
{
	struct posix_open *o = posix_open_of(s);
	if (!s.at || fd < 0 || fds_foreign())
		return;
	self_enter();
	if (o && fd != s.fd)
		__atomic_add_fetch(&o->references, 1, __ATOMIC_ACQ_REL);
	if (fd != s.fd)
		set_entry(fd, s.at);
	if (o) {
		double end = clock_now();
		lock_take(&o->file->lock);
		o->file->record->dups++;
		count_open(o->file, s.start, end);
		lock_drop(&o->file->lock);
		posix_count_operation(LIVE_OP_DUP, false, 0, s.start, end);
	}
	self_leave();
}

void posix_on_flags(struct span s, int flags)
{
	if (posix_open_of(s))
		posix_open_of(s)->append = flags & O_APPEND;
}

void posix_on_stream(int fd)
{
	uintptr_t at = (unsigned)fd < FDS_MAX ? fds_table[fd] : 0;
	if (at >= LIVE_CLASS_COUNT)
		((struct posix_open *)at)->shared = true;
}

static struct posix_open *open_of_stream(int fd, const char *name)
{
	struct path p;
	uintptr_t at = fds_table[fd];
	if (at >= LIVE_CLASS_COUNT)
		return (struct posix_open *)at;
	struct posix_file *f = names_path(&p, AT_FDCWD, name) ? posix_file_of(&p) : NULL;
	struct posix_open *o = f ? posix_open_make(f) : NULL;
	if (o)
		set_entry(fd, (uintptr_t)o);
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
		o->shared = true;
		lock_take(&o->file->lock);
		o->file->record->filenos++;
		count_open(o->file, s.start, end);
		lock_drop(&o->file->lock);
	}
	self_leave();
}

void posix_forget(unsigned first, unsigned last)
{
	if (!self_ready() || fds_foreign())
		return;
	self_enter();
	unsigned end = (unsigned)fds_end();
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		if (fds_table[fd])
			open_release(fds_set((int)fd, 0));
	self_leave();
}

/* ---- descriptors from elsewhere ---- */

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

static uintptr_t adopt(int fd)
{
	struct path p;
	if (!names_path_of_fd(&p, fd))
		return LIVE_CLASS_SPECIAL;
	cut_deleted(&p);
	if (in_memory_only(&p))
		return LIVE_CLASS_SPECIAL;
	enum live_class_id class = names_class(LOG_MOD_POSIX, &p);
	struct posix_file *f = class ? NULL : posix_file_of(&p);
	struct posix_open *o = f ? posix_open_make(f) : NULL;
	if (!o)
		return class ? class : without_record();
	o->append = sys_fcntl(fd, F_GETFL, 0) & O_APPEND;
	o->shared = true;
	return (uintptr_t)o;
}

/* ---- fork: the child's descriptors in the child's own store ---- */

struct inherited {
	struct posix_open *open;
	const char *name;
	struct inherited *next;
};

static struct inherited *inherited;

static void save_one(struct posix_open *o)
{
	struct inherited *i = arena_take(sizeof *i);
	if (!i)
		return;
	*i = (struct inherited){o, arena_copy(o->head.name->text, strlen(o->head.name->text)), inherited};
	inherited = i;
	o->file = NULL;
}

static void fork_save(void)
{
	inherited = NULL;
	for (int fd = 0; fd < fds_end(); fd++) {
		struct posix_open *o = (struct posix_open *)fds_table[fd];
		if ((uintptr_t)o < LIVE_CLASS_COUNT)
			continue;
		if (o->file)
			save_one(o);
	}
}

static void restore_one(struct inherited *i)
{
	struct path p;
	struct posix_file *f = i->name && names_path(&p, AT_FDCWD, i->name) ? posix_file_of(&p) : NULL;
	bool append = i->open->append;
	uint32_t references = i->open->references;
	*i->open = (struct posix_open){.file = f, .append = append, .shared = true, .references = references};
	i->open->head.name = f ? f->name : NULL;
}

static void fork_restore(void)
{
	lock_drop(&free_lock);
	free_list = NULL;
	posix_aio_forget();
	for (struct inherited *i = inherited; i; i = i->next)
		restore_one(i);
	for (int fd = 0; fd < fds_end(); fd++)
		if (fds_table[fd] >= LIVE_CLASS_COUNT && !((struct posix_open *)fds_table[fd])->file)
			fds_table[fd] = without_record();
}

/* In the parent: the child may move the offsets it shares, so the kernel is asked for them from now on. */
static void fork_share(void)
{
	for (int fd = 0; fd < fds_end(); fd++)
		if (fds_table[fd] >= LIVE_CLASS_COUNT)
			((struct posix_open *)fds_table[fd])->shared = true;
}

static void start(void)
{
	fds_adopt = adopt;
	pthread_atfork(NULL, fork_share, NULL);
}

LIFE_MODULE(posix, .module = LOG_MOD_POSIX, .start = start, .fork_save = fork_save, .fork_restore = fork_restore);
