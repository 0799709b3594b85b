"""
PyTorch's ranges (`record_function`) as phases.

Nothing of PyTorch is imported here: a finder that finds nothing itself waits for the one module that has them,
and two methods of its class are followed once the program has imported it. Whatever goes wrong, PyTorch is as it was.
"""

import sys
from functools import update_wrapper
from types import FunctionType

MODULE = "torch.autograd.profiler"
LOADER = (
    "enumerate(DataLoader)#"  # and the iterator's class: PyTorch's own range around each wait for a batch
)


class Finder:
    def __init__(self):
        self.came = False

    def find_spec(self, name, path=None, target=None):
        if name != MODULE or self.came:
            return None
        self.came = True
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                follow_when_loaded(spec.loader)
                return spec
        return None


def watch():
    if MODULE in sys.modules:
        follow(sys.modules[MODULE])
    else:
        sys.meta_path.insert(0, Finder())


def follow_when_loaded(loader):
    load = loader.exec_module

    def load_and_follow(module):
        load(module)
        try:
            del loader.exec_module
            follow(module)
        except Exception:
            pass

    try:
        loader.exec_module = load_and_follow
    except Exception:
        pass


def runtime():
    """Those of libiolens-ranges.so: begin, which returns an id, and end. AttributeError where it is not preloaded."""
    import ctypes

    library = ctypes.PyDLL(None)
    begin, end = library.iolens_ranges_begin, library.iolens_ranges_end
    begin.argtypes, begin.restype = [ctypes.c_char_p], ctypes.c_uint64
    end.argtypes, end.restype = [ctypes.c_uint64], None
    return begin, end


def phase_of(name):
    return b"DataLoader" if name.startswith(LOADER) else name.encode("utf-8", "replace")


def in_place_of(original, function):
    """TorchScript reads the source of the original, and looks names up in the globals of what stands in its place."""
    made = FunctionType(
        function.__code__, original.__globals__, original.__name__, None, function.__closure__
    )
    return update_wrapper(made, original)


def follow(module):
    begin, end = runtime()
    ranges, name_of = module.record_function, phase_of
    enter_range, leave_range = ranges.__enter__, ranges.__exit__

    def enter(self):
        entered = enter_range(self)
        try:
            self._iolens_range = begin(name_of(self.name))
        except Exception:
            pass
        return entered

    def leave(self, *error):
        try:
            end(self.__dict__.pop("_iolens_range", 0))
        except Exception:
            pass
        return leave_range(self, *error)

    ranges.__enter__, ranges.__exit__ = in_place_of(enter_range, enter), in_place_of(leave_range, leave)
