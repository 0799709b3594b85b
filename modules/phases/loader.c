#include "loader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "config.h"
#include "life.h"
#include "record.h"
#include "resolve.h"

/* ---- CPython, as far as its stable interface goes ---- */

typedef struct _object object;

#define FUNCTIONS(X)                                                       \
	X(int, Py_IsInitialized, (void))                                   \
	X(int, Py_AddPendingCall, (int (*)(void *), void *))               \
	X(void, Py_DecRef, (object *))                                     \
	X(object *, PyDict_New, (void))                                    \
	X(int, PyDict_SetItemString, (object *, const char *, object *))   \
	X(object *, PyTuple_GetItem, (object *, ssize_t))                  \
	X(object *, PyObject_GetAttrString, (object *, const char *))      \
	X(object *, PyObject_Call, (object *, object *, object *))         \
	X(long, PyLong_AsLong, (object *))                                 \
	X(object *, PyCFunction_NewEx, (const void *, object *, object *)) \
	X(object *, PyInstanceMethod_New, (object *))                      \
	X(object *, Py_CompileString, (const char *, const char *, int))   \
	X(object *, PyEval_EvalCode, (object *, object *, object *))       \
	X(object *, PyEval_GetBuiltins, (void))                            \
	X(int, PyErr_ExceptionMatches, (object *))                         \
	X(void, PyErr_Clear, (void))

/* What it points to are pointers to classes. */
#define CLASSES(X) X(PyExc_Exception) X(PyExc_StopIteration)

/* Set before `asked`, by each thread to the same addresses; read under Python's lock. */
static struct {
	FUNCTIONS(RESOLVE_POINTER)
#define POINTER(symbol) object **symbol;
	CLASSES(POINTER)
} py;

