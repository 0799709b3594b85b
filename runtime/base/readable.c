#include "readable.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "lock.h"
#include "sys.h"

/* No page is smaller. */
enum { PAGE = 4096 };

static uintptr_t page_of(const void *at)
{
	return (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
}

/* A change of the signal mask that is no known one: the kernel reads the set before it says so. */
static bool page_readable(uintptr_t page)
{
	enum { NO_SUCH_CHANGE = -1, SET_BYTES = 8 };
	return sys_call(SYS_rt_sigprocmask, NO_SUCH_CHANGE, (long)page, 0, SET_BYTES, 0, 0) == -EINVAL;
}

bool readable(const void *at, size_t n)
{
	uintptr_t last = page_of((const char *)at + (n ? n - 1 : 0));
	if (!at || (uintptr_t)at + n < (uintptr_t)at)
		return false;
	for (uintptr_t page = page_of(at); page <= last; page += PAGE)
		if (!page_readable(page))
			return false;
	return true;
}

/* `known` is the page that was asked about last: texts lie side by side. */
static bool text_readable(const char *text, uintptr_t *known)
{
	for (const char *at = text; at; at = (const char *)(page_of(at) + PAGE)) {
		if (page_of(at) != *known && !page_readable(page_of(at)))
			return false;
		*known = page_of(at);
		if (memchr(at, '\0', PAGE - ((uintptr_t)at - *known)))
			return true;
	}
	return false;
}

bool readable_text(const char *text)
{
	uintptr_t known = 1;
	return text_readable(text, &known);
}

/* ---- what another thread may change ---- */

/* Up to the end of the page. Where a filter refuses the call the page is asked about first. */
static size_t copy(void *to, const void *from, size_t n)
{
	size_t left = PAGE - ((uintptr_t)from - page_of(from));
	n = n < left ? n : left;
	struct iovec local = {to, n}, remote = {(void *)from, n};
	long got = sys_call(SYS_process_vm_readv, sys_pid(), (long)&local, 1, (long)&remote, 1, 0);
	if ((got == -ENOSYS || got == -EPERM) && page_readable(page_of(from))) {
		memcpy(to, from, n);
		return n;
	}
	return got > 0 ? (size_t)got : 0;
}

/* No thread changes it meanwhile. */
static bool stays(struct readable_copy *c, const char *at)
{
	uintptr_t page = page_of(at);
	if (!at || !lock_is_needless() || (page != c->page && !page_readable(page)))
		return false;
	c->page = page;
	return true;
}

const char *readable_bytes(struct readable_copy *c, const char *at, size_t *n)
{
	if (stays(c, at)) {
		*n = PAGE - ((uintptr_t)at - c->page);
		return at;
	}
	if (at < c->at || at >= c->at + c->n) {
		c->at = at;
		c->n = at ? copy(c->bytes, at, sizeof c->bytes) : 0;
	}
	*n = c->n - (size_t)(at - c->at);
	return *n ? c->bytes + (at - c->at) : NULL;
}

bool readable_begins(struct readable_copy *c, const char *text, const char *with)
{
	size_t n;
	for (const char *bytes; *with; text += n, with += n) {
		size_t length = strlen(with);
		if (!(bytes = readable_bytes(c, text, &n)))
			return false;
		n = n < length ? n : length;
		if (memcmp(bytes, with, n) != 0)
			return false;
	}
	return true;
}

ssize_t readable_length(struct readable_copy *c, const char *text)
{
	size_t n;
	for (const char *at = text, *bytes, *end; (bytes = readable_bytes(c, at, &n)); at += n)
		if ((end = memchr(bytes, '\0', n)))
			return at - text + (end - bytes);
	return -1;
}

bool readable_entry(struct readable_copy *c, char *const *list, size_t n, char **entry)
{
	enum { MOST = 1 << 20 };
	size_t have = 0, some;
	for (const char *bytes; n < MOST && have < sizeof *entry; have += some) {
		if (!(bytes = readable_bytes(c, (const char *)(list + n) + have, &some)))
			return false;
		some = some < sizeof *entry - have ? some : sizeof *entry - have;
		memcpy((char *)entry + have, bytes, some);
	}
	return n < MOST;
}

static void copy_text(struct readable_copy *c, const char *from, char *to, size_t room)
{
	size_t n;
	for (const char *bytes; room > 1 && (bytes = readable_bytes(c, from, &n)) && *bytes; from++, room--)
		*to++ = *bytes;
	*to = '\0';
}

bool readable_variable(char *const *list, const char *name, char *value, size_t room)
{
	struct readable_copy entries = {0}, c = {0};
	size_t length = strlen(name);
	char *entry;
	for (size_t n = 0; list && readable_entry(&entries, list, n, &entry) && entry; n++)
		if (readable_begins(&c, entry, name) && readable_begins(&c, entry + length, "=")) {
			copy_text(&c, entry + length + 1, value, room);
			return true;
		}
	return false;
}
