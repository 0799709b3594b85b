"""What is asked of DuckDB and of processes now, so that a portal which stops can end it.

The interpreter must not end while a thread is in DuckDB: when it comes back for the interpreter's lock, that thread is
unwound through C++, and the process aborts.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Protocol

import duckdb

__all__ = ["Active"]


class Asked(Protocol):
    """A database, a cursor of one, or a process."""

    def interrupt(self) -> None: ...


class Active:
    """All databases and cursors of a portal that are open, and processes that make reports."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Asked] = weakref.WeakSet()

    def add(self, asked: Asked) -> None:
        with self._lock:
            self._open.add(asked)

    def end(self) -> None:
        """What runs now ends with duckdb.InterruptException; what is asked afterwards is not stopped by this."""
        with self._lock:
            for asked in list(self._open):
                with contextlib.suppress(duckdb.Error):  # it was closed
                    asked.interrupt()
