"""PyDarshan's own plots, summaries and commands on our reader: what iolens has no equivalent for by the same name.

They come from its installation: `iolens.pydarshan.experimental.plots` is `darshan.experimental.plots`, loaded with a
package `darshan` that has our classes. PyDarshan's own reader and its C library are not loaded.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["ADOPTED", "Finder", "take_name"]

ADOPTED = ("cli", "examples", "experimental", "lib", "log_utils")
_OURS = ("report", "backend", "backend.cffi_backend", "datatypes", "datatypes.heatmap")
_HERE = "iolens.pydarshan"


# PyDarshan's experimental modules take these from `from darshan.report import *`.
_STARRED = {
    **{name: name for name in ("collections.abc", "copy", "datetime", "json", "logging", "re", "sys")},
    **{"np": "numpy", "pd": "pandas", "backend": f"{_HERE}.backend.cffi_backend"},
}


def _report(ours: ModuleType) -> ModuleType:
    """Our module of reports, with the names that PyDarshan's module has in addition to its classes."""
    module = ModuleType("darshan.report", ours.__doc__)
    module.__dict__.update({name: getattr(ours, name) for name in (*ours.__all__, "logger")})
    for name, source in _STARRED.items():
        setattr(
            module,
            name.partition(".")[0],
            importlib.import_module(source.partition(".")[0] if name == source else source),
        )
    return module


def take_name() -> None:
    """Makes `import darshan` find our classes, in this process, unless PyDarshan itself has been imported."""
    if "darshan" in sys.modules:
        return
    found = importlib.util.find_spec("darshan")
    if found is None:
        raise ModuleNotFoundError(
            "PyDarshan's plots and commands are part of PyDarshan, which is not installed: pip install darshan",
            name="darshan",
        )
    ours = importlib.import_module(_HERE)
    package = ModuleType("darshan", ours.__doc__)
    package.__spec__, package.__path__ = found, list(found.submodule_search_locations or ())
    package.__file__ = found.origin
    for name in (*ours.__all__, "__version__", "__darshanutil_version__", "logger"):
        setattr(package, name, getattr(ours, name))
    sys.modules["darshan"] = package
    for name in _OURS:
        module = importlib.import_module(f"{_HERE}.{name}")
        if name == "report":
            module = _report(module)
        sys.modules[f"darshan.{name}"] = module
        parent, _, last = f"darshan.{name}".rpartition(".")
        if parent == "darshan":
            setattr(package, last, module)


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module("darshan" + spec.name[len(_HERE) :])
        self._spec: Any = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the name's here


class Finder(importlib.abc.MetaPathFinder):
    """Finds iolens.pydarshan.experimental and its siblings in PyDarshan's installation."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parts = fullname.split(".")
        if parts[:2] != ["iolens", "pydarshan"] or len(parts) < 3 or parts[2] not in ADOPTED:
            return None
        take_name()
        there = importlib.util.find_spec("darshan" + fullname[len(_HERE) :])
        return ModuleSpec(fullname, _Loader(), is_package=True) if there else None
