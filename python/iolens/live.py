"""What the running process has read and written so far, file by file: its own records, as they are in its store.

Needs no package, and leaves no record itself.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from iolens.error import USAGE, IolensError
from iolens.log import open as open_log
from iolens.log.modules import KNOWN

__all__ = ["ROLES", "Snapshot", "is_observed", "snapshot", "store_path"]

ROLES = ("opens", "reads", "writes", "bytes_read", "bytes_written", "meta_ops", "syncs")
"""What is counted of a file, as roles of counters: meta_ops are seeks, stats and renames."""

_ROLES = (*ROLES, "copies")

Counts = dict[tuple[str, int], tuple[int, ...]]
"""(module, id of the file) -> a number per role. Modules are those of libc: nothing is counted twice."""


class Snapshot:
    """A moment; the difference of two is what was done between them."""

    def __init__(self, store: _Store, done: Counts) -> None:
        """done: what was done since the snapshot before this one."""
        self._store = store
        self._done = done
        self._next: Snapshot | None = None

    def since(self, before: Snapshot) -> Counts:
        """What was done after another one: only of files of which anything was."""
        found: Counts = {}
        at: Snapshot | None = before
        while at is not self:
            at = at._next if at else None
            if at is None:
                raise ValueError("the other snapshot is not an earlier one of this process")
            for key, counts in at._done.items():
                found[key] = tuple(map(sum, zip(found.get(key, (0,) * len(ROLES)), counts)))
        return {key: counts for key, counts in found.items() if any(counts)}

    def name(self, id: int) -> str:
        return self._store.name(id) or f"<unnamed {id}>"


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


_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

_PART = 64

# Where the header of a store, a log of version 3.41, says where names and the records of each module are.
_HEADER, _NAMES_AT, _MODULES_AT = 1328, 32, 48
_PLACE = struct.Struct("=2Q")


class _Module(NamedTuple):
    """A module of libc."""

    key: str
    number: int
    numbers: struct.Struct
    """A record: its id, rank and counters."""
    roles: list[list[int]]
    """Of each role the counters that are added up."""


def _modules(path: str) -> list[_Module]:
    log = open_log(path)
    found = []
    for module in KNOWN:
        if module.key and module.level == "libc":
            at = 0
            places: dict[str, list[int]] = {}
            for field in log[module.key].schema:
                places.setdefault(field.role, []).append(at)
                at += field.count
            numbers = struct.Struct(f"={at}q")
            found.append(_Module(module.key, module.id, numbers, [places.get(role, []) for role in _ROLES]))
    return found


def _counts(module: _Module, numbers: tuple[int, ...]) -> list[int]:
    opens, *others, copies = (sum(max(0, numbers[at]) for at in listed) for listed in module.roles)
    return [opens - copies, *others]


class _Store:
    """The store, mapped, and its records as they were at the last look."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._modules = _modules(path)
        self._seen = {module.key: bytearray() for module in self._modules}
        self._names: dict[int, str] = {}
        self._names_read = 0
        self._at = self._size = 0
        self._map()
        self._last = Snapshot(self, {})

    def _map(self) -> None:
        """Once, and again if the store has grown."""
        if self._at:
            _libc.munmap(self._at, self._size)
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._size = os.fstat(file).st_size
            at = _libc.mmap(None, self._size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
        finally:
            os.close(file)
        if at == ctypes.c_void_p(-1).value:
            self._at = 0
            raise IolensError("cannot be mapped", self._path)
        self._at = at

    def _place(self, at: int) -> tuple[int, int]:
        """Address and length of what the header has the place of."""
        offset, length = _PLACE.unpack(ctypes.string_at(self._at + at, _PLACE.size))
        if offset + length > self._size:
            self._map()
        return self._at + offset, length

    def look(self) -> Snapshot:
        done: Counts = {}
        for module in self._modules:
            at, length = self._place(_MODULES_AT + _PLACE.size * module.number)
            self._compare(module, at, length // module.numbers.size, done)
        now = self._last._next = Snapshot(self, done)
        self._last = now
        return now

    def _compare(self, module: _Module, at: int, records: int, done: Counts) -> None:
        seen, size = self._seen[module.key], module.numbers.size
        nothing = bytes(size)
        old = len(seen) // size
        for record in (*_differing(seen, at, size), *range(old, records)):
            place = slice(record * size, (record + 1) * size)
            now, before = ctypes.string_at(at + place.start, size), bytes(seen[place]) or nothing
            numbers = module.numbers.unpack(now)
            pairs = zip(_counts(module, numbers), _counts(module, module.numbers.unpack(before)))
            done[module.key, numbers[0] % (1 << 64)] = tuple(b - a for b, a in pairs)
            seen[place] = now

    def name(self, id: int) -> str | None:
        """Names are only added: each is read once."""
        at, length = self._place(_NAMES_AT)
        if length > self._names_read:
            added = ctypes.string_at(at + self._names_read, length - self._names_read)
            place = 0
            while (end := added.find(b"\0", place + 8)) >= 0:
                known = int.from_bytes(added[place : place + 8], sys.byteorder)
                self._names.setdefault(known, added[place + 8 : end].decode("utf-8", "surrogateescape"))
                place = end + 1
            self._names_read += place
        return self._names.get(id)


def _differing(seen: bytearray, at: int, size: int) -> list[int]:
    """Which records are not at an address as they were seen: by parts and their halves, since few are not."""
    if not seen:
        return []
    kept = (ctypes.c_char * len(seen)).from_buffer(seen)
    base, records = ctypes.addressof(kept), len(seen) // size
    found: list[int] = []
    waiting = [(first, min(first + _PART, records)) for first in range(0, records, _PART)]
    while waiting:
        first, end = waiting.pop()
        if _libc.memcmp(at + first * size, base + first * size, (end - first) * size):
            if end - first == 1:
                found.append(first)
            else:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
    return found


@cache
def _store(path: str) -> _Store:
    return _Store(path)


def snapshot() -> Snapshot:
    """This moment. Raises IolensError if the process is not observed."""
    path = store_path()
    if path is None:
        raise IolensError("this process is not observed: start it by iolens run", exit_code=USAGE)
    return _store(path).look()
