/* How streams come and go: files, standard streams, descriptors, pipes; and what a forked child keeps of them. */
#include "operation.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "../lustre/record.h"
#include "../posix/record.h"
#include "arena.h"
#include "thread.h"
#include "config.h"
#include "life.h"
#include "lines.h"
#include "site.h"
#include "store.h"
#include "sys.h"

static const char temporary[] = "<tmpfile>"; /* what all tmpfile() streams share: such a file has no name */
static const char replaced[] = "<replaced>"; /* as a name: of a stream whose descriptor is another file's now */

/* ---- streams ---- */

static bool on AT_START; /* the module is not disabled; written once, as the process wakes */

static struct lock free_lock;             /* guards the lists of streams that are free */
static struct stdio_stream *free_list[2]; /* without and with a file; under the lock */

/*
 * The memory stays a stream for ever: a thread may still use one that another reopens. So one that has a file always has some
 * file.
 */
static struct stdio_stream *stream_take(bool with_file)
{
	struct stdio_stream *t = NULL;
	if (lock_take(&free_lock)) {
		t = free_list[with_file];
		if (t)
			free_list[with_file] = t->next_free;
		lock_drop(&free_lock);
	}
	return t ? t : arena_take(sizeof *t);
}

static void stream_release(struct stdio_stream *t)
{
	if (!t || !lock_take(&free_lock))
		return;
	t->next_free = free_list[t->file != NULL];
	free_list[t->file != NULL] = t;
	lock_drop(&free_lock);
}

/* Which of its first calls a stream times must not be the same for all streams. */
static int32_t first_timed(void)
{
	static uint32_t turn;
	return 1 + (int32_t)(__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) * 23 % STDIO_TIMED);
}

static void enter_stream(FILE *f, struct stdio_file *file, enum state_class_id class, int64_t offset, bool asks)
{
	struct stdio_stream *t = stream_take(file);
	if (!t)
		return;
	__atomic_store_n(&t->file, file, __ATOMIC_RELAXED);
	t->class = class;
	t->fd = f->_fileno;
	t->until_timed = first_timed();
	t->offset = offset;
	memset(&t->seen, 0, offsetof(struct stdio_stream, item) - offsetof(struct stdio_stream, seen));
	t->asks = asks;
	stdio_number(f, t->fd);
	stream_release(stdio_table_set(f, t));
}

/* A stream whose path gets no record is only counted. */
static void enter_class(FILE *f, enum state_class_id class)
{
	names_count_class(class);
	enter_stream(f, NULL, class, 0, false);
}

/* Opens are not recorded by line, but looked at. Inside self_enter. */
__attribute__((noinline, cold)) static void look_at(struct stdio_file *f, double start, double end)
{
	lines_also(&f->file, &(const struct lines_call){WRITTEN_STDIO, IO_META, 1, 0, start, end});
}

static void count_open(struct stdio_file *f, bool from_descriptor, double start, double end)
{
	struct stdio_record *r = f->record;
	if (!lock_take(&f->lock))
		return;
	r->opens++;
	r->fdopens += from_descriptor;
	site_opened(&f->file, WRITTEN_STDIO);
	if (r->open_start_timestamp == 0 || r->open_start_timestamp > start)
		r->open_start_timestamp = start;
	r->open_end_timestamp = end;
	FILE_TIME(f, IO_META, start, end);
	lock_drop(&f->lock);
	if (__builtin_expect(lines_also != NULL, 0))
		look_at(f, start, end);
}

static void open_path(FILE *f, const char *path, const char *mode, double start, double end)
{
	enum state_class_id class;
	struct name *n = names_recall(LOG_MOD_STDIO, AT_FDCWD, path, &class);
	struct stdio_file *file = n ? __atomic_load_n(&n->file[WRITTEN_STDIO], __ATOMIC_ACQUIRE) : NULL;
	file = file || class ? file : stdio_file_new(f->_fileno, path, &class);
	if (names_leads(class, path) || names_moved(AT_FDCWD, path, start))
		file = stdio_file_behind(f->_fileno, &class);
	if (class)
		enter_class(f, class);
	if (!file)
		return;
	lustre_on_open(file->name, f->_fileno);
	count_open(file, false, start, end);
	enter_stream(f, file, STATE_CLASS_NONE, 0, mode[0] == 'a');
}

