"""Names for what a program does: its I/O is told apart by them in the log.

This file needs nothing but Python: it may be copied into a program. Where iolens does not run it does nothing.

    with phase("checkpoint"):
        save(model)

    @phase("load")
    def load(path): ...
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any

__all__ = ["begin", "end", "phase"]


def _nothing(name: bytes | None) -> None:
    """Where iolens does not run."""


@cache
def _functions() -> tuple[Callable[[bytes | None], Any], Callable[[bytes | None], Any]]:
    """Those of the library that is preloaded: begin and end."""
    import ctypes

    try:
        library = ctypes.PyDLL(None)
        functions = library.iolens_runtime_phase_begin, library.iolens_runtime_phase_end
    except (AttributeError, OSError, TypeError):
        return _nothing, _nothing
    for function in functions:
        function.argtypes = [ctypes.c_char_p]
        function.restype = None
    return functions


def begin(name: str) -> None:
    """A phase of the calling thread begins, in the one that it is in."""
    _functions()[0](name.encode("utf-8", "replace"))


def end(name: str | None = None) -> None:
    """It ends, with those within it; without a name the one that began last."""
    _functions()[1](None if name is None else name.encode("utf-8", "replace"))


class phase(ContextDecorator):
    """A phase as a context manager, or of each call of a function."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> phase:
        begin(self.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end(self.name)
