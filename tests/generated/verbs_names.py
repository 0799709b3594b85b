"""Operations on paths."""

# ruff: noqa: PLR0913, PLR0917 -- the arguments are the words of an operation
from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from .kernel import Description, Inode, Name, Thread, defined, need
from .model import Model, Result, verb
from .verbs_data import read_at_cursor


@verb
def open(m: Model, t: Thread, path: str, flags: int, mode: int) -> Result:
    return m.opened(t, m.kernel.open(t.place.folder, path, flags), flags, mode)


@verb
def creat(m: Model, t: Thread, path: str, mode: int) -> Result:
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    return m.opened(t, m.kernel.open(t.place.folder, path, flags), flags, mode)


@verb
def openat(m: Model, t: Thread, fd: int, path: str, flags: int, mode: int) -> Result:
    start = t.place.folder
    if not path.startswith("@"):
        defined(fd not in (0, 1, 2), "the standard streams")
        folder = t.table.get(fd)
        need(folder.inode.kind == "dir", errno.ENOTDIR)
        assert folder.name
        known = t.process.image.names.get(folder, folder.name.path())
        defined(known == folder.name.path(), "below a directory that was renamed")
        start = folder.name
    return m.opened(t, m.kernel.open(start, path, flags), flags, mode)


@verb
def openfd(m: Model, t: Thread, fd: int, flags: int, link: int) -> Result:
    """The file of a descriptor once more, by a link that leads to it."""
    defined(link == 2 or t.table is t.process.table, "descriptors of a thread's own")
    need(fd in t.table.at, errno.ENOENT)
    description, _ = m.record(t, fd)
    name = description.name
    defined(description.inode.kind == "file" and name and not name.gone(), "no file of this name")
    assert name and name.folder
    defined(t.process.image.names[description] == name.path(), "the file was renamed")
    return m.opened(t, m.kernel.open(name.folder, name.text, flags), flags, 0)


def _stat(m: Model, t: Thread, path: str) -> int:
    name = m.kernel.find(t.place.folder, path)
    if name.inode.kind != "file":
        return 0
    t.process.image.posix_of(name.path()).counts["STATS"] += 1
    return len(name.inode.data)


@verb
def stat(m: Model, t: Thread, path: str) -> Result:
    return _stat(m, t, path)


@verb
def lstat(m: Model, t: Thread, path: str) -> Result:
    return _stat(m, t, path)


@verb
def truncate(m: Model, t: Thread, path: str, size: int) -> Result:
    name = m.kernel.find(t.place.folder, path)
    need(name.inode.kind != "dir", errno.EISDIR)
    m.kernel.resize(name.inode, size)
    return 0


def _count_rename(t: Thread, source: str, target: str) -> None:
    """Only a source with a record counts."""
    image = t.process.image
    if source not in image.posix or not image.posix[source].used():
        defined(source not in image.names.values() and source not in image.posix, "is there a record?")
        return
    image.posix[source].counts["RENAME_SOURCES"] += 1
    record = image.posix_of(target)
    record.counts["RENAME_TARGETS"] += 1
    record.renamed_from = record.renamed_from or source


@verb
def rename(m: Model, t: Thread, source: str, target: str) -> Result:
    _, old_last, old = m.kernel.walk(t.place.folder, source)
    folder, new_last, new = m.kernel.walk(t.place.folder, target)
    defined("." not in (old_last, new_last), "a directory by its dot")
    need(old, errno.ENOENT)
    assert old and old.folder
    defined(new is None or new.inode is not old.inode, "onto itself")
    need(not old.above(folder), errno.EINVAL)
    if new:
        need(not new.above(old.folder), errno.ENOTEMPTY)
        need(old.inode.kind != "dir" or new.inode.kind == "dir", errno.ENOTDIR)
        need(new.inode.kind != "dir" or old.inode.kind == "dir", errno.EISDIR)
        need(not new.inode.entries, errno.ENOTEMPTY)
        new.removed = True
    _count_rename(t, old.path(), f"{folder.path()}/{new_last}")
    for process in m.kernel.living():
        below = any(old.above(thread.place.folder) for thread in process.threads.values())
        absolute = source.startswith("@") and target.startswith("@")
        if below and not (absolute and process is t.process):
            process.image.marks.add("working directory renamed")
    del old.folder.inode.entries[old.text]
    old.folder, old.text = folder, new_last
    folder.inode.entries[new_last] = old
    return 0


@verb
def link(m: Model, t: Thread, source: str, target: str) -> Result:
    old = m.kernel.find(t.place.folder, source)
    folder, last, new = m.kernel.walk(t.place.folder, target)
    need(new is None, errno.EEXIST)
    need(old.inode.kind != "dir", errno.EPERM)
    folder.inode.entries[last] = Name(folder, last, old.inode)
    return 0


def _remove(m: Model, t: Thread, path: str, kind: str, code: int) -> int:
    _, last, name = m.kernel.walk(t.place.folder, path)
    defined(last != ".", "a directory by its dot")
    need(name, errno.ENOENT)
    assert name and name.folder
    need(name.inode.kind == kind, code)
    need(not name.inode.entries, errno.ENOTEMPTY)
    name.removed = True
    del name.folder.inode.entries[last]
    return 0


@verb
def unlink(m: Model, t: Thread, path: str) -> Result:
    return _remove(m, t, path, "file", errno.EISDIR)


@verb
def rmdir(m: Model, t: Thread, path: str) -> Result:
    return _remove(m, t, path, "dir", errno.ENOTDIR)


@verb
def mkdir(m: Model, t: Thread, path: str) -> Result:
    folder, last, name = m.kernel.walk(t.place.folder, path)
    need(name is None, errno.EEXIST)
    folder.inode.entries[last] = Name(folder, last, Inode("dir"))
    return 0


@verb
def chdir(m: Model, t: Thread, path: str, how: int = 0) -> Result:
    name = m.kernel.find(t.place.folder, path)
    need(name.inode.kind == "dir", errno.ENOTDIR)
    t.place.folder = name
    return 0


@verb
def fchdir(m: Model, t: Thread, fd: int) -> Result:
    defined(fd not in (0, 1, 2), "the standard streams")
    folder: Description = t.table.get(fd)
    need(folder.inode.kind == "dir", errno.ENOTDIR)
    assert folder.name
    t.place.folder = folder.name
    return 0


def _files(top: Name) -> Iterator[Name]:
    for name in top.inode.entries.values():
        if name.inode.kind == "file":
            yield name
        yield from _files(name)


@verb
def walk(m: Model, t: Thread, path: str) -> Result:
    top = m.kernel.find(t.place.folder, path)
    defined(top.inode.kind == "dir", "a walk of a file")
    read = 0
    for name in _files(top):
        assert name.folder
        fd = m.opened(t, m.kernel.open(name.folder, name.text, os.O_RDONLY), os.O_RDONLY, 0)
        length, _ = read_at_cursor(m, t, fd, 10)
        read += length
        m.drop(t, fd)
    return read
