"""Operations on streams of the C library. Their buffers are larger than all that is written between two flushes."""

# ruff: noqa: PLR0913, PLR0917 -- the arguments are the words of an operation
from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field, replace

from .kernel import Description, Failed, Thread, Undefined, defined, need
from .model import Model, Result, verb
from .operations import data
from .records import Stdio

BUFFER = 65536
MODES = {
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}


@dataclass(eq=False)
class Stream:
    """`shared`: descriptors or other processes may move its cursor, so that it is flushed after each write."""

    fd: int
    description: Description
    name: str | None
    readable: bool
    writable: bool
    shared: bool = False
    at: int = 0
    pending: list[tuple[int, bytes]] = field(default_factory=list)
    doing: str = ""
    ended: bool = False
    closed: bool = False
    foreign: bool = False
    """A forked child may not use the buffer of its parent's stream."""
    moved: bool = False
    """Its descriptor is another file's than that it was opened with: of the name that this has at its first use."""

    def waiting(self) -> int:
        return sum(len(block) for _, block in self.pending)


def _flags(mode: str) -> int:
    flags = MODES[mode[0]]
    return flags & ~os.O_ACCMODE | os.O_RDWR if "+" in mode else flags


def _stream(t: Thread, k: int) -> Stream:
    stream = t.process.streams.get(k)
    defined(stream and not stream.closed and not stream.foreign, "no such stream")
    defined(t.table is t.process.table, "descriptors of a thread's own")
    assert isinstance(stream, Stream)
    return stream


def _record(t: Thread, stream: Stream) -> Stdio | None:
    if stream.moved and stream.name is None:
        assert stream.description.name
        stream.name = stream.description.name.path()
    return None if stream.name is None else t.process.image.stdio_of(stream.name)


def _free(t: Thread, k: int) -> None:
    defined(t.table is t.process.table, "descriptors of a thread's own")
    defined(k not in t.process.streams or t.process.streams[k].closed, "the stream is open")


def _attach(t: Thread, k: int, stream: Stream) -> int:
    t.process.streams.pop(k, None)
    t.process.streams[k] = stream
    if stream.readable:
        stream.description.owner = stream
    record = _record(t, stream)
    if record:
        record.counts["OPENS"] += 1
    return 0


def _opened(m: Model, t: Thread, k: int, path: str, mode: str, fd: int | None) -> int:
    _free(t, k)
    description = m.kernel.open(t.place.folder, path, _flags(mode))
    defined(description.inode.kind == "file", "a stream of a directory")
    assert description.name
    if fd is None:
        fd = m.put(t, description)
    t.table.at[fd] = description
    t.process.image.hidden.add(description)
    at = len(description.inode.data) if mode == "a" else 0
    stream = Stream(
        fd, description, description.name.path(), mode[0] == "r" or "+" in mode, mode != "r", at=at
    )
    stream.shared = description.append
    description.offset = at
    return _attach(t, k, stream)


@verb
def fopen(m: Model, t: Thread, k: int, path: str, mode: str) -> Result:
    return _opened(m, t, k, path, mode, None)


@verb
def fdopen(m: Model, t: Thread, k: int, fd: int, mode: str) -> Result:
    _free(t, k)
    defined(mode in ("r", "w", "a"), "a stream for both")
    description, _ = m.record(t, fd)
    defined(description.inode.kind == "file", "a stream of what is no file")
    need(description.readable if mode == "r" else description.writable, errno.EINVAL)
    defined(
        all(s.description is not description for s in t.process.streams.values() if not s.closed),
        "two streams",
    )
    defined(description.owner is None and description.offset is not None, "a stream has the cursor")
    holders = list(m.kernel.holders(description))
    defined(mode != "r" or len(holders) == 1, "the cursor is shared")
    stream = Stream(fd, description, t.process.image.names[description], mode == "r", mode != "r", True)
    assert description.offset is not None
    stream.at = description.offset
    if mode == "a":
        description.append, description.offset = True, None
    record = t.process.image.stdio_of(str(stream.name))
    record.counts["FDOPENS"] += 1
    return _attach(t, k, stream)


