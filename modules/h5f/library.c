#include "library.h"

#include "config.h"
#include "fds.h"

enum { LIBRARIES = 8, LAST_MAJOR = 2 };

/* Each is filled once, under the lock of `library`, and its extent last: that is atomic (resolve.c). */
static struct h5_library libraries[LIBRARIES];

H5_FUNCTIONS(RESOLVE_SYMBOL_NAME)

#define SYMBOL(type, symbol, parameters) RESOLVE_SYMBOL(struct h5_library, H5Sis_regular_hyperslab, symbol)
static const struct resolve_symbol symbols[] = {H5_FUNCTIONS(SYMBOL)};

static void learn(void *copy)
{
	struct h5_library *l = copy;
	unsigned major = 0, minor = 0, release = 0;
	l->copied.declined = l->H5get_libversion(&major, &minor, &release) < 0 || major < 1 || major > LAST_MAJOR ||
			     (major == 1 && minor < 8);
	l->narrow = major == 1 && minor < 10;
	l->files.size = l->datasets.size = sizeof(struct h5_open);
}

/* Only its lock changes. */
static struct resolve_library library = RESOLVE_LIBRARY(libraries, symbols, learn);

void h5_libraries_forget(void)
{
	for (struct h5_library *l = libraries; l < libraries + LIBRARIES; l++) {
		handles_forget(&l->files);
		handles_forget(&l->datasets);
	}
}

/* ---- calls ---- */

static inline struct h5_library *library_of(int module, const void *function)
{
	return self_ready() && config_module_on(module) ? resolve_library_of(&library, function) : NULL;
}

struct h5_library *h5_library(int module, const void *function)
{
	return library_of(module, function);
}

struct h5_span h5_span(int module, const void *function)
{
	struct h5_span s = {library_of(module, function), 0};
	if (__builtin_expect(s.library != NULL, 1))
		s.start = clock_now();
	return s;
}

struct h5_quiet h5_quiet(struct h5_library *l)
{
	struct h5_quiet before = {NULL, NULL};
	l->H5Eget_auto2(0, &before.function, &before.data);
	l->H5Eset_auto2(0, NULL, NULL);
	return before;
}

void h5_loud(struct h5_library *l, struct h5_quiet before)
{
	l->H5Eset_auto2(0, before.function, before.data);
}

long h5_refuse(void)
{
	return -1;
}
