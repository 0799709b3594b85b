#include "uring_queue.h"

#include "../posix/record.h"
#include "../posix/state.h"
#include "arena.h"
#include "lock.h"
#include "self.h"

enum { FILES = 4096 };

enum { REQUEST_FIXED_FILE = 1 << 0, REQUEST_DATA_ONLY = 1 << 0 };
enum { COMPLETION_MORE = 1 << 1, COMPLETION_NOTE = 1 << 3 };
enum { RING_WIDE_REQUESTS = 1 << 10, RING_WIDE_COMPLETIONS = 1 << 11 };

enum { REQUEST_APPEND = 16 }; /* RWF_APPEND */
enum { OP_FSYNC = 3, OP_READ_FIXED = 4, OP_WRITE_FIXED = 5, OP_ACCEPT = 13, OP_OPENAT = 18, OP_CLOSE = 19 };
enum { OP_OPENAT2 = 28, OP_SOCKET = 45, OP_READV_FIXED = 60, OP_WRITEV_FIXED = 61 };

static struct lock lock; /* guards the tables of files of all rings */

/* What an operation does with its buffer; `vector`: its length is a number of buffers. */
static const struct {
	uint8_t operation, op;
	bool vector;
} moving[] = {
	{1, IO_READ, true},   {2, IO_WRITE, true},   {4, IO_READ, false},   {5, IO_WRITE, false},  {9, IO_WRITE, true},
	{10, IO_READ, true},  {22, IO_READ, false},  {23, IO_WRITE, false}, {26, IO_WRITE, false}, {27, IO_READ, false},
	{30, IO_META, false}, {47, IO_WRITE, false}, {48, IO_WRITE, true},  {49, IO_READ, true},   {58, IO_READ, true},
	{60, IO_READ, true},  {61, IO_WRITE, true},
};

/* True for an operation that moves bytes. */
static bool moves(const struct uring_request *q, struct async_request *r)
{
	for (size_t i = 0; i < sizeof moving / sizeof *moving; i++) {
		if (moving[i].operation != q->operation)
			continue;
		r->op = moving[i].op;
		r->bytes = moving[i].vector ? 0 : q->length;
		r->buffer = moving[i].vector ? NULL : (const void *)q->address;
		return true;
	}
	return false;
}

/* RWF_ flags are those of files: sends have others in their place. */
static bool appends(const struct uring_request *q)
{
	static const uint8_t writes[] = {2, OP_WRITE_FIXED, 23, OP_WRITEV_FIXED};
	bool found = false;
	for (size_t i = 0; i < sizeof writes; i++)
		found |= q->operation == writes[i];
	return found && q->operation_flags & REQUEST_APPEND;
}

/* What its result is, where that is a descriptor: in the ring's table of files it is none. */
static uint8_t makes(const struct uring_request *q)
{
	if (q->file_index)
		return 0;
	return q->operation == OP_OPENAT || q->operation == OP_OPENAT2  ? ASYNC_OPEN
	       : q->operation == OP_ACCEPT || q->operation == OP_SOCKET ? ASYNC_MAKE
									: 0;
}

static bool fixed_buffer(const struct uring_request *q)
{
	return q->operation == OP_READ_FIXED || q->operation == OP_WRITE_FIXED || q->operation == OP_READV_FIXED ||
	       q->operation == OP_WRITEV_FIXED;
}

bool uring_describe(const struct uring_request *q, const struct uring_files *files, struct async_request *r)
{
	bool fixed = q->flags & REQUEST_FIXED_FILE;
	r->interface = STATE_ASYNC_IO_URING;
	r->key = q->key;
	if (makes(q)) {
		r->op = IO_META;
		r->flags |= makes(q);
		r->span.fd = -1;
		return true;
	}
	if (q->operation == OP_FSYNC) {
		r->op = IO_META;
		r->flags = ASYNC_FLUSH | (q->operation_flags & REQUEST_DATA_ONLY ? ASYNC_DATA_ONLY : 0);
	} else if (!moves(q, r)) {
		return false;
	}
	r->offset = (int64_t)q->offset;
	r->flags |= appends(q) ? ASYNC_APPEND : 0;
	r->flags |= (fixed ? ASYNC_FIXED_FILE : 0) | (fixed_buffer(q) ? ASYNC_FIXED_BUFFER : 0);
	r->span.fd = fixed ? -1 : q->fd;
	if (!fixed)
		r->span.at = fds_get(q->fd);
	else if (files && (uint32_t)q->fd < files->room)
		r->span.at = files->at[q->fd];
	return true;
}

