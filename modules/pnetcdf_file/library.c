#include "library.h"

#include "config.h"
#include "fds.h"
#include "life.h"

enum { LIBRARIES = 4, INVALID = -36 }; /* NC_EINVAL */

/* Each is filled once, under the lock of `library`, and its extent last: that is atomic (resolve.c). */
static struct pnetcdf_library libraries[LIBRARIES];

PNETCDF_FUNCTIONS(RESOLVE_SYMBOL_NAME)

#define SYMBOL(type, symbol, parameters) RESOLVE_SYMBOL(struct pnetcdf_library, ncmpi_inq_get_size, symbol)
static const struct resolve_symbol symbols[] = {PNETCDF_FUNCTIONS(SYMBOL)};

static void learn(void *copy)
{
	struct pnetcdf_library *l = copy;
	l->files.size = sizeof(struct pnetcdf_open);
	l->variables.size = sizeof(struct pnetcdf_variable);
}

/* Only its lock changes. */
static struct resolve_library library = RESOLVE_LIBRARY(libraries, symbols, learn);

/* ---- calls ---- */

static struct pnetcdf_span begun(const void *function)
{
	struct pnetcdf_span s = {resolve_library_of(&library, function), 0};
	if (s.library)
		s.start = clock_now();
	return s;
}

struct pnetcdf_span pnetcdf_span(int module, const void *function)
{
	return self_ready() && config_module_on(module) ? begun(function) : (struct pnetcdf_span){NULL, 0};
}

struct pnetcdf_span pnetcdf_span_open(const void *function)
{
	bool on = config_module_on(LOG_MOD_PNETCDF_FILE) || config_module_on(LOG_MOD_PNETCDF_VAR);
	return self_ready() && on ? begun(function) : (struct pnetcdf_span){NULL, 0};
}

long pnetcdf_refuse(void)
{
	return INVALID;
}

/* ---- what is open ---- */

/* Numbers begin with 0, which is no handle. */
static uintptr_t file_key(int file)
{
	return (uintptr_t)(uint32_t)file + 1;
}

static uintptr_t variable_key(int file, int number)
{
	return (uintptr_t)(uint32_t)file << 32 | ((uint32_t)number + 1);
}

struct pnetcdf_open *pnetcdf_find(const struct pnetcdf_library *l, int file)
{
	return handles_find(&l->files, file_key(file));
}

struct pnetcdf_variable *pnetcdf_find_variable(const struct pnetcdf_library *l, int file, int number)
{
	return handles_find(&l->variables, variable_key(file, number));
}

void pnetcdf_forget(struct pnetcdf_library *l, int file)
{
	struct pnetcdf_open *open = handles_remove(&l->files, file_key(file));
	if (!open)
		return;
	struct pnetcdf_variable *next, *v = __atomic_exchange_n(&open->variables, NULL, __ATOMIC_ACQ_REL);
	for (; v; v = next) {
		next = v->next;
		handles_remove(&l->variables, variable_key(file, v->number));
		handles_release(&l->variables, v);
	}
	handles_release(&l->files, open);
}

struct pnetcdf_open *pnetcdf_keep(struct pnetcdf_library *l, int file, void *of_module)
{
	struct pnetcdf_open open = {.file = of_module};
	pnetcdf_forget(l, file);
	return handles_add(&l->files, file_key(file), &open);
}

struct pnetcdf_variable *pnetcdf_keep_variable(struct pnetcdf_library *l, int file, const struct pnetcdf_variable *v)
{
	struct pnetcdf_open *open = pnetcdf_find(l, file);
	open = open ? open : pnetcdf_keep(l, file, NULL);
	struct pnetcdf_variable *kept = open ? handles_add(&l->variables, variable_key(file, v->number), v) : NULL;
	if (!kept)
		return NULL;
	kept->next = __atomic_load_n(&open->variables, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&open->variables, &kept->next, kept, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
	return kept;
}

/* ---- a forked child goes on without what its parent had open: no PnetCDF works there ---- */

static void forget_all(void)
{
	for (struct pnetcdf_library *l = libraries; l < libraries + LIBRARIES; l++) {
		handles_forget(&l->files);
		handles_forget(&l->variables);
	}
}

LIFE_MODULE(pnetcdf, .module = LOG_MOD_PNETCDF_FILE, .fork_restore = forget_all);
