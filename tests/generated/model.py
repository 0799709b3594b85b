"""Runs a program in the model: what it prints, what it leaves, how it ends, what is counted."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Union

from .kernel import Description, Failed, Inode, Kernel, Name, Place, Process, Table, Thread, defined, need
from .operations import Op, data
from .records import Image, Posix

Result = Union[int, tuple[int, bytes]]
VERBS: dict[str, Callable[..., Result]] = {}
UNTOUCHED = 77
SAID = -2
"""The verb has printed its line itself."""


def verb(run: Callable[..., Result]) -> Callable[..., Result]:
    """Register what an operation of this name does."""
    VERBS[run.__name__.strip("_")] = run
    return run


class Model:
    """All that a program may notice, and the records that its log should have."""

    def __init__(self, home: str, alignment: int, files: Mapping[str, int]) -> None:
        self.kernel = Kernel(Name(None, home, Inode("dir")))
        self.lines: list[str] = []
        self.index = 0
        self.group: list[tuple[Op, Description]] = []
        self.ending: int | None = None
        self.images: list[Image] = []
        for path, size in files.items():
            self._make(path, size)
        null, output = Inode("null"), Inode("output")
        table = Table({0: Description(null, None, True, False), 1: Description(output, None, False, True)})
        table.at[2] = Description(output, None, False, True)
        self.new_process(0, None, table, self.kernel.home, Image(alignment))

    def _make(self, path: str, size: int) -> None:
        at = self.kernel.home
        *folders, last = path.split("/")
        for part in folders:
            at = at.inode.entries.setdefault(part, Name(at, part, Inode("dir")))
        if last:
            at.inode.entries[last] = Name(at, last, Inode("file", bytearray(data(0, size))))

    def new_process(
        self, number: int, parent: Process | None, table: Table, folder: Name, image: Image
    ) -> Process:
        process = self.kernel.processes[number] = Process(number, parent, image)
        process.threads[0] = Thread(process, 0, table, Place(folder))
        self.images.append(image)
        return process

    def apply(self, op: Op) -> None:
        """Do one operation. What it has changed is not taken back when it is not defined."""
        defined(op.process in self.kernel.processes, "no such process")
        process = self.kernel.processes[op.process]
        defined(process.ended is None and op.thread in process.threads, "no such thread")
        defined(
            self.ending is None or (op.verb == "wait" and op.words == (self.ending,)), "a child is waited for"
        )
        self._check_group(op, process.threads[op.thread])
        error, hashed = UNTOUCHED, ""
        try:
            result = VERBS[op.verb](self, process.threads[op.thread], *op.words)
        except Failed as failed:
            result, error = -1, failed.code
        if isinstance(result, tuple):
            result, read = result
            hashed = f" {zlib.crc32(read):08x}"
        if result != SAID:
            self.say(process, op, f"{result} e{error}{hashed}")
        self.index += 1

    def run(self, program: Sequence[Op]) -> Model:
        for op in program:
            self.apply(op)
        return self

    def say(self, process: Process, op: Op, text: str) -> None:
        line = f"{self.index} {op.verb} {text}"
        self.lines.append(line)
        process.image.pipes.update(writes=1, bytes_written=len(line) + 1)

    _TOGETHER = ("read", "pread", "readv", "write", "pwrite", "writev", "lseek", "fstat")

    def _check_group(self, op: Op, thread: Thread) -> None:
        """Operations at the same time have other threads, descriptors and files, or only read a file."""
        description = thread.table.at.get(int(op.words[0])) if op.verb in self._TOGETHER else None
        if not op.together:
            self.group = [(op, description)] if description else []
            return
        defined(description and self.group and description.inode.kind == "file", "not to be done together")
        assert description
        for other, its in self.group:
            defined((other.process, other.thread) != (op.process, op.thread), "one thread")
            defined(its is not description, "one cursor")
            reading = "read" in other.verb and "read" in op.verb
            defined(its.inode is not description.inode or reading, "one file is changed")
        records = thread.process.image.posix.values()
        defined(
            all(len(t.counts) < 28 for r in records for t in (r.sizes, r.strides)),
            "the order of values matters",
        )
        self.group.append((op, description))

    def record(self, thread: Thread, fd: int) -> tuple[Description, Posix | None]:
        """What is behind a descriptor, and where its use is counted."""
        defined(fd not in (1, 2), "the program's own output")
        description = thread.table.get(fd)
        image = thread.process.image
        if description.name is None:
            return description, None
        defined(description not in image.hidden, "a descriptor of a stream")
        if description not in image.names:
            if description.inode.kind != "file":
                return description, None
            defined(not description.name.gone(), "found by its name after it was removed")
            image.names[description] = description.name.path()
        return description, image.posix_of(image.names[description])

    def counted(self, thread: Thread, fd: int, *names: str) -> Description:
        description, record = self.record(thread, fd)
        if record:
            record.counts.update(names)
        return description

    def opened(self, thread: Thread, description: Description, flags: int, mode: int, least: int = 0) -> int:
        """A new descriptor of a file that was opened by its path."""
        image = thread.process.image
        assert description.name
        record = image.posix_of(description.name.path())
        image.names[description] = record.name
        record.counts["OPENS"] += 1
        if flags & os.O_CREAT:
            record.mode = mode
        return self.put(thread, description, bool(flags & os.O_CLOEXEC), least)

    def put(self, thread: Thread, description: Description, cloexec: bool = False, least: int = 0) -> int:
        fd = thread.table.lowest(least)
        thread.table.at[fd] = description
        if cloexec:
            thread.table.close_on_exec.add(fd)
        return fd

    def drop(self, thread: Thread, fd: int) -> None:
        """Close a descriptor that is open."""
        defined(fd not in (1, 2), "the program's own output")
        mine = thread.process.streams.values()
        defined(all(s.fd != fd for s in mine if not s.closed), "a stream's descriptor")
        self.drop_any(thread, fd)

    def drop_any(self, thread: Thread, fd: int) -> None:
        description = thread.table.at.pop(fd)
        thread.table.close_on_exec.discard(fd)
        if all(p is not thread.process for p, _ in self.kernel.holders(description)):
            thread.process.image.forget(description)

    def files(self) -> dict[str, bytes | None]:
        """What is left: data of files, None for directories."""
        found: dict[str, bytes | None] = {}

        def visit(at: Name, prefix: str) -> None:
            for text, name in at.inode.entries.items():
                found[prefix + text] = bytes(name.inode.data) if name.inode.kind == "file" else None
                visit(name, f"{prefix}{text}/")

        visit(self.kernel.home, "")
        return found


def file_of(model: Model, thread: Thread, fd: int, code: int) -> tuple[Description, Posix]:
    """The file behind a descriptor; what is none fails with this errno."""
    description, record = model.record(thread, fd)
    need(description.inode.kind != "pipe", code)
    defined(description.inode.kind == "file" and record, "not for directories and devices")
    assert record
    return description, record
