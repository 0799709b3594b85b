"""Operations on descriptors and on what is behind them."""

# ruff: noqa: PLR0913, PLR0917 -- the arguments are the words of an operation
from __future__ import annotations

import errno
import os

from .kernel import Description, Inode, Thread, defined, need
from .model import Model, Result, file_of, verb
from .operations import data
from .records import Posix


@verb
def close(m: Model, t: Thread, fd: int, how: int = 0) -> Result:
    t.table.get(fd)
    m.drop(t, fd)
    return 0


@verb
def closerange(m: Model, t: Thread, first: int, last: int, flags: int) -> Result:
    for fd in [fd for fd in t.table.at if first <= fd <= last]:
        if flags:
            t.table.close_on_exec.add(fd)
        else:
            m.drop(t, fd)
    return 0


@verb
def dup(m: Model, t: Thread, fd: int) -> Result:
    description = m.counted(t, fd, "OPENS", "DUPS")
    return m.put(t, description)


@verb
def dupfd(m: Model, t: Thread, fd: int, least: int, cloexec: int) -> Result:
    description = m.counted(t, fd, "OPENS", "DUPS")
    return m.put(t, description, bool(cloexec), least)


def _onto(m: Model, t: Thread, fd: int, new: int, cloexec: bool) -> int:
    defined(fd != new and 0 <= new < 256, "onto itself")
    defined(new not in (1, 2), "the program's own output")
    description = m.counted(t, fd, "OPENS", "DUPS")
    if new in t.table.at:
        kept = t.table.at[fd]
        m.drop(t, new)
        description = kept
    t.table.at[new] = description
    if cloexec:
        t.table.close_on_exec.add(new)
    return new


@verb
def dup2(m: Model, t: Thread, fd: int, new: int, how: int = 0) -> Result:
    return _onto(m, t, fd, new, False)


@verb
def dup3(m: Model, t: Thread, fd: int, new: int, flags: int) -> Result:
    return _onto(m, t, fd, new, bool(flags))


@verb
def append(m: Model, t: Thread, fd: int, on: int) -> Result:
    description, _ = m.record(t, fd)
    defined(description.inode.kind == "file", "append mode of what is no file")
    description.append = bool(on)
    return 0


def _cursor(description: Description) -> int:
    defined(description.owner is None and description.offset is not None, "a stream has the cursor")
    assert description.offset is not None
    return description.offset


def _read_pipe(m: Model, t: Thread, pipe: Inode, size: int) -> bytes:
    writers = [d for p in m.kernel.living() for th in p.threads.values() for d in th.table.at.values()]
    blocks = size and not pipe.data and any(d.inode is pipe and d.writable for d in writers)
    defined(not blocks, "waits for a pipe")
    taken = bytes(pipe.data[:size])
    del pipe.data[:size]
    t.process.image.pipes.update(reads=1, bytes_read=len(taken))
    return taken


def _write_pipe(m: Model, t: Thread, pipe: Inode, block: bytes) -> None:
    readers = [d for p in m.kernel.living() for th in p.threads.values() for d in th.table.at.values()]
    defined(any(d.inode is pipe and d.readable for d in readers), "SIGPIPE")
    defined(len(pipe.data) + len(block) <= 4096 and block, "waits for a pipe")
    pipe.data += block
    t.process.image.pipes.update(writes=1, bytes_written=len(block))


def _read_file(
    m: Model, t: Thread, d: Description, record: Posix, size: int, at: int | None, shifted: bool
) -> bytes:
    start = _cursor(d) if at is None else at
    read = bytes(d.inode.data[start : start + size])
    record.access("read", start, len(read), t.process.image.last_of(d), shifted)
    if at is None:
        d.offset = start + len(read)
    return read


