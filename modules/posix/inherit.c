/* Descriptors from elsewhere: that the process was born with, was given, or has from its parent. */
#include <fcntl.h>
#include <string.h>

#include "../lustre/record.h"
#include "arena.h"
#include "life.h"
#include "map.h"
#include "record.h"
#include "run.h"
#include "sampling.h"
#include "state.h"
#include "sys.h"

/* ---- born with, or given ---- */

/*
 * Held; 0: no descriptor that is known has it. A program may be born with copies, as of its output. The file may have been renamed
 * since the first of them was used: a few others that came from elsewhere are asked, too.
 */
static uintptr_t same_description(int fd, const struct posix_file *f)
{
	enum { LOOKED_AT = 256, OTHERS = 16, KIND_FILE = 0 };
	bool foreign = fds_foreign();
	long table = foreign ? self_owner : 0,
	     own = foreign ? sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0) : 0; /* whose they are */
	for (int other = fds_next(0), n = 0, others = 0; other >= 0 && n < LOOKED_AT;
	     other = fds_next(other + 1), n++) {
		uintptr_t at = other == fd && !foreign ? 0 : fds_peek(other);
		const struct posix_open *o = (const struct posix_open *)at;
		if (at < STATE_CLASS_COUNT || (o->file != f && (!(posix_marks(o) & POSIX_ASKED) || others++ >= OTHERS)))
			continue;
		table = table ? table : sys_pid();
		if (sys_call(SYS_kcmp, own ? own : table, table, KIND_FILE, fd, other, 0) == 0)
			return posix_open_hold(at, other);
	}
	return 0;
}

static uintptr_t adopt(int fd)
{
	PATH(p);
	enum state_class_id class = posix_path_of(fd, LOG_MOD_POSIX, names_class, p);
	uintptr_t same = class ? 0 : same_description(fd, posix_file_known(p));
	if (same)
		return same;
	struct posix_file *f = class ? NULL : posix_file_of(p);
	struct posix_open *o = f ? posix_open_make(f) : NULL;
	if (!o)
		return class ? class : posix_without_record();
	posix_open_flags(o, posix_flags_of(fd));
	posix_open_share(o);
	lustre_on_open(f->name, fd);
	return (uintptr_t)o;
}

/* ---- fork: the child's descriptors in the child's own store ---- */

struct inherited {
	struct posix_open *open;
	const char *name;
	struct inherited *next;
};

/* One thread makes it and uses it up: the first operation of a forked child, while others of it wait. */
static struct inherited *inherited;

/*
 * The file of a description that has none in this process (yet): a handler may have forked while a read or write of it was under
 * way, which then ends in the child. One thread writes to the record without meaning.
 */
static struct posix_record unrecorded;
static struct name unnamed = {.text = ""};
static struct posix_file nowhere = {.name = &unnamed, .record = &unrecorded, .usual = POSIX_NONE, .last_op = -1};

static void save_one(struct posix_open *o)
{
	struct inherited *i = arena_take(sizeof *i);
	if (i)
		*i = (struct inherited){o, arena_copy(o->head.name->text, strlen(o->head.name->text)), inherited};
	inherited = i ? i : inherited;
	o->file = &nowhere;
	o->head.name = &unnamed;
}

static void fork_save(void)
{
	inherited = NULL;
	for (int fd = fds_next(0); fd >= 0; fd = fds_next(fd + 1)) {
		struct posix_open *o = (struct posix_open *)fds_peek(fd);
		if ((uintptr_t)o < STATE_CLASS_COUNT)
			continue;
		if (o->file != &nowhere)
			save_one(o);
	}
}

static void restore_one(struct inherited *i)
{
	PATH(p);
	struct posix_file *f = i->name && names_path(p, AT_FDCWD, i->name) ? posix_file_of(p) : NULL;
	struct posix_open *o = i->open;
	o->head.name = f ? f->name : &unnamed;
	o->file = f ? f : &nowhere;
	o->offset = o->last[IO_READ] = o->last[IO_WRITE] = 0;
	posix_open_share(o);
	o->by = 0;
}

static void fork_restore(void)
{
	posix_opens_forget();
	posix_aio_forget();
	map_inherit();
	for (struct inherited *i = inherited; i; i = i->next)
		restore_one(i);
	for (int fd = fds_next(0); fd >= 0; fd = fds_next(fd + 1))
		if (fds_peek(fd) >= STATE_CLASS_COUNT && ((struct posix_open *)fds_peek(fd))->file == &nowhere)
			fds_set(fd, posix_without_record());
}

static void start(void)
{
	fds_adopt = adopt;
	self_on_given_up = run_give_up;
	fds_release = posix_open_release;
	sampling_start();
}

static void end(void)
{
	posix_aio_end();
	map_measure_all();
}

LIFE_MODULE(posix, .module = LOG_MOD_POSIX, .start = start, .fork_share = posix_opens_share, .fork_save = fork_save,
	    .fork_restore = fork_restore, .end = end, .touched = map_touched);