def flush(m: Model, t: Thread, stream: Stream) -> None:
    """Write what waits."""
    description = stream.description
    for at, block in stream.pending:
        start = at
        if description.append:
            start = len(description.inode.data)
        elif stream.shared and not stream.readable:
            defined(description.offset is not None, "nobody knows where the cursor is")
            assert description.offset is not None
            start = description.offset
        m.kernel.write(description.inode, start, block, stream)
        stream.at = start + len(block)
        description.offset = stream.at
    stream.pending = []


def _leave(m: Model, t: Thread, stream: Stream) -> None:
    flush(m, t, stream)
    stream.closed = True
    stream.description.inode.snapshots.discard(stream)
    if stream.readable:
        stream.description.owner, stream.description.offset = None, None


@verb
def fclose(m: Model, t: Thread, k: int) -> Result:
    stream = _stream(t, k)
    _leave(m, t, stream)
    m.drop_any(t, stream.fd)
    return 0


@verb
def freopen(m: Model, t: Thread, k: int, path: str, mode: str) -> Result:
    stream = _stream(t, k)
    try:
        _, _, name = m.kernel.walk(t.place.folder, path)
    except Failed as failed:
        raise Undefined("the stream is lost") from failed
    defined(name.inode.kind == "file" if name else mode[0] != "r", "the stream is lost")
    _leave(m, t, stream)
    m.drop_any(t, stream.fd)
    return _opened(m, t, k, path, mode, stream.fd)


@verb
def fread(m: Model, t: Thread, k: int, item: int, items: int) -> Result:
    stream = _stream(t, k)
    read = _take(m, t, stream, item * items)
    count = len(read) // item
    if count:
        _moved(t, stream, "read", stream.at - len(read), count * item)
    return count, read[: count * item]


def _take(m: Model, t: Thread, stream: Stream, size: int) -> bytes:
    defined(stream.readable and stream.doing != "write", "a read after a write")
    defined(0 < size < BUFFER, "past the buffer")
    stream.doing = "read"
    stream.description.inode.snapshots.add(stream)
    content = stream.description.inode.data
    read = b"" if stream.ended else bytes(content[stream.at : stream.at + size])
    stream.ended = stream.ended or len(read) < size
    stream.at += len(read)
    return read


def _moved(t: Thread, stream: Stream, kind: str, at: int, size: int) -> None:
    record = _record(t, stream)
    if record:
        record.access(kind, at, size)


@verb
def fgetc(m: Model, t: Thread, k: int) -> Result:
    stream = _stream(t, k)
    read = _take(m, t, stream, 1)
    if not read:
        return -1
    _moved(t, stream, "read", stream.at - 1, 1)
    return read[0]


@verb
def fgets(m: Model, t: Thread, k: int, size: int) -> Result:
    stream = _stream(t, k)
    defined(2 <= size < BUFFER, "an empty line")
    rest = bytes(stream.description.inode.data[stream.at : stream.at + size - 1])
    length = rest.find(b"\n") + 1 or size - 1
    read = _take(m, t, stream, length)
    if not read:
        return -1
    if not read.endswith(b"\n") and b"\0" in read:
        t.process.image.marks.add("bytes of 0 in a last line")
    _moved(t, stream, "read", stream.at - len(read), len(read))
    return len(read)


def _put(m: Model, t: Thread, stream: Stream, block: bytes, flushed: int) -> None:
    defined(stream.writable and stream.doing != "read", "a write after a read")
    defined(flushed or not stream.shared, "others move the cursor")
    defined(len(block) > 0 and stream.waiting() + len(block) < BUFFER - 4096, "past the buffer")
    stream.doing = "write"
    stream.pending.append((stream.at, block))
    stream.at += len(block)
    if flushed:
        flush(m, t, stream)
        record = _record(t, stream)
        if record:
            record.counts["FLUSHES"] += 1
    _moved(t, stream, "write", stream.at - len(block), len(block))


@verb
def fwrite(m: Model, t: Thread, k: int, item: int, items: int, flushed: int) -> Result:
    _put(m, t, _stream(t, k), data(m.index, item * items), flushed)
    return items


@verb
def fputs(m: Model, t: Thread, k: int, size: int, flushed: int) -> Result:
    _put(m, t, _stream(t, k), data(m.index, size), flushed)
    return 0