def _write_file(
    m: Model,
    t: Thread,
    d: Description,
    record: Posix,
    block: bytes,
    at: int | None,
    shifted: bool,
    append: bool = False,
) -> int:
    append = append or d.append
    defined(block or not append, "nothing is appended")
    cursor = _cursor(d) if at is None else None
    start = len(d.inode.data) if append else cursor if at is None else at
    assert start is not None
    m.kernel.write(d.inode, start, block)
    record.access("write", start, len(block), t.process.image.last_of(d), shifted)
    if at is None:
        d.offset = start + len(block)
    return len(block)


def _read(
    m: Model, t: Thread, fd: int, size: int, times: int, shift: int, at: int | None, step: int = 0
) -> Result:
    description, record = m.record(t, fd)
    kind = description.inode.kind
    need(at is None or kind != "pipe", errno.ESPIPE)
    need(description.readable, errno.EBADF)
    need(kind != "dir", errno.EISDIR)
    read = b""
    for k in range(times):
        if kind == "pipe":
            read += _read_pipe(m, t, description.inode, size)
        elif record:
            start = None if at is None else at + k * step
            read += _read_file(m, t, description, record, size, start, shift % 8 != 0)
    return len(read), read


def _write(
    m: Model,
    t: Thread,
    fd: int,
    size: int,
    times: int,
    shift: int,
    at: int | None,
    step: int = 0,
    append: bool = False,
) -> Result:
    description, record = m.record(t, fd)
    kind = description.inode.kind
    need(at is None or kind != "pipe", errno.ESPIPE)
    need(description.writable, errno.EBADF)
    defined(not append or kind == "file", "appends to what is no file")
    for k in range(times):
        block = data(m.index, size, k)
        if kind == "pipe":
            _write_pipe(m, t, description.inode, block)
        elif record:
            start = None if at is None else at + k * step
            _write_file(m, t, description, record, block, start, shift % 8 != 0, append)
    return size * times


def read_at_cursor(m: Model, t: Thread, fd: int, size: int) -> tuple[int, bytes]:
    read = _read(m, t, fd, size, 1, 0, None)
    assert isinstance(read, tuple)
    return read


@verb
def read(m: Model, t: Thread, fd: int, size: int, times: int, shift: int) -> Result:
    return _read(m, t, fd, size, times, shift, None)


@verb
def write(m: Model, t: Thread, fd: int, size: int, times: int, shift: int) -> Result:
    return _write(m, t, fd, size, times, shift, None)


@verb
def lend(m: Model, t: Thread, fd: int, size: int, times: int, shift: int, new: int) -> Result:
    """The child of a vfork redirects a number, writes by it, and ends: the parent's numbers stay."""
    defined(
        fd != new and new not in (1, 2) and 0 <= new < 256, "the program's own output, or nothing redirected"
    )
    defined(t.process.children_in_namespace is None, "the first child of a namespace, with which that ends")
    return _write(m, t, fd, size, times, shift, None)


@verb
def pread(m: Model, t: Thread, fd: int, size: int, times: int, shift: int, at: int, step: int) -> Result:
    return _read(m, t, fd, size, times, shift, at, step)


@verb
def pwrite(m: Model, t: Thread, fd: int, size: int, times: int, shift: int, at: int, step: int) -> Result:
    return _write(m, t, fd, size, times, shift, at, step)


@verb
def readv(m: Model, t: Thread, fd: int, at: int, first: int, second: int) -> Result:
    defined(second, "an empty part")
    return _read(m, t, fd, first + second, 1, first, None if at < 0 else at)


@verb
def writev(m: Model, t: Thread, fd: int, at: int, first: int, second: int, append: int = 0) -> Result:
    defined(second, "an empty part")
    start = None if at < 0 else at
    return _write(m, t, fd, first + second, 1, first, start, append=bool(append))


@verb
def lseek(m: Model, t: Thread, fd: int, at: int, whence: int) -> Result:
    description, record = file_of(m, t, fd, errno.ESPIPE)
    defined(description.owner is None, "a stream has the cursor")
    base = len(description.inode.data) if whence == os.SEEK_END else 0
    target = at + (_cursor(description) if whence == os.SEEK_CUR else base)
    need(target >= 0, errno.EINVAL)
    description.offset = target
    record.counts["SEEKS"] += 1
    return target


