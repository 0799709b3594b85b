"""A Python program in which each construct of the language opens a file, and writes down where it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

# At each open an audit hook writes down the frames that the interpreter has.
HOOK = """
import atexit, json, os, sys

FLAGS = os.O_CREAT | os.O_RDWR
frames_of = {}

def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith("f_"):
        frames, frame = [], sys._getframe(1)
        while frame:
            code = frame.f_code
            frames.append([code.co_filename, frame.f_lineno, code.co_name])
            frame = frame.f_back
        frames_of.setdefault(arguments[0], frames)

def dump():
    with open("expected.%d.json" % os.getpid(), "w") as file:
        json.dump(frames_of, file)

sys.addaudithook(hook)
"""

READ = ((3, 8), (3, 13))
"""The first and the last version whose lines are read."""


@cache
def interpreters() -> dict[tuple[int, ...], str]:
    """The first CPython of each version: in PATH, and among those that pyenv installed."""
    own = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = [shutil.which(f"python3.{minor}") for minor in range(6, 16)]
    found: dict[tuple[int, ...], str] = {}
    for path in (sys.executable, *named, *sorted(own.glob("versions/*/bin/python3"))):
        code = "import sys; print(sys.version_info[0], sys.version_info[1], sys.implementation.name, sys.executable)"
        done = path and subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        words = done.stdout.split() if done and done.returncode == 0 else []
        if len(words) == 4 and words[2] == "cpython":
            found.setdefault((int(words[0]), int(words[1])), words[3])
    return found


def names(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


KNOWN = [version for version in sorted(interpreters()) if READ[0] <= version <= READ[1]]

CONSTRUCTS = (
    HOOK
    + r"""
import asyncio, concurrent.futures, contextlib, ctypes, dataclasses, functools, gzip, importlib, io, multiprocessing
import pathlib, runpy, shutil, signal, tempfile, threading, weakref

def worker(name):
    os.open(name, FLAGS)
    dump()
    return 0

def function(): os.open("f_function", FLAGS)
def generator():
    yield os.open("f_generator", FLAGS)
def delegating():
    yield from delegated()
def delegated():
    yield os.open("f_yield_from", FLAGS)
def sent():
    name = yield
    os.open(name, FLAGS)
    yield

async def awaited():
    await asyncio.sleep(0)
    os.open("f_async", FLAGS)
async def asynchronous_generator():
    yield os.open("f_async_generator", FLAGS)
class AsynchronousContext:
    async def __aenter__(self): os.open("f_async_enter", FLAGS)
    async def __aexit__(self, *e): os.open("f_async_exit", FLAGS)
async def coroutine():
    await asyncio.gather(awaited(), awaited())
    async for _ in asynchronous_generator():
        pass
    async with AsynchronousContext():
        pass
    await asyncio.get_running_loop().run_in_executor(None, os.open, "f_executor", FLAGS)

def decorator(f):
    @functools.wraps(f)
    def wrapper(*a):
        os.open("f_wrapper", FLAGS)
        return f(*a)
    return wrapper
@decorator
def decorated(): os.open("f_decorated", FLAGS)
@functools.lru_cache()
def remembered(): os.open("f_lru_cache", FLAGS)

class Context:
    def __enter__(self): os.open("f_enter", FLAGS)
    def __exit__(self, *e): os.open("f_exit", FLAGS)
@contextlib.contextmanager
def managed():
    os.open("f_managed_enter", FLAGS)
    yield
    os.open("f_managed_exit", FLAGS)

def recursive(n, name):
    if n:
        return recursive(n - 1, name)
    return os.open(name,
                   FLAGS)

class Meta(type):
    def __new__(cls, name, bases, space):
        os.open("f_metaclass", FLAGS)
        return super().__new__(cls, name, bases, space)
class Descriptor:
    def __set_name__(self, owner, name): os.open("f_set_name", FLAGS)
    def __get__(self, instance, owner): os.open("f_descriptor", FLAGS)
class Base:
    def __init_subclass__(cls): os.open("f_init_subclass", FLAGS)
class Many(Base, metaclass=Meta):
    os.open("f_class_body", FLAGS)
    described = Descriptor()
    def __init__(self): os.open("f_init", FLAGS)
    def __call__(self): os.open("f_call", FLAGS)
    def __getattr__(self, name): os.open("f_getattr", FLAGS)
    def __add__(self, other): os.open("f_add", FLAGS)
    def __format__(self, spec): return str(os.open("f_format", FLAGS))
    def __iter__(self): return self
    def __next__(self):
        os.open("f_next", FLAGS)
        raise StopIteration
    def __del__(self): os.open("f_del", FLAGS)
    @property
    def value(self): os.open("f_property", FLAGS)
    @classmethod
    def of_class(cls): os.open("f_classmethod", FLAGS)
    @staticmethod
    def static(): os.open("f_staticmethod", FLAGS)

