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

static object *in_phase(const char *name, object *original, object *arguments, object *keywords)
{
	uint64_t id = phase_range_begin(name, NULL);
	object *result = py.PyObject_Call(original, arguments, keywords);
	phase_range_end(id);
	return result;
}

static object *start(object *original, object *arguments, object *keywords)
{
	return in_phase("loader: start", original, arguments, keywords);
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
		       : in_phase("loader: fetch", original, arguments, keywords);
}

static const struct definition methods[] = {
	{"__iter__", start, TUPLE | KEYWORDS, NULL},
	{"__next__", next_batch, TUPLE | KEYWORDS, NULL},
	{"fetch", fetch, TUPLE | KEYWORDS, NULL},
};

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
 * Nothing of PyTorch is imported here: a finder that finds nothing itself waits for the one module, is gone once that is found, and has
 * it followed once the program has loaded it. Whatever goes wrong, PyTorch is as it was.
 */
static const char source[] =
	"import sys\n"
	"NAME = 'torch.utils.data.dataloader'\n"
	"def follow(module):\n"
	"    methods = [(module.DataLoader, 0), (module._BaseDataLoaderIter, 1)]\n"
	"    fetchers = sys.modules['torch.utils.data._utils.fetch']\n"
	"    methods += [(fetchers._MapDatasetFetcher, 2), (fetchers._IterableDatasetFetcher, 2)]\n"
	"    names = ('__iter__', '__next__', 'fetch')\n"
	"    made = [(kind, names[n], wrap(n, vars(kind)[names[n]])) for kind, n in methods]\n"
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
	"        if name != NAME or self not in sys.meta_path:\n"
	"            return None\n"
	"        sys.meta_path.remove(self)\n"
	"        for finder in list(sys.meta_path):\n"
	"            find = getattr(finder, 'find_spec', None)\n"
	"            spec = find(name, path, target) if find else None\n"
	"            if spec is not None:\n"
	"                follow_when_loaded(spec.loader)\n"
	"                return spec\n"
	"        return None\n"
	"if NAME in sys.modules:\n"
	"    follow(sys.modules[NAME])\n"
	"else:\n"
	"    sys.meta_path.insert(0, Finder())\n";

static void drop(object *o)
{
	if (o)
		py.Py_DecRef(o);
}

/* Called by the interpreter between two of its steps, in the main thread. -1: an exception that is not ours, such as an interrupt. */
static int install(void *nothing)
{
	static const struct definition definition = {"wrap", wrap, TUPLE | KEYWORDS, NULL};
	object *globals = py.PyDict_New(), *function = py.PyCFunction_NewEx(&definition, NULL, NULL);
	object *code = py.Py_CompileString(source, "<iolens>", FILE_INPUT), *result = NULL;
	(void)nothing;
	if (globals && function && code && py.PyDict_SetItemString(globals, "wrap", function) == 0 &&
	    py.PyDict_SetItemString(globals, "__builtins__", py.PyEval_GetBuiltins()) == 0)
		result = py.PyEval_EvalCode(code, globals, globals);
	bool failed = !result, ours = failed && py.PyErr_ExceptionMatches(*py.PyExc_Exception);
	if (ours)
		py.PyErr_Clear();
	drop(result);
	drop(code);
	drop(function);
	drop(globals);
	return failed && !ours ? -1 : 0;
}

/* ---- PyTorch comes ---- */

/* torch/__init__.py or its byte code, wherever that is kept. */
static bool is_torch(const struct path *p)
{
	static const char package[] = "/torch", cache[] = "/__pycache__", file[] = "/__init__.";
	const char *slash = strrchr(p->text, '/');
	if (!slash || strncmp(slash, file, sizeof file - 1) != 0)
		return false;
	size_t n = (size_t)(slash - p->text), cached = sizeof cache - 1;
	if (n > cached && !memcmp(slash - cached, cache, cached))
		n -= cached;
	return n >= sizeof package - 1 && !memcmp(p->text + n - (sizeof package - 1), package, sizeof package - 1);
}

/* Python calls `install` at the next of its steps: the import has only begun. */
void loader_begin(const struct path *p)
{
	static bool asked; /* atomic: any thread may import */
	if (!is_torch(p) || __atomic_load_n(&asked, __ATOMIC_RELAXED) ||
	    (config.ranges && strcmp(config.ranges, "off") == 0))
		return;
	int saved = errno;
	if (find_python() && py.Py_IsInitialized() && !__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED))
		py.Py_AddPendingCall(install, NULL);
	errno = saved;
}
