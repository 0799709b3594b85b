/* libaio: blocks of the program's memory, which the kernel has not accepted when they are remembered. */
#include "../posix/record.h"
#include "readable.h"
#include "request.h"

enum { BLOCKS = 1 << 16, PAGE = 4096, NO_PAGE = 1 };

/* The kernel's struct iocb and struct io_event. */
struct block {
	uint64_t data;
	uint32_t key, transfer; /* RWF_ flags */
	uint16_t operation;
	int16_t priority;
	uint32_t fd;
	uint64_t buffer, bytes;
	int64_t offset;
};

struct event {
	uint64_t data, block;
	int64_t result, more;
};

enum { APPEND = 16 }; /* RWF_APPEND, which older headers lack */
enum { PREAD = 0, PWRITE = 1, FSYNC = 2, FDSYNC = 3, PREADV = 7, PWRITEV = 8 };

/* False for an operation that neither moves bytes nor makes them durable. */
static bool describe(const struct block *b, struct async_request *r)
{
	bool flush = b->operation == FSYNC || b->operation == FDSYNC;
	bool vector = b->operation == PREADV || b->operation == PWRITEV;
	bool read = b->operation == PREAD || b->operation == PREADV;
	if (!flush && !vector && !read && b->operation != PWRITE)
		return false;
	r->op = flush ? IO_META : read ? IO_READ : IO_WRITE;
	r->flags = flush ? ASYNC_FLUSH : 0;
	r->flags |= b->operation == FDSYNC ? ASYNC_DATA_ONLY : 0;
	r->flags |= r->op == IO_WRITE && b->transfer & APPEND ? ASYNC_APPEND : 0;
	r->bytes = flush || vector ? 0 : (int64_t)b->bytes;
	r->buffer = flush || vector ? NULL : (const void *)b->buffer;
	r->offset = b->offset;
	return true;
}

/* Pointers and blocks lie side by side: a page is asked about once. `known` is the last that could be read. */
static bool sound(const void *at, size_t n, uintptr_t *known)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
	if (page == *known && (uintptr_t)at + n <= page + PAGE)
		return true;
	*known = readable(at, n) ? page : NO_PAGE;
	return *known == page;
}

/* How far the kernel can come. */
static long end_of(long n)
{
	return n < BLOCKS ? n : BLOCKS;
}

void libaio_submit(struct async_call *c, const void *context, long n, void *const *blocks)
{
	uintptr_t list = NO_PAGE, page = NO_PAGE;
	for (long i = 0; c->start > 0 && i < end_of(n) && sound(&blocks[i], sizeof *blocks, &list); i++) {
		const struct block *b = blocks[i];
		struct async_request r = {(uintptr_t)context, (uintptr_t)b, .interface = STATE_ASYNC_LIBAIO};
		if (!sound(b, sizeof *b, &page))
			return;
		if (!describe(b, &r))
			continue;
		r.span = (struct span){.at = fds_get((int)b->fd), .start = c->start, .fd = (int)b->fd};
		async_submitted(c, &r);
	}
}

void libaio_submitted(struct async_call *c, const void *context, long n, void *const *blocks, long accepted)
{
	uintptr_t list = NO_PAGE;
	long i = accepted < 0 ? 0 : accepted;
	for (; c->start > 0 && i < end_of(n) && sound(&blocks[i], sizeof *blocks, &list); i++)
		async_refused(c, (uintptr_t)context, (uintptr_t)blocks[i]);
}

void libaio_completed(struct async_call *c, const void *context, const void *events, long n)
{
	const struct event *e = events;
	for (long i = 0; i < n; i++)
		async_completed(c, (uintptr_t)context, e[i].block, e[i].result, false);
}
