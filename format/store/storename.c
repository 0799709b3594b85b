#include "storename.h"

#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".store";

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The dot between host and process; NULL = this is no such name. The host may have dots: the two that count are the last. */
static const char *end_of_host(const char *name)
{
	size_t n = strlen(name), last = sizeof suffix - 1;
	if (n < last || strcmp(name + n - last, suffix) != 0)
		return NULL;
	const char *at = name + n - last;
	for (int dots = 0; at > name && dots < 2;)
		dots += *--at == '.';
	return at > name ? at : NULL;
}

int64_t storename_pid(const char *path)
{
	const char *host_end = end_of_host(name_in(path));
	long long pid = host_end ? strtoll(host_end + 1, NULL, 10) : 0;
	return pid > 0 && pid <= INT32_MAX ? pid : 0;
}

bool storename_is(const char *path)
{
	size_t n = strlen(path), last = sizeof suffix - 1;
	return n > last && strcmp(path + n - last, suffix) == 0;
}

bool storename_same_host(const char *path, const char *other)
{
	const char *a = name_in(path), *b = name_in(other), *end = end_of_host(a), *other_end = end_of_host(b);
	return end && other_end && end - a == other_end - b && memcmp(a, b, (size_t)(end - a)) == 0;
}