@verb
def fstat(m: Model, t: Thread, fd: int) -> Result:
    description, record = m.record(t, fd)
    if description.inode.kind != "file" or not record:
        return 0
    record.counts["STATS"] += 1
    return len(description.inode.data)


@verb
def ftruncate(m: Model, t: Thread, fd: int, size: int) -> Result:
    description, _ = file_of(m, t, fd, errno.EINVAL)
    need(description.writable, errno.EINVAL)
    m.kernel.resize(description.inode, size)
    return 0


@verb
def fsync(m: Model, t: Thread, fd: int) -> Result:
    _, record = file_of(m, t, fd, errno.EINVAL)
    record.counts["FSYNCS"] += 1
    return 0


@verb
def fdatasync(m: Model, t: Thread, fd: int) -> Result:
    _, record = file_of(m, t, fd, errno.EINVAL)
    record.counts["FDSYNCS"] += 1
    return 0


@verb
def pipe(m: Model, t: Thread) -> Result:
    inode = Inode("pipe")
    ends = (m.put(t, Description(inode, None, True, False)), m.put(t, Description(inode, None, False, True)))
    return ends[0] * 1000 + ends[1]


def _mappable(m: Model, t: Thread, fd: int) -> tuple[Description, Posix]:
    defined(t.table.get(fd).inode.kind == "file", "maps of what is no file")
    return file_of(m, t, fd, errno.ENODEV)


@verb
def mapread(m: Model, t: Thread, fd: int, at: int, size: int) -> Result:
    description, record = _mappable(m, t, fd)
    need(description.readable, errno.EACCES)
    defined(at % 4096 == 0 and size > 0 and at + size <= len(description.inode.data), "SIGBUS")
    record.counts["MMAPS"] += 1
    t.process.image.mapped = True
    return 0, bytes(description.inode.data[at : at + size])


@verb
def mapwrite(m: Model, t: Thread, fd: int, at: int, size: int) -> Result:
    description, record = _mappable(m, t, fd)
    need(description.readable and description.writable, errno.EACCES)
    defined(at % 4096 == 0 and size > 0 and at + size <= len(description.inode.data), "SIGBUS")
    m.kernel.write(description.inode, at, data(m.index, size))
    record.counts["MMAPS"] += 1
    t.process.image.mapped = True
    return 0


@verb
def mapover(m: Model, t: Thread, fd: int, at: int, size: int, how: int) -> Result:
    description, record = _mappable(m, t, fd)
    need(description.readable, errno.EACCES)
    defined(at % 4096 == 0 and size > 0, "no map")
    record.counts["MMAPS"] += 1
    return 0


def _copy(m: Model, t: Thread, source: int, at: int, target: int, to: int, size: int) -> Result:
    """A read of the one file and a write of the other."""
    need(source in t.table.at, errno.EBADF)
    defined(t.table.at[source].inode.kind == "file", "copies of what is no file")
    need(target in t.table.at, errno.EBADF)
    defined(t.table.at[target].inode.kind == "file", "copies to what is no file")
    origin, read_record = file_of(m, t, source, errno.EINVAL)
    copy, write_record = file_of(m, t, target, errno.EINVAL)
    need(origin.readable and copy.writable, errno.EBADF)
    defined(origin.inode is not copy.inode and not copy.append, "copies within a file, or to its end")
    start = _cursor(origin) if at < 0 else at
    defined(size and start < len(origin.inode.data), "nothing to copy")
    _cursor(copy)
    block = _read_file(m, t, origin, read_record, size, None if at < 0 else at, False)
    return _write_file(m, t, copy, write_record, block, None if to < 0 else to, False)


@verb
def sendfile(m: Model, t: Thread, target: int, source: int, at: int, size: int) -> Result:
    return _copy(m, t, source, at, target, -1, size)


@verb
def copyrange(m: Model, t: Thread, source: int, at: int, target: int, to: int, size: int) -> Result:
    return _copy(m, t, source, at, target, to, size)
