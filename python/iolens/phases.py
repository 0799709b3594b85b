"""Names for what a program does: its I/O is told apart by them in the log.

This file needs nothing but Python: it may be copied into a program. Where iolens does not run it does nothing.

    with phase("checkpoint"):
        save(model)

    @phase("load")
    def load(path): ...

    for batch in steps(loader):
        train(batch)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["begin", "end", "phase", "steps"]

_Batch = TypeVar("_Batch")

# The phases of a loop that waits for its data; within a worker of a loader, `loader: fetch`.
_START, _FIRST, _NEXT, _END = (f"loader: {kind}" for kind in ("start", "first batch", "next batch", "end"))


def _nothing(name: bytes | None) -> None:
    """Where iolens does not run."""


@cache
def _functions() -> tuple[Callable[[bytes | None], Any], ...]:
    """Those of the library that is preloaded: begin, end, and end as another one."""
    import ctypes

    try:
        library = ctypes.PyDLL(None)
        functions = tuple(
            getattr(library, f"iolens_runtime_phase_{name}") for name in ("begin", "end", "end_as")
        )
    except (AttributeError, OSError, TypeError):
        return _nothing, _nothing, _nothing
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


def steps(loader: Iterable[_Batch]) -> Iterator[_Batch]:
    """The batches of a loader, for a training loop: how long the loop waits for each is measured.

    Not needed for PyTorch's DataLoader. Workers of your own loader do their work within ``phase("loader: fetch")``.
    """
    begin(_START)
    try:
        batches = iter(loader)
    finally:
        end(_START)
    name = _FIRST
    while True:
        begin(name)
        try:
            batch = next(batches)
        except StopIteration:
            _functions()[2](_END.encode())
            return
        except BaseException:
            end(name)
            raise
        end(name)
        name = _NEXT
        yield batch