/* A number that was closed out of our sight may still have its old entry. */
static void forget_descriptor(FILE *f)
{
	int fd = f->_fileno;
	if (fds_peek(fd))
		posix_forget((unsigned)fd, (unsigned)fd);
}

/* An open of a named pipe has waited for another process: that is no time of a file system. */
__attribute__((noinline)) static void pipe_opened(FILE *f)
{
	self_enter();
	operation_count_only(STATE_OP_STDIO_OPEN, false, 0, 0);
	enter_class(f, STATE_CLASS_PIPE);
	self_leave();
}

void stdio_on_open(struct span s, FILE *f, const char *path, const char *mode)
{
	if (!s.at || !on)
		return;
	double end = clock_now();
	if (f)
		forget_descriptor(f);
	if (f && fds_waited_for_pipe(f->_fileno, end - s.start)) {
		pipe_opened(f);
		return;
	}
	self_enter();
	operation_count(STATE_OP_STDIO_OPEN, IO_META, !f, 0, s.start, end);
	if (f)
		open_path(f, path, mode, s.start, end);
	self_leave();
}

static struct stdio_file *file_of_text(const char *name)
{
	PATH(p);
	return names_path(p, AT_FDCWD, name) ? stdio_file_of(p) : NULL;
}

/* The stream has the descriptor's file, or its class. Inside self_enter. */
static void open_descriptor(FILE *f, uintptr_t at, int fd, double start, double end)
{
	if (at < STATE_CLASS_COUNT) {
		enter_stream(f, NULL, at, 0, false);
		return;
	}
	struct stdio_file *file = file_of_text(names_of_fd(fd));
	if (!file)
		return;
	int64_t offset = stdio_tell(NULL, f);
	posix_on_stream(fd, stdio_appends(f));
	count_open(file, true, start, end);
	enter_stream(f, file, STATE_CLASS_NONE, offset > 0 ? offset : 0, true);
}

void stdio_on_fdopen(struct span s, FILE *f, int fd)
{
	if (!s.at || !on)
		return;
	double end = clock_now();
	uintptr_t at = f ? fds_get(fd) : 0;
	self_enter();
	operation_count(STATE_OP_STDIO_OPEN, IO_META, !f, 0, s.start, end);
	if (at)
		open_descriptor(f, at, fd, s.start, end);
	self_leave();
}

void stdio_on_tmpfile(struct span s, FILE *f)
{
	stdio_on_open(s, f, temporary, "w");
}

void stdio_on_popen(struct span s, FILE *f)
{
	if (!s.at || !on)
		return;
	double end = clock_now();
	self_enter();
	operation_count(STATE_OP_STDIO_OPEN, IO_META, !f, 0, s.start, end);
	if (f)
		enter_class(f, STATE_CLASS_PIPE);
	self_leave();
}

/* What is still in the buffer goes to where the file ends now. */
__attribute__((noinline)) static void reach_end_asked(struct stdio_stream *t, FILE *f)
{
	int64_t reached = stdio_tell(t, f);
	struct stdio_file *file = t->file;
	struct stdio_record *r = file->record;
	if (!lock_take(&file->lock))
		return;
	if (reached > r->max_byte_written + 1)
		r->max_byte_written = reached - 1;
	lock_drop(&file->lock);
}

static void reach_end(struct stdio_stream *t, FILE *f)
{
	if (__atomic_load_n(&t->asks, __ATOMIC_RELAXED) && f->_IO_write_ptr > f->_IO_write_base)
		reach_end_asked(t, f);
}

/* To close what one inherited is no use of the file. */
static struct stdio_stream *leaving(FILE *f)
{
	struct stdio_stream *t = stdio_stream_of(f);
	if (t && t->inlined)
		stdio_settle(t, f);
	return t;
}