/* ---- what is new in a ring's queues ---- */

/* The descriptor goes: the next one of its number is another file. */
static void closed(const struct uring_request *q)
{
	if (!q->file_index)
		posix_on_close(posix_span_close(q->fd));
}

/* A place of the ring's table of files gets another one, by a path of which there is no record, or none. */
static void replaced(struct uring_files *files, const struct uring_request *q)
{
	static const int none = -1;
	bool replaces = q->operation == OP_OPENAT || q->operation == OP_OPENAT2 || q->operation == OP_ACCEPT ||
			q->operation == OP_SOCKET || q->operation == OP_CLOSE;
	if (replaces && q->file_index && files->at)
		uring_set_files(files, q->file_index - 1, &none, 1);
}

static void look_at_request(struct async_call *c, const struct uring_queues *r, struct uring_files *files,
			    uint32_t number)
{
	uint32_t wide = r->flags & RING_WIDE_REQUESTS ? 2 : 1, place = number & r->request_mask;
	uint32_t at = r->array ? r->array[place] & r->request_mask : place;
	const struct uring_request *q = &r->requests[at * wide];
	struct async_request one = {.owner = r->owner, .span.start = c->start};
	if (uring_describe(q, files, &one))
		async_submitted(c, &one);
	else if (q->operation == OP_CLOSE)
		closed(q);
	replaced(files, q);
}

static void look_at_completion(struct async_call *c, const struct uring_queues *r, uint32_t number)
{
	uint32_t wide = r->flags & RING_WIDE_COMPLETIONS ? 2 : 1;
	const struct uring_completion *done = &r->completions[(number & r->completion_mask) * wide];
	if (!(done->flags & COMPLETION_NOTE))
		async_completed(c, r->owner, done->key, done->result, done->flags & COMPLETION_MORE);
}

/* The numbers in a queue of `entries` since `seen`; what has been written over since is skipped. */
static uint32_t since(uint32_t seen, uint32_t now, uint32_t entries)
{
	return now - seen > entries ? now - entries : seen;
}

void uring_look_ahead(struct async_call *c, const struct uring_queues *r, struct uring_files *files, uint32_t from,
		      uint32_t to)
{
	for (uint32_t n = since(from, to, r->request_mask + 1); n != to; n++)
		look_at_request(c, r, files, n);
}

void uring_look_new(struct async_call *c, const struct uring_queues *r, struct uring_files *files,
		    struct uring_seen was, struct uring_seen now)
{
	uring_look_ahead(c, r, files, was.requests, uring_further(was.requests, now.requests));
	for (uint32_t n = since(was.completions, now.completions, r->completion_mask + 1); n != now.completions; n++)
		look_at_completion(c, r, n);
}

/* ---- registered files ---- */

static void set_file(struct uring_files *f, unsigned place, uintptr_t at, int fd)
{
	uintptr_t was = 0;
	if (!self_enter_locked(&lock))
		return;
	if (!f->at) {
		f->at = arena_take(FILES * sizeof *f->at);
		f->room = f->at ? FILES : 0;
	}
	if (place < f->room) {
		was = f->at[place];
		f->at[place] = posix_open_hold(at, fd);
	}
	self_leave_locked(&lock);
	self_enter();
	posix_open_release(was);
	self_leave();
}

void uring_set_files(struct uring_files *f, unsigned first, const int *fds, unsigned n)
{
	enum { SKIP = -2 };
	for (unsigned i = 0; i < n && first + i < FILES; i++)
		if (fds[i] != SKIP)
			set_file(f, first + i, fds[i] < 0 ? 0 : fds_get(fds[i]), fds[i]);
}

void uring_drop_files(struct uring_files *f)
{
	for (unsigned i = 0; i < f->room; i++)
		if (f->at[i])
			set_file(f, i, 0, -1);
}
