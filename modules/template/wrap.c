/* The functions of the made-up library. It may come late, by dlopen, or never. */
#include <errno.h>
#include <stddef.h>

#include "record.h"
#include "wrap.h"

static long refuse(void)
{
	errno = ENOSYS;
	return -1;
}

WRAP_LATE(long, template_put, NULL, refuse, const char *name, const void *data, size_t n)
{
	struct span s = span_path();
	long put = NEXT(template_put)(name, data, n);
	template_on_access(s, IO_WRITE, name, put);
	return put;
}

WRAP_LATE(long, template_get, NULL, refuse, const char *name, void *data, size_t n)
{
	struct span s = span_path();
	long got = NEXT(template_get)(name, data, n);
	template_on_access(s, IO_READ, name, got);
	return got;
}

WRAP_LATE(int, template_sync, NULL, refuse, const char *name)
{
	struct span s = span_path();
	int result = NEXT(template_sync)(name);
	template_on_sync(s, name, result);
	return result;
}