@dataclasses.dataclass
class Data:
    made: int = dataclasses.field(default_factory=lambda: os.open("f_default_factory", FLAGS))
    def __post_init__(self): os.open("f_post_init", FLAGS)

def far_away():






































    # A line number that is more than a byte away from the function's first.
"""
    + "\n" * 300
    + r"""
    os.open("f_far_away", FLAGS)

def many_lines():
    value = [
        1,
        os.open("f_in_a_list", FLAGS),
        2,
    ]
    other = (os.open("f_first_of_two", FLAGS) +
             os.open("f_second_of_two", FLAGS))
    return value, \
        os.open("f_continued", FLAGS)

def tracer(frame, event, argument): return tracer
def traced(): os.open("f_traced", FLAGS)
def profiled(): os.open("f_profiled", FLAGS)
def ünïcödé(): os.open("f_unicode", FLAGS)
def on_signal(number, frame): os.open("f_signal", FLAGS)
def compare(a, b):
    os.open("f_c_callback", FLAGS)
    return 0
def of_weak(reference): os.open("f_weakref", FLAGS)
class Referred: pass

def errors():
    try:
        raise KeyError
    except KeyError:
        os.open("f_except", FLAGS)
    finally:
        os.open("f_finally", FLAGS)
    with contextlib.suppress(KeyError):
        try:
            pass
        finally:
            os.open("f_else", FLAGS)

def main():
    function()
    list(generator()); list(delegating())
    sending = sent(); next(sending); sending.send("f_send")
    asyncio.run(coroutine())
    decorated(); remembered()
    with Context(), managed(): pass
    with contextlib.ExitStack() as stack: stack.callback(os.open, "f_exit_stack", FLAGS)
    recursive(3, "f_recursive"); recursive(200, "f_deeper")
    many = Many(); many(); many.anything; many + 1; f"{many}"; list(many); many.value; many.of_class(); many.static()
    many.described
    del many
    Data(); far_away(); many_lines(); errors(); ünïcödé()
    [os.open("f_list_comprehension", FLAGS) for _ in range(1)]
    {os.open("f_set_comprehension", FLAGS) for _ in range(1)}
    {1: os.open("f_dict_comprehension", FLAGS) for _ in range(1)}
    any(os.open("f_generator_expression", FLAGS) for _ in range(1))
    (lambda: (lambda: os.open("f_lambda", FLAGS))())()
    exec("\n\nos.open('f_exec', FLAGS)")
    eval("os.open('f_eval', FLAGS)")
    exec(compile("\n" * 70000 + "os.open('f_compiled', FLAGS)", "elsewhere/made.py", "exec"), globals())
    sorted([2, 1], key=lambda n: os.open("f_key", FLAGS))
    list(map(lambda n: os.open("f_map", FLAGS), [1]))
    functools.partial(os.open, "f_partial")(FLAGS)
    functools.reduce(lambda a, b: os.open("f_reduce", FLAGS), [1, 2])
    sys.settrace(tracer); traced(); sys.settrace(None)
    sys.setprofile(lambda *a: None); profiled(); sys.setprofile(None)
    signal.signal(signal.SIGUSR1, on_signal); os.kill(os.getpid(), signal.SIGUSR1)
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(1, 2), 2, 4, callback)
    referred = Referred(); reference = weakref.ref(referred, of_weak); del referred
    open("f_open", "w").close(); io.open("f_io_open", "w").close()
    pathlib.Path("f_pathlib").write_text("x")
    shutil.copyfile("f_pathlib", "f_shutil")
    gzip.open("f_gzip", "w").close()
    thread = threading.Thread(target=lambda: os.open("f_thread", FLAGS)); thread.start(); thread.join()
    with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(lambda: os.open("f_pool", FLAGS)).result()
    for name, text in (("imported", "f_imported"), ("run", "f_run")):
        pathlib.Path(name + ".py").write_text("import os\n\nos.open(%r, os.O_CREAT)\n" % text)
    sys.path.insert(0, os.getcwd())
    import imported
    runpy.run_path("run.py")
    threading.stack_size(128 << 20)
    sys.setrecursionlimit(30000)
    deep = threading.Thread(target=recursive, args=(10000, "f_deep")); deep.start(); deep.join()
    child = os.fork()
    if not child:
        frames_of.clear()
        os.open("f_forked", FLAGS)
        dump()
        os._exit(0)
    os.waitpid(child, 0)
    for way in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(way).Process(target=worker, args=("f_" + way,))
        process.start(); process.join()
    atexit.register(dump)
    atexit.register(lambda: os.open("f_atexit", FLAGS))

if __name__ == "__main__":
    main()
"""
)
