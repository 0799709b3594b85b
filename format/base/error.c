#include "error.h"

#include <errno.h>
#include <string.h>

static void join(char *out, size_t room, const char *const *parts)
{
	size_t used = 0;
	for (; *parts; parts++) {
		size_t n = strlen(*parts);
		n = n < room - 1 - used ? n : room - 1 - used;
		memcpy(out + used, *parts, n);
		used += n;
	}
	out[used] = 0;
	for (; *out; out++)
		*out = (unsigned char)*out < ' ' || *out == 127 ? '?' : *out; /* a name from the file, maybe */
}

int log_fail_parts(struct log_error *err, int code, uint64_t offset, const char *const *parts)
{
	if (!err)
		return code;
	err->code = code;
	err->system = 0;
	err->offset = offset;
	join(err->message, sizeof err->message, parts);
	return code;
}

int log_fail_system(struct log_error *err, const char *what)
{
	int system = errno;
	int code = log_fail(err, system == EEXIST ? LOG_E_EXISTS : LOG_E_IO, LOG_NOWHERE, what);
	if (err)
		err->system = system;
	return code;
}