static bool find_python(void)
{
	bool all = true;
#define FIND(type, symbol, parameters)                          \
	py.symbol = (type(*) parameters)resolve_began(#symbol); \
	all = all && py.symbol;
#define FIND_CLASS(symbol)                             \
	py.symbol = (object **)resolve_began(#symbol); \
	all = all && py.symbol;
	FUNCTIONS(FIND)
	CLASSES(FIND_CLASS)
	return all;
}

/* As CPython has it. */
struct definition {
	const char *name;
	object *(*call)(object *own, object *arguments, object *keywords);
	int flags;
	const char *doc;
};

enum { TUPLE = 1, KEYWORDS = 2, FILE_INPUT = 257 };

/* ---- methods in place of the loader's own ----
 *
 * They are written in C, so that the program's tracebacks and profiles have no line of ours, and call the original, which is
 * their own object.
 */

static int waiting; /* how many calls of the process are in next_batch; under Python's lock */

static void forget(void)
{
	waiting = 0;
}

LIFE_MODULE(loaders, .fork_restore = forget);

/* A loader counts the batches that it has given in this epoch. */
static bool is_first(object *arguments)
{
	object *iterator = py.PyTuple_GetItem(arguments, 0);
	object *given = iterator ? py.PyObject_GetAttrString(iterator, "_num_yielded") : NULL;
	long n = given ? py.PyLong_AsLong(given) : -1;
	if (n < 0)
		py.PyErr_Clear();
	if (given)
		py.Py_DecRef(given);
	return n == 0;
}

static object *in_range(uint64_t id, object *original, object *arguments, object *keywords)
{
	object *result = py.PyObject_Call(original, arguments, keywords);
	phase_range_end(id);
	return result;
}

static object *start(object *original, object *arguments, object *keywords)
{
	return in_range(phase_range_begin("loader: start", NULL), original, arguments, keywords);
}

static object *next_batch(object *original, object *arguments, object *keywords)
{
	uint64_t id = phase_range_begin(is_first(arguments) ? "loader: first batch" : "loader: next batch", NULL);
	waiting++;
	object *result = py.PyObject_Call(original, arguments, keywords);
	waiting--;
	if (!result && py.PyErr_ExceptionMatches(*py.PyExc_StopIteration))
		phase_range_end_as(id, "loader: end");
	else
		phase_range_end(id);
	return result;
}

/* Without workers it is a part of the wait. */
static object *fetch(object *original, object *arguments, object *keywords)
{
	return waiting ? py.PyObject_Call(original, arguments, keywords)
		       : in_range(phase_range_begin("loader: fetch", NULL), original, arguments, keywords);
}

static object *in_zarr(object *original, object *arguments, object *keywords)
{
	return in_range(phase_range_begin_library("loader: in Zarr"), original, arguments, keywords);
}

static object *in_parquet(object *original, object *arguments, object *keywords)
{
	return in_range(phase_range_begin_library("loader: in Parquet"), original, arguments, keywords);
}

/* Of PyTorch's loader, its fetchers, Zarr's arrays, PyArrow's Parquet files. */
#define METHODS(X)                             \
	X("__iter__", start)                   \
	X("__next__", next_batch)              \
	X("fetch", fetch)                      \
	X("__getitem__", in_zarr)              \
	X("get_basic_selection", in_zarr)      \
	X("get_orthogonal_selection", in_zarr) \
	X("get_coordinate_selection", in_zarr) \
	X("get_mask_selection", in_zarr)       \
	X("get_block_selection", in_zarr)      \
	X("read", in_parquet)                  \
	X("read_row_group", in_parquet)        \
	X("read_row_groups", in_parquet)

static const struct definition methods[] = {
#define DEFINITION(name, call) {name, call, TUPLE | KEYWORDS, NULL},
	METHODS(DEFINITION)};

/* wrap(number of the method, original) */
static object *wrap(object *own, object *arguments, object *keywords)
{
	object *number = py.PyTuple_GetItem(arguments, 0), *original = py.PyTuple_GetItem(arguments, 1);
	(void)own;
	(void)keywords;
	if (!number || !original)
		return NULL;
	object *function = py.PyCFunction_NewEx(&methods[py.PyLong_AsLong(number)], original, NULL);
	object *method = function ? py.PyInstanceMethod_New(function) : NULL;
	if (function)
		py.Py_DecRef(function);
	return method;
}

/*
 * Nothing is imported here: a finder that finds nothing itself waits for the one module, is gone once that is found, and has it
 * followed once the program has loaded it. Whatever goes wrong, the module is as it was.
 */
static const char follow[] =
	"import sys\n"
	"def follow(module):\n"
	"    made = [(kind, names[n], wrap(n, vars(kind)[names[n]])) for kind, n in methods(module)]\n"
	"    for kind, name, method in made:\n"
	"        setattr(kind, name, method)\n"
	"def follow_when_loaded(loader):\n"
	"    load = loader.exec_module\n"
	"    def exec_module(module):\n"
	"        del loader.exec_module\n"
	"        load(module)\n"
	"        try:\n"
	"            follow(module)\n"
	"        except Exception:\n"
	"            pass\n"
	"    try:\n"
	"        loader.exec_module = exec_module\n"
	"    except Exception:\n"
	"        pass\n"
	"class Finder:\n"
	"    def find_spec(self, name, path=None, target=None):\n"
	"        if name not in NAMES or self not in sys.meta_path:\n"
	"            return None\n"
	"        for finder in [finder for finder in sys.meta_path if finder is not self]:\n"
	"            find = getattr(finder, 'find_spec', None)\n"
	"            spec = find(name, path, target) if find else None\n"
	"            if spec is not None:\n"
	"                if getattr(spec, 'submodule_search_locations', None) is None:\n"
	"                    sys.meta_path.remove(self)\n"
	"                    follow_when_loaded(spec.loader)\n"
	"                return spec\n"
	"        return None\n"
	"loaded = [sys.modules[name] for name in NAMES if name in sys.modules]\n"
	"if loaded:\n"
	"    follow(loaded[-1])\n"
	"else:\n"
	"    sys.meta_path.insert(0, Finder())\n";

#define QUOTED(name, call) "'" name "', "
static const char names[] = "names = (" METHODS(QUOTED) ")\n";

/* A package whose first file is looked for, and what of it is followed: a module, and methods by their numbers. */
static const struct followed {
	const char *package, *source;
} followed[] = {
	{"/torch", "NAMES = ('torch.utils.data.dataloader',)\n"
		   "def methods(module):\n"
		   "    fetchers = sys.modules['torch.utils.data._utils.fetch']\n"
		   "    return [(module.DataLoader, 0), (module._BaseDataLoaderIter, 1),\n"
		   "            (fetchers._MapDatasetFetcher, 2), (fetchers._IterableDatasetFetcher, 2)]\n"},
	/* Zarr 2 has a module zarr.core, Zarr 3 a package. */
	{"/zarr", "NAMES = ('zarr.core', 'zarr.core.array')\n"
		  "def methods(module):\n"
		  "    return [(module.Array, n) for n in range(3, 9) if names[n] in vars(module.Array)]\n"},
	{"/pyarrow/parquet", "NAMES = ('pyarrow.parquet.core',)\n"
			     "def methods(module):\n"
			     "    return [(kind, n) for kind in (module.ParquetFile, module.ParquetDataset)\n"
			     "            for n in range(9, 12) if names[n] in vars(kind)]\n"},
};

enum { FOLLOWED = sizeof followed / sizeof *followed };

static void drop(object *o)
{
	if (o)
		py.Py_DecRef(o);
}

static object *run(const char *text, object *globals)
{
	object *code = py.Py_CompileString(text, "<iolens>", FILE_INPUT);
	object *result = code ? py.PyEval_EvalCode(code, globals, globals) : NULL;
	drop(code);
	return result;
}

/* Called by the interpreter between two of its steps, in the main thread. -1: an exception that is not ours, such as an interrupt. */
static int install(void *which)
{
	static const struct definition definition = {"wrap", wrap, TUPLE | KEYWORDS, NULL};
	const struct followed *f = which;
	const char *const texts[] = {names, f->source, follow};
	object *globals = py.PyDict_New(), *function = py.PyCFunction_NewEx(&definition, NULL, NULL);
	bool done = globals && function && py.PyDict_SetItemString(globals, "wrap", function) == 0 &&
		    py.PyDict_SetItemString(globals, "__builtins__", py.PyEval_GetBuiltins()) == 0;
	for (size_t n = 0; done && n < sizeof texts / sizeof *texts; n++) {
		object *result = run(texts[n], globals);
		done = result;
		drop(result);
	}
	bool ours = !done && py.PyErr_ExceptionMatches(*py.PyExc_Exception);
	if (ours)
		py.PyErr_Clear();
	drop(function);
	drop(globals);
	return done || ours ? 0 : -1;
}

/* ---- a library comes ---- */

/* Its __init__.py or the byte code of that, wherever that is kept. */
static bool is_first_of(const struct path *p, const char *package)
{
	static const char cache[] = "/__pycache__", file[] = "/__init__.";
	const char *slash = strrchr(p->text, '/');
	if (!slash || strncmp(slash, file, sizeof file - 1) != 0)
		return false;
	size_t n = (size_t)(slash - p->text), cached = sizeof cache - 1, length = strlen(package);
	if (n > cached && !memcmp(slash - cached, cache, cached))
		n -= cached;
	return n >= length && !memcmp(p->text + n - length, package, length);
}

/* Python calls `install` at the next of its steps: the import has only begun. */
void loader_begin(const struct path *p)
{
	static bool asked[FOLLOWED]; /* atomic: any thread may import */
	size_t n = 0;
	while (n < FOLLOWED && !is_first_of(p, followed[n].package))
		n++;
	if (n == FOLLOWED || __atomic_load_n(&asked[n], __ATOMIC_RELAXED) ||
	    (config.ranges && strcmp(config.ranges, "off") == 0))
		return;
	int saved = errno;
	if (find_python() && py.Py_IsInitialized() && !__atomic_exchange_n(&asked[n], true, __ATOMIC_RELAXED))
		py.Py_AddPendingCall(install, (void *)&followed[n]);
	errno = saved;
}
