#include "readable.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

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

bool readable_texts(char *const *list)
{
	uintptr_t known = 1, text = 1;
	for (;; list++) {
		if (page_of(list) != known && !readable(list, sizeof *list))
			return false;
		known = page_of(list);
		if (!*list)
			return true;
		if (!text_readable(*list, &text))
			return false;
	}
}