@verb
def fprintf(m: Model, t: Thread, k: int, width: int, flushed: int) -> Result:
    defined(width > 0, "nothing to print")
    _put(m, t, _stream(t, k), b"7".rjust(width, b"0"), flushed)
    return width


@verb
def fputc(m: Model, t: Thread, k: int, flushed: int) -> Result:
    _put(m, t, _stream(t, k), b"c", flushed)
    return ord("c")


@verb
def fflush(m: Model, t: Thread, k: int) -> Result:
    stream = _stream(t, k)
    defined(stream.doing != "read", "a flush after a read")
    flush(m, t, stream)
    stream.doing = ""
    record = _record(t, stream)
    if record:
        record.counts["FLUSHES"] += 1
    return 0


def _seek(m: Model, t: Thread, stream: Stream, target: int) -> None:
    stream.at = target
    stream.doing, stream.ended = "", False
    if stream.readable:
        stream.description.inode.snapshots.add(stream)  # the C library reads the block that has the place
    else:
        stream.description.offset = target
    record = _record(t, stream)
    if record:
        record.counts["SEEKS"] += 1


@verb
def fseek(m: Model, t: Thread, k: int, at: int, whence: int) -> Result:
    stream = _stream(t, k)
    defined(whence != os.SEEK_CUR or not stream.shared, "others move the cursor")
    flush(m, t, stream)
    base = {os.SEEK_SET: 0, os.SEEK_CUR: stream.at, os.SEEK_END: len(stream.description.inode.data)}[whence]
    need(base + at >= 0, errno.EINVAL)
    _seek(m, t, stream, base + at)
    return 0


@verb
def rewind(m: Model, t: Thread, k: int) -> Result:
    stream = _stream(t, k)
    flush(m, t, stream)
    _seek(m, t, stream, 0)
    return 0


@verb
def fileno(m: Model, t: Thread, k: int) -> Result:
    stream = _stream(t, k)
    image = t.process.image
    defined(not stream.pending, "others move the cursor")
    if stream.moved:
        return stream.fd
    image.hidden.discard(stream.description)
    image.names.setdefault(stream.description, str(stream.name))
    image.posix_of(image.names[stream.description]).counts.update(("OPENS", "FILENOS"))
    stream.shared = True
    return stream.fd


@verb
def refile(m: Model, t: Thread, k: int, path: str) -> Result:
    """Close the descriptor of a stream: the file that is opened next gets its number."""
    stream = _stream(t, k)
    defined(not stream.pending and not stream.readable, "the buffer is of the file before")
    defined(t.table.lowest() > stream.fd, "another number is free")
    try:
        description = m.kernel.open(t.place.folder, path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    except Failed as failed:
        raise Undefined("the stream has no file") from failed
    defined(description.inode.kind == "file" and description.name, "a stream of a directory")
    assert description.name
    m.drop_any(t, stream.fd)
    stream.description, stream.name = description, None
    stream.shared, stream.moved, stream.at, stream.doing = True, True, 0, ""
    return m.opened(t, description, os.O_CREAT, 0o600)


@verb
def print(m: Model, t: Thread) -> Result:
    text = f"{m.index} print"
    m.lines.append(text)
    t.process.image.pipes.update(writes=1, bytes_written=len(text) + 1)
    return len(text) + 1


@verb
def printto(m: Model, t: Thread, fd: int, size: int) -> Result:
    """Standard output is a file for a moment: its stream is the file's."""
    defined(t.table is t.process.table, "descriptors of a thread's own")
    description = m.counted(t, fd, "OPENS", "DUPS")
    name, image = description.name, t.process.image
    defined(description.inode.kind == "file" and name and description.writable, "no file to write")
    defined(description.owner is None and description.offset is not None, "a stream has the cursor")
    assert name and description.offset is not None
    defined(image.names[description] == name.path() and not name.gone(), "the file was renamed")
    block = b"7".rjust(size, b"0")
    start = len(description.inode.data) if description.append else description.offset
    m.kernel.write(description.inode, start, block)
    description.offset = start + size
    record = image.stdio_of(name.path())
    record.counts["FLUSHES"] += 1
    record.access("write", start, size)
    return size


def inherited(stream: Stream) -> Stream:
    """The copy of a forked child."""
    name = None if stream.moved else stream.name
    return replace(stream, name=name, pending=[], foreign=stream.foreign or stream.readable)
