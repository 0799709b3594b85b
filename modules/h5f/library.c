#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "config.h"
#include "fds.h"
#include "resolve.h"

enum { LIBRARIES = 8, LAST_MAJOR = 2 };

static struct h5_library libraries[LIBRARIES];
static struct lock lock;

struct symbol {
	const char *name;
	size_t at; /* in struct h5_library */
};

#define SYMBOL(type, symbol, parameters) {#symbol, offsetof(struct h5_library, symbol)},

static const struct symbol symbols[] = {H5_FUNCTIONS(SYMBOL)};

/* ---- finding a copy ---- */

static void find_functions(struct h5_library *l, void *object)
{
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *found = dlsym(object, symbols[i].name);
		memcpy((char *)l + symbols[i].at, &found, sizeof found);
		l->declined |= !found && symbols[i].at < offsetof(struct h5_library, H5Sis_regular_hyperslab);
	}
}

static void ask_version(struct h5_library *l)
{
	unsigned major = 0, minor = 0, release = 0;
	l->declined |= l->H5get_libversion(&major, &minor, &release) < 0;
	l->declined |= major < 1 || major > LAST_MAJOR || (major == 1 && minor < 8);
	l->narrow = major == 1 && minor < 10;
}

static void learn(struct h5_library *l, const struct resolve_object *object)
{
	find_functions(l, object->handle);
	if (!l->declined)
		ask_version(l);
	l->files.size = l->datasets.size = sizeof(struct h5_open);
	l->from = object->from;
	__atomic_store_n(&l->to, object->to, __ATOMIC_RELEASE);
}

static struct h5_library *known(uintptr_t at)
{
	for (struct h5_library *l = libraries; l < libraries + LIBRARIES; l++)
		if (__atomic_load_n(&l->to, __ATOMIC_ACQUIRE) > at && l->from <= at)
			return l;
	return NULL;
}

static struct h5_library *add(uintptr_t at)
{
	struct resolve_object object;
	if (!resolve_object_of((const void *)at, &object))
		return NULL;
	uint64_t before = self_work();
	bool locked = lock_take_deep(&lock);
	struct h5_library *l = known(at), *end = libraries + LIBRARIES;
	if (locked && !l) {
		for (l = libraries; l < end && l->to; l++)
			;
		l = l < end ? l : NULL;
		if (l)
			learn(l, &object);
	}
	if (locked)
		lock_drop_deep(&lock);
	self.gate = before;
	return l;
}

struct h5_library *h5_library_of(const void *function)
{
	struct h5_library *l = known((uintptr_t)function);
	if (!l) {
		int saved = errno;
		l = add((uintptr_t)function);
		errno = saved;
	}
	return l && !l->declined ? l : NULL;
}

void h5_libraries_forget(void)
{
	for (struct h5_library *l = libraries; l < libraries + LIBRARIES; l++) {
		handles_forget(&l->files);
		handles_forget(&l->datasets);
	}
}

/* ---- calls ---- */

struct h5_span h5_span(int module, const void *function)
{
	struct h5_span s = {NULL, 0};
	if (!self_ready() || !config_module_on(module))
		return s;
	s.library = h5_library_of(function);
	if (s.library)
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
