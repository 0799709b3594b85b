/* Asynchronous I/O: remembered at submission, recorded when the program fetches the result. */
#include <aio.h>

#include "arena.h"
#include "record.h"
#include "state.h"

struct pending {
	const struct aiocb *control;
	struct span span;
	enum live_kind kind;
	const void *buffer;
	int64_t at;
	struct pending *next;
};

static struct lock lock;
static struct pending *pending, *unused;

static struct pending *take_unused(void)
{
	struct pending *p = unused;
	if (!p)
		return arena_take(sizeof *p);
	unused = p->next;
	return p;
}

void posix_aio_submitted(const struct aiocb *control, enum live_kind kind)
{
	struct span s = span_fd(control->aio_fildes);
	if (!s.at)
		return;
	self_enter();
	lock_take(&lock);
	struct pending *p = take_unused();
	if (p) {
		*p = (struct pending){control, s, kind, (const void *)control->aio_buf, control->aio_offset, pending};
		pending = p;
	}
	lock_drop(&lock);
	self_leave();
}

static bool fetch(const struct aiocb *control, struct pending *out)
{
	bool found = false;
	lock_take(&lock);
	for (struct pending **at = &pending; *at; at = &(*at)->next) {
		struct pending *p = *at;
		if (p->control != control)
			continue;
		*out = *p;
		*at = p->next;
		p->next = unused;
		unused = p;
		found = true;
		break;
	}
	lock_drop(&lock);
	return found;
}

void posix_aio_returned(const struct aiocb *control, int64_t got)
{
	struct pending p;
	if (!__atomic_load_n(&pending, __ATOMIC_RELAXED) || !self_ready())
		return;
	self_enter();
	bool found = fetch(control, &p);
	self_leave();
	if (found)
		posix_on_access(p.span, p.kind, p.buffer, p.at, got);
}

void posix_aio_forget(void)
{
	lock_drop(&lock);
	pending = unused = NULL;
}