/* The descriptor goes too, whether or not we know the stream. */
struct stdio_span stdio_span_close(FILE *f)
{
	struct stdio_span s = {0};
	if (!f || (self_asleep() && !f->_IO_buf_base) ||
	    !self_ready()) /* many close at their end what they never used */
		return s;
	s.stream = leaving(f);
	if (s.stream)
		stdio_unnumber(f, s.stream->fd);
	forget_descriptor(f);
	if (!s.stream)
		return s;
	self_enter();
	if (s.stream->file && !s.stream->replaced) { /* of another file nothing is asked */
		reach_end(s.stream, f);
		lustre_on_closing(s.stream->file->name, f->_fileno, s.stream->file->record->max_byte_written);
	}
	stdio_table_set(f, NULL);
	self_leave();
	s.start = clock_now();
	return s;
}

static void stamp_close(struct stdio_file *f, double start, double end)
{
	struct stdio_record *r = f->record;
	if (r->close_start_timestamp == 0 || r->close_start_timestamp > start)
		r->close_start_timestamp = start;
	r->close_end_timestamp = end;
	stdio_stamp(f);
}

static void close_record(struct stdio_file *f, double start, double end)
{
	if (!lock_take(&f->lock))
		return;
	stamp_close(f, start, end);
	FILE_TIME(f, IO_META, start, end);
	lock_drop(&f->lock);
}

void stdio_on_close(struct stdio_span s, int result)
{
	if (!s.stream)
		return;
	double end = clock_now();
	self_enter();
	if (s.stream->file)
		close_record(s.stream->file, s.start, end);
	stdio_count(s, STATE_OP_STDIO_CLOSE, IO_META, result, end);
	stream_release(s.stream);
	self_leave();
}

/* Without a path: the same file in another mode. */
static void open_again(FILE *f, struct stdio_stream *old, const char *mode, double start, double end)
{
	if (!old)
		return;
	if (old->replaced)
		old->inherited = replaced;
	if (old->inherited)
		stdio_adopt(old, f);
	if (old->file)
		count_open(old->file, false, start, end);
	enter_stream(f, old->file, old->class, 0, mode[0] == 'a');
}

void stdio_on_reopen(struct stdio_span s, struct span opened, FILE *f, const char *path, const char *mode)
{
	struct stdio_stream *old = s.stream;
	struct stdio_file *file = old ? old->file : NULL; /* which another thread may move the stream away from */
	if (file && opened.at && lock_take(&file->lock)) {
		stamp_close(file, s.start, opened.start);
		lock_drop(&file->lock);
	}
	if (path) {
		stdio_on_open(opened, f, path, mode);
	} else if (opened.at && on) {
		double end = clock_now();
		self_enter();
		operation_count(STATE_OP_STDIO_OPEN, IO_META, !f, 0, opened.start, end);
		if (f)
			open_again(f, old, mode, opened.start, end);
		self_leave();
	}
	stream_release(old);
}

const char *stdio_shared_name(FILE *f)
{
	struct stdio_stream *t = f && self_ready() ? stdio_stream_of(f) : NULL;
	if (!t || (t->file && names_is_overflow(t->file->name)))
		return NULL;
	const char *name = t->file ? t->file->name->text : t->inherited;
	if (!name || name[0] == '<')
		return NULL;
	__atomic_store_n(&t->asks, true, __ATOMIC_RELAXED);
	stdio_ask_next(t);
	return t->by_descriptor || t->replaced ? NULL : name; /* POSIX asks what it is at its first use */
}

/* ---- the streams that every program is born with ---- */

static const char *const standard[] = {"<STDIN>", "<STDOUT>", "<STDERR>"};
static FILE *born_as[3] AT_START; /* written at the start, by one thread */

/* NULL: it is no standard stream. */
static const char *standard_name(const FILE *f)
{
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		if (f == born_as[i])
			return standard[i];
	return NULL;
}

/* The name by which a stream is known that is what its descriptor is. */
static const char *descriptor_name(const FILE *f)
{
	const char *name = standard_name(f);
	return name ? name : replaced;
}

static void wait_for_use(struct stdio_stream *t, const char *name)
{
	t->class = STATE_CLASS_FILTERED;
	t->inherited = name;
	t->attention = true;
}

