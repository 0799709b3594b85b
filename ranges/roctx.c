/*
 * ROCTX: its functions, which libroctx64 and librocprofiler-sdk-roctx have, both by the same names. They are called as they would be
 * without us.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "name.h"
#include "phase.h"

/* ---- the library's own functions ---- */

static int is_roctx(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	if (!slash || !strstr(slash, "roctx") || strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

/* In sight of all, else where an extension of Python has brought it for itself. A miss is not kept. */
static void *next(void **known, const char *name)
{
	char path[PATH_MAX];
	int saved = errno;
	void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);
	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found && dl_iterate_phdr(is_roctx, path)) {
		void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
		found = library ? dlsym(library, name) : NULL;
	}
	__atomic_store_n(known, found, __ATOMIC_RELEASE);
	errno = saved;
	return found;
}

/* ---- its ids of ranges, and ours ---- */

enum { OPEN = 64 };

enum { FREE, TAKEN, SET };

static struct {
	int state;
	uint64_t theirs, ours;
} open_ranges[OPEN];

static void remember(uint64_t theirs, uint64_t ours)
{
	for (int i = 0; i < OPEN; i++) {
		int state = FREE;
		if (!__atomic_compare_exchange_n(&open_ranges[i].state, &state, TAKEN, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		open_ranges[i].theirs = theirs;
		open_ranges[i].ours = ours;
		__atomic_store_n(&open_ranges[i].state, SET, __ATOMIC_RELEASE);
		return;
	}
	iolens_runtime_range_end(ours);
}

static uint64_t recall(uint64_t theirs)
{
	for (int i = 0; i < OPEN; i++) {
		if (__atomic_load_n(&open_ranges[i].state, __ATOMIC_ACQUIRE) != SET || open_ranges[i].theirs != theirs)
			continue;
		uint64_t ours = open_ranges[i].ours;
		__atomic_store_n(&open_ranges[i].state, FREE, __ATOMIC_RELEASE);
		return ours;
	}
	return 0;
}

/* ---- ranges ---- */

static const char pushed; /* its address: whose pushed ranges they are */

static uint64_t begin(const char *text, const void *of)
{
	char name[RANGE_NAME];
	if (!RANGES_SEEN)
		return 0;
	range_name(name, "", text);
	return iolens_runtime_range_begin(name, of);
}

RANGES_VISIBLE int roctxRangePushA(const char *text);
RANGES_VISIBLE int roctxRangePop(void);
RANGES_VISIBLE uint64_t roctxRangeStartA(const char *text);
RANGES_VISIBLE void roctxRangeStop(uint64_t id);

int roctxRangePushA(const char *text)
{
	static void *known;
	int (*theirs)(const char *) = (int (*)(const char *))next(&known, "roctxRangePushA");
	begin(text, &pushed);
	return theirs ? theirs(text) : -1;
}

int roctxRangePop(void)
{
	static void *known;
	int (*theirs)(void) = (int (*)(void))next(&known, "roctxRangePop");
	if (RANGES_SEEN)
		iolens_runtime_range_end_last(&pushed);
	return theirs ? theirs() : -1;
}

uint64_t roctxRangeStartA(const char *text)
{
	static void *known;
	uint64_t (*theirs)(const char *) = (uint64_t(*)(const char *))next(&known, "roctxRangeStartA");
	uint64_t id = theirs ? theirs(text) : 0, ours = begin(text, NULL);
	if (theirs && ours)
		remember(id, ours);
	return theirs ? id : ours;
}

void roctxRangeStop(uint64_t id)
{
	static void *known;
	void (*theirs)(uint64_t) = (void (*)(uint64_t))next(&known, "roctxRangeStop");
	if (RANGES_SEEN)
		iolens_runtime_range_end(theirs ? recall(id) : id);
	if (theirs)
		theirs(id);
}
