#include "storename.h"

#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".store";

/* The host may have dots: the two that count are the last. */
int64_t storename_pid(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), last = sizeof suffix - 1;
	if (n < last || strcmp(name + n - last, suffix) != 0)
		return 0;
	const char *at = name + n - last;
	for (int dots = 0; at > name && dots < 2;)
		dots += *--at == '.';
	long long pid = at > name ? strtoll(at + 1, NULL, 10) : 0;
	return pid > 0 ? pid : 0;
}