/* What it is, is asked at its first use. */
static void standard_stream(struct stdio_stream *t, int i, FILE *f)
{
	born_as[i] = f;
	t->fd = f->_fileno;
	t->until_timed = first_timed();
	wait_for_use(t, standard[i]);
	stdio_table_set(f, t);
}

/* Only the descriptor is looked at: a stream without a buffer may get one when libc is asked. */
static int64_t first_offset(FILE *f)
{
	int fd = f->_fileno;
	struct stat s;
	if (f == born_as[STDIN_FILENO])
		return stdio_tell(NULL, f);
	int flags = sys_fcntl(fd, F_GETFL, 0);
	bool end = flags > 0 && flags & O_APPEND && sys_fstat(fd, &s) == 0;
	return (end ? s.st_size : sys_seek(fd, 0, SEEK_CUR)) + (f->_IO_write_ptr - f->_IO_write_base);
}

/* A terminal's record has the stream's name, as in Darshan's logs; it counts one open, whose times are 0. */
static struct stdio_file *console(const char *name)
{
	struct stdio_file *file = file_of_text(name);
	if (file)
		file->record->opens = 1;
	return file;
}

/* What the stream's descriptor is. False: it is closed, and may be something later. */
static bool adopt_descriptor(struct stdio_stream *t, FILE *f, const char *name)
{
	struct stdio_file *file;
	enum state_class_id class = STATE_CLASS_NONE;
	struct stat s;
	if (sys_fstat(f->_fileno, &s) != 0)
		return false;
	if (S_ISREG(s.st_mode)) {
		file = stdio_file_given(f, &class);
		int64_t at = file ? first_offset(f) : 0;
		t->offset = at > 0 ? at : 0;
	} else {
		class = (enum state_class_id)fds_get(f->_fileno);
		file = class == STATE_CLASS_TERMINAL && name != replaced ? console(name) : NULL;
	}
	t->by_descriptor = true;
	t->asks = t->asks || name == replaced; /* the program may use the descriptor itself */
	t->class = file ? STATE_CLASS_NONE : class;
	t->file = file;
	return true;
}

static void adopt(struct stdio_stream *t, FILE *f)
{
	bool by_descriptor = t->inherited == replaced || standard_name(f);
	if (by_descriptor && !adopt_descriptor(t, f, descriptor_name(f)))
		return;
	if (!by_descriptor) {
		struct stdio_file *file = file_of_text(t->inherited);
		t->class = file ? STATE_CLASS_NONE : STATE_CLASS_FILTERED;
		t->file = file;
	}
	t->inherited = NULL;
}

/* Two threads may print their first line at once. */
static struct lock adopting;

void stdio_adopt(struct stdio_stream *t, FILE *f)
{
	self_enter();
	if (lock_take_deep(&adopting)) {
		if (t->inherited)
			adopt(t, f);
		lock_drop_deep(&adopting);
	}
	self_leave();
}

/* Another one in its place: other threads may be using the old one. */
static struct stdio_stream *renew(struct stdio_stream *t, FILE *f)
{
	if (t->inlined)
		stdio_settle(t, f);
	self_enter();
	if (lock_take_deep(&adopting)) {
		if (stdio_stream_of(f) == t)
			enter_stream(f, NULL, STATE_CLASS_FILTERED, 0, false);
		struct stdio_stream *now = stdio_stream_of(f);
		if (now && now != t && !now->by_descriptor && !now->file)
			wait_for_use(now, descriptor_name(f));
		lock_drop_deep(&adopting);
	}
	self_leave();
	return stdio_stream_of(f);
}

struct stdio_stream *stdio_attend(struct stdio_stream *t, FILE *f)
{
	if (t->replaced)
		t = renew(t, f);
	if (!t)
		return NULL;
	if (t->inherited)
		stdio_adopt(t, f);
	if (__atomic_exchange_n(&t->moved, false, __ATOMIC_RELAXED)) {
		self_enter();
		stdio_ask_position(t, f);
		self_leave();
	}
	if (t->inlined)
		stdio_settle(t, f);
	else
		__atomic_store_n(&t->attention, t->inherited || t->replaced, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->moved, __ATOMIC_SEQ_CST)) /* another thread has forked since */
		__atomic_store_n(&t->attention, true, __ATOMIC_RELAXED);
	return t;
}

