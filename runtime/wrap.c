#include "wrap.h"

#include <dlfcn.h>
#include <errno.h>

extern const struct wrap __start_iolens_wraps[], __stop_iolens_wraps[];

/* Stands in for a function that this system does not have; every caller expects an int or a long. */
static long missing(void)
{
	errno = ENOSYS;
	return -1;
}

void *wrap_resolve(const struct wrap *w)
{
	int saved = errno;
	void *real = dlsym(RTLD_NEXT, w->name);
	errno = saved;
	*w->real = real ? real : (void *)missing;
	return *w->real;
}

void wrap_resolve_all(void)
{
	for (const struct wrap *w = __start_iolens_wraps; w < __stop_iolens_wraps; w++)
		if (!*w->real)
			wrap_resolve(w);
}
