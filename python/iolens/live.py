"""What the running process has read and written so far, file by file: its own records, as they are in its store.

Needs no package, and leaves no record itself.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from iolens.error import USAGE, IolensError
from iolens.log import Log, Table
from iolens.log import open as open_log
from iolens.log.modules import KNOWN

__all__ = ["ROLES", "Snapshot", "is_observed", "snapshot", "store_path"]

ROLES = ("opens", "reads", "writes", "bytes_read", "bytes_written", "meta_ops", "syncs")
"""What is counted of a file, as roles of counters: meta_ops are seeks, stats and renames."""

_ROLES = (*ROLES, "copies")


@dataclass(frozen=True)
class Snapshot:
    """The records of a moment; the difference of two is what was done between them."""

    counts: dict[tuple[str, int], tuple[int, ...]]
    """(module, id of the file) -> a number per role. Modules are those of libc: nothing is counted twice."""
    log: Log = field(repr=False)

    def since(self, before: Snapshot) -> dict[tuple[str, int], tuple[int, ...]]:
        """What was done after another one: only of files of which anything was."""
        none = (0,) * len(ROLES)
        found = {
            key: tuple(b - a for a, b in zip(before.counts.get(key, none), now))
            for key, now in self.counts.items()
        }
        return {key: counts for key, counts in found.items() if any(counts)}

    def name(self, id: int) -> str:
        return self.log.names.get(id) or f"<unnamed {id}>"


@cache
def _store_of(pid: int) -> str | None:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:  # noqa: PTH123
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if path.endswith(".store") and f".{pid}." in Path(path).name:
                return f"/{path}"
    return None


def store_path() -> str | None:
    """The store of this process, which is a log at any moment; None if it is not observed."""
    return _store_of(os.getpid())


def is_observed() -> bool:
    """Is this process observed by iolens, so that a snapshot can be taken?"""
    return store_path() is not None


class _ArrowArray(ctypes.Structure):
    """Of the C data interface of Arrow."""


_ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _columns(table: Table) -> Iterator[list[list[int]]]:
    """Of each batch the columns, which are of 64 bits."""
    for batch in table.batches():
        _, capsule = batch.__arrow_c_array__()
        array = _ArrowArray.from_address(_pointer(capsule, b"arrow_array"))
        columns = []
        for number in range(array.n_children):
            child = array.children[number].contents
            values = (ctypes.c_uint64 if number == 0 else ctypes.c_int64) * (child.offset + child.length)
            columns.append(
                list(values.from_address(child.buffers[1])[child.offset :]) if child.length else []
            )
        yield columns


@cache
def _tables() -> dict[str, list[list[str]]]:
    """Modules of libc -> for each role the columns that are added up."""
    log = open_log(store_path() or "")
    return {
        module.key: [[f.name for f in log[module.key].schema if f.role == role] for role in _ROLES]
        for module in KNOWN
        if module.key and module.level == "libc"
    }


def snapshot() -> Snapshot:
    """The counts of this moment. Raises IolensError if the process is not observed."""
    path = store_path()
    if path is None:
        raise IolensError("this process is not observed: start it by iolens run", exit_code=USAGE)
    log = open_log(path)
    counts: dict[tuple[str, int], tuple[int, ...]] = {}
    for module, by_role in _tables().items():
        names = ["id", *(name for listed in by_role for name in listed)]
        table = log.table(module, columns=names)
        order = [table.schema.names.index(name) for name in names]
        assert order[0] == 0
        for columns in _columns(table):
            values = [columns[number] for number in order[1:]]
            for row, id in enumerate(columns[0]):
                each = iter(values)
                opens, *others, copies = (sum(max(0, next(each)[row]) for _ in listed) for listed in by_role)
                counts[module, id] = (opens - copies, *others)
    return Snapshot(counts, log)