/* True: it asks at its next use, whatever comes until then. What waits for its first use goes on to be found by its number. */
static bool ask_descriptor(struct stdio_stream *t, FILE *f)
{
	if (!t->inherited)
		__atomic_store_n(&t->attention, t->replaced = true, __ATOMIC_RELEASE);
	else if (!standard_name(f))
		t->inherited = replaced;
	return !t->inherited;
}

static void descriptor_changed(int fd)
{
	stdio_changed(fd, ask_descriptor);
}

/* ---- fork: the child's streams in the child's own store ---- */

static void inherit(struct stdio_stream *t, const FILE *f)
{
	const char *text = t->file->name->text;
	t->asks = t->asks || text[0] != '<';
	t->inherited = t->by_descriptor ? descriptor_name(f) : arena_copy(text, strlen(text));
	t->file = NULL;
	t->class = STATE_CLASS_FILTERED;
	t->seen[IO_READ] = t->seen[IO_WRITE] = NULL;
	t->unclocked = 0;
	t->attention = t->inherited;
	t->moved = t->inherited && !t->by_descriptor;
}

static void fork_save(void)
{
	for (size_t i = 0; i <= stdio_table->mask; i++) {
		struct stdio_stream *t = stdio_table->slot[i].stream;
		if (t && t->file)
			inherit(t, stdio_table->slot[i].key);
	}
}

static void share_all(void)
{
	struct stdio_table *table = __atomic_load_n(&stdio_table, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i <= table->mask; i++) {
		struct stdio_stream *t = __atomic_load_n(&table->slot[i].stream, __ATOMIC_ACQUIRE);
		if (!t || !t->file || t->file->name->text[0] == '<')
			continue;
		__atomic_store_n(&t->asks, true, __ATOMIC_RELAXED);
		stdio_ask_next(t);
	}
}

/* In the parent: the child may move the offsets that they share. The lock keeps a closed stream from becoming another. */
static void fork_share(void)
{
	bool locked = self_enter_locked(&free_lock);
	share_all();
	if (locked)
		self_leave_locked(&free_lock);
}

/* ---- start and end ---- */

static void start(void)
{
	on = true;
	stdio_record_start();
	static struct stdio_stream born[3];
	standard_stream(&born[0], 0, stdin);
	standard_stream(&born[1], 1, stdout);
	standard_stream(&born[2], 2, stderr);
	fds_stream_changed = descriptor_changed;
	__atomic_store_n(&fds_stream_end, STDERR_FILENO + 1, __ATOMIC_RELEASE);
}

/* False: another thread has closed it by now, and its memory is gone. Where the kernel does not copy, it is taken as it is. */
static bool copy_stream(FILE *to, FILE *f)
{
	struct iovec local = {to, sizeof *to}, remote = {f, sizeof *f};
	long got = sys_call(SYS_process_vm_readv, sys_pid(), (long)&local, 1, (long)&remote, 1, 0);
	if (got >= 0 || got == -EFAULT)
		return got == (long)sizeof *to;
	*to = *f;
	return true;
}

static void end_stream(struct stdio_stream *t, FILE *f)
{
	FILE copy;
	if (t->inlined && self_ready() && copy_stream(&copy, f))
		stdio_settle(t, &copy);
	if (t->file)
		stdio_stamp(t->file);
}

/* What the program moved without a call until its end, and what lags behind. */
static void end(void)
{
	struct stdio_table *table = __atomic_load_n(&stdio_table, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i <= table->mask; i++) {
		FILE *f = __atomic_load_n(&table->slot[i].key, __ATOMIC_ACQUIRE);
		struct stdio_stream *t = __atomic_load_n(&table->slot[i].stream, __ATOMIC_ACQUIRE);
		if (f && t)
			end_stream(t, f);
	}
}

LIFE_MODULE(stdio, .module = LOG_MOD_STDIO, .start = start, .fork_share = fork_share, .fork_save = fork_save,
	    .end = end);
