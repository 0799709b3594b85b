"""Files, names, descriptors and processes, as far as the programs use them."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


class Undefined(Exception):
    """No document says what happens, or the model leaves it out: such a program is not made."""


class Failed(Exception):
    """The call fails, with this errno."""

    def __init__(self, code: int) -> None:
        super().__init__(errno.errorcode[code])
        self.code = code


def defined(that: object, why: str) -> None:
    if not that:
        raise Undefined(why)


def need(that: object, code: int) -> None:
    if not that:
        raise Failed(code)


@dataclass(eq=False)
class Inode:
    """A file, a directory, a pipe or /dev/null."""

    kind: str
    data: bytearray = field(default_factory=bytearray)
    entries: dict[str, Name] = field(default_factory=dict)
    snapshots: set[Any] = field(default_factory=set)
    """Streams with a copy of the data in their buffer."""


@dataclass(eq=False)
class Name:
    """An entry of a directory; it stays when it is removed."""

    folder: Name | None
    text: str
    inode: Inode
    removed: bool = False

    def path(self) -> str:
        if self.folder is None:
            return self.text
        return posixpath.join(self.folder.path(), self.text)

    def gone(self) -> bool:
        return self.removed or (self.folder is not None and self.folder.gone())

    def above(self, other: Name) -> bool:
        """Whether the other is this or below this."""
        at: Name | None = other
        while at is not None and at is not self:
            at = at.folder
        return at is self


@dataclass(eq=False)
class Description:
    """An open file description."""

    inode: Inode
    name: Name | None
    readable: bool
    writable: bool
    append: bool = False
    offset: int | None = 0
    """None: a stream has moved it, nobody can say where to."""
    owner: Any = None
    """The stream that alone may use the cursor."""


@dataclass(eq=False)
class Table:
    """The descriptors of a process, and those that an exec closes."""

    at: dict[int, Description] = field(default_factory=dict)
    close_on_exec: set[int] = field(default_factory=set)

    def lowest(self, least: int = 0) -> int:
        return next(n for n in range(least, 100000) if n not in self.at)

    def copy(self) -> Table:
        return Table(dict(self.at), set(self.close_on_exec))

    def get(self, fd: int) -> Description:
        need(fd in self.at, errno.EBADF)
        return self.at[fd]


@dataclass(eq=False)
class Place:
    """The working directory: threads share it unless one has called unshare(CLONE_FS)."""

    folder: Name


@dataclass(eq=False)
class Thread:
    """Where a thread's calls go."""

    process: Process
    number: int
    table: Table
    place: Place


@dataclass(eq=False)
class Process:
    """A process; `image` is what the log says of its present program."""

    number: int
    parent: Process | None
    image: Any
    threads: dict[int, Thread] = field(default_factory=dict)
    streams: dict[int, Any] = field(default_factory=dict)
    children: set[int] = field(default_factory=set)
    ended: int | None = None
    namespaces: bool = False
    """Whether it has left the first user namespace."""
    first_in_namespace: bool = False
    children_in_namespace: int | None = None
    """How many children it has put into the namespace that it has made for them; None: it has made none."""

    @property
    def table(self) -> Table:
        return self.threads[0].table


def pieces(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


@dataclass(eq=False)
class Kernel:
    """All names below the directory in which the program begins (`home`), and all processes."""

    home: Name
    processes: dict[int, Process] = field(default_factory=dict)

    def living(self) -> Iterator[Process]:
        return (p for p in self.processes.values() if p.ended is None)

    def holders(self, description: Description) -> Iterator[tuple[Process, int]]:
        for process in self.living():
            for table in {id(t.table): t.table for t in process.threads.values()}.values():
                for fd, held in table.at.items():
                    if held is description:
                        yield process, fd

    def walk(self, start: Name, path: str) -> tuple[Name, str, Name | None]:
        """The directory, the last part of the path, and what is there."""
        at = self.home if path.startswith("@") else start
        parts = pieces(path.removeprefix("@"))
        defined(not at.gone(), "a directory that was removed")
        if not parts:
            defined(at.folder is not None or path in (".", "@"), "the directory above")
            return at, ".", at
        for part in parts[:-1]:
            at = self._step(at, part)
        need(at.inode.kind == "dir", errno.ENOTDIR)
        if parts[-1] == "..":
            up = self._step(at, "..")
            return up, ".", up
        return at, parts[-1], at.inode.entries.get(parts[-1])

    def _step(self, at: Name, part: str) -> Name:
        need(at.inode.kind == "dir", errno.ENOTDIR)
        if part == "..":
            defined(at.folder is not None, "above the first directory")
            assert at.folder is not None
            return at.folder
        need(part in at.inode.entries, errno.ENOENT)
        return at.inode.entries[part]

    def find(self, start: Name, path: str) -> Name:
        _, _, name = self.walk(start, path)
        need(name, errno.ENOENT)
        assert name is not None
        return name

    def open(self, start: Name, path: str, flags: int) -> Description:
        folder, last, name = self.walk(start, path)
        access = flags & os.O_ACCMODE
        writing = access != os.O_RDONLY
        defined(writing or not flags & (os.O_TRUNC | os.O_APPEND), "truncated without being writable")
        if name is None:
            need(flags & os.O_CREAT, errno.ENOENT)
            defined(not flags & os.O_DIRECTORY, "O_CREAT with O_DIRECTORY")
            name = folder.inode.entries[last] = Name(folder, last, Inode("file"))
        else:
            need(not (flags & os.O_CREAT and flags & os.O_EXCL), errno.EEXIST)
            if name.inode.kind == "dir":
                need(not writing and not flags & os.O_CREAT, errno.EISDIR)
            else:
                need(not flags & os.O_DIRECTORY, errno.ENOTDIR)
            if flags & os.O_TRUNC:
                self.change(name.inode, None)
                del name.inode.data[:]
        return Description(name.inode, name, access != os.O_WRONLY, writing, bool(flags & os.O_APPEND))

    def change(self, inode: Inode, by: Any) -> None:
        """Before data change: no stream but `by` may have some of it in its buffer."""
        defined(inode.snapshots <= {by}, "a stream's buffer holds what is overwritten")

    def write(self, inode: Inode, at: int, data: bytes, by: Any = None) -> None:
        self.change(inode, by)
        defined(at + len(data) <= 64 << 20, "large files")
        if data and len(inode.data) < at:
            inode.data.extend(bytes(at - len(inode.data)))
        inode.data[at : at + len(data)] = data

    def resize(self, inode: Inode, size: int) -> None:
        self.change(inode, None)
        defined(size <= 64 << 20, "large files")
        del inode.data[size:]
        inode.data.extend(bytes(size - len(inode.data)))
