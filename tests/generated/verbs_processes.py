"""Operations on threads, processes and namespaces."""

# ruff: noqa: PLR0913 -- the arguments are the words of an operation
from __future__ import annotations

import signal

from .kernel import Place, Process, Thread, defined
from .model import SAID, Model, Result, verb
from .operations import Op
from .records import Image
from .verbs_streams import flush, inherited

CLONE_FS, CLONE_FILES = 0x200, 0x400
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000


@verb
def thread(m: Model, t: Thread, number: int) -> Result:
    process = t.process
    defined(number not in process.threads and process.children_in_namespace is None, "a thread that is there")
    process.threads[number] = Thread(process, number, t.table, t.place)
    return 0


def _child(m: Model, t: Thread, verb_name: str, number: int, image: Image, *, program: bool) -> Process:
    parent = t.process
    defined(0 < number < 32 and number not in m.kernel.processes, "a process that is there")
    defined(parent.children_in_namespace in (None, 0), "its namespace has had its first process")
    streams = [s for s in parent.streams.values() if not s.closed]
    defined(not any(s.pending for s in streams), "the child gets a cursor that is not yet there")
    for stream in streams:
        stream.shared = True
    table = t.table.copy()
    if program:
        for fd in table.close_on_exec:
            table.at.pop(fd, None)
        table.close_on_exec.clear()
    child = m.new_process(number, parent, table, t.place.folder, image)
    child.first_in_namespace = parent.children_in_namespace == 0
    if child.first_in_namespace:
        parent.children_in_namespace = 1
    child.namespaces = parent.namespaces
    parent.children.add(number)
    m.say(child, Op(0, 0, verb_name), f"born {number}")
    return child


@verb
def fork(m: Model, t: Thread, number: int) -> Result:
    child = _child(m, t, "fork", number, t.process.image.forked(), program=False)
    child.streams = {k: inherited(s) for k, s in t.process.streams.items() if not s.closed}
    return SAID


@verb
def spawn(m: Model, t: Thread, number: int) -> Result:
    _child(m, t, "spawn", number, Image(t.process.image.alignment), program=True)
    return SAID


@verb
def vfork(m: Model, t: Thread, number: int, how: int = 0) -> Result:
    _child(m, t, "vfork", number, Image(t.process.image.alignment), program=True)
    return SAID


def _abandon(process: Process) -> None:
    """Streams go, what waits in them is lost."""
    for stream in process.streams.values():
        stream.description.inode.snapshots.discard(stream)
        if stream.description.owner is stream:
            stream.description.owner, stream.description.offset = None, None
    process.streams = {}


@verb
def exec(m: Model, t: Thread) -> Result:
    process = t.process
    defined(not process.children, "children that the new program does not know")
    _abandon(process)
    process.image.ended = "exec"
    process.image = Image(process.image.alignment)
    m.images.append(process.image)
    for fd in t.table.close_on_exec:
        t.table.at.pop(fd, None)
    t.table.close_on_exec.clear()
    process.threads = {0: Thread(process, 0, t.table.copy(), t.place)}
    m.say(process, Op(0, 0, "exec"), f"born {process.number}")
    return SAID


@verb
def wait(m: Model, t: Thread, number: int) -> Result:
    defined(number in t.process.children, "no such child")
    status = m.kernel.processes[number].ended
    defined(status is not None, "waits for a child")
    assert status is not None
    t.process.children.discard(number)
    m.ending = None
    return status


def _gone(m: Model, process: Process, status: int, ended: str) -> None:
    _abandon(process)
    process.image.ended = ended
    process.ended = status
    m.ending = process.number


@verb
def kill(m: Model, t: Thread, number: int, sign: int) -> Result:
    defined(number in t.process.children, "no such child")
    child = m.kernel.processes[number]
    defined(child.ended is None and not child.children, "has children of its own")
    defined(
        sign == signal.SIGKILL or (sign == signal.SIGTERM and not child.first_in_namespace),
        "harmless signals",
    )
    _gone(m, child, 1000 + sign, "signal")
    return 0


@verb
def end(m: Model, t: Thread, how: str, number: int) -> Result:
    process = t.process
    defined(not process.children, "children are left")
    m.say(process, Op(0, 0, "end"), f"{how} {number}")
    if how in ("signal", "abort"):
        defined(not process.first_in_namespace, "the first process of a namespace ignores signals")
        _gone(m, process, 1000 + (signal.SIGABRT if how == "abort" else number), "signal")
        return SAID
    if how == "exit":
        live = [s for s in process.streams.values() if not s.closed]
        defined(not any(s.foreign for s in live), "the end moves the parent's cursor")
        for stream in reversed(live):
            flush(m, t, stream)
    _gone(m, process, number & 255, "quick_exit" if how == "quick_exit" else "exit")
    return SAID


@verb
def unshare(m: Model, t: Thread, flags: int) -> Result:
    process = t.process
    if flags & CLONE_NEWUSER:
        defined(len(process.threads) == 1 and not process.namespaces, "namespaces of a program with threads")
        process.namespaces = True
    else:
        defined(not flags & (CLONE_NEWNS | CLONE_NEWPID), "namespaces need a user namespace")
    if flags & CLONE_NEWPID:
        defined(process.children_in_namespace is None, "a second namespace")
        process.children_in_namespace = 0
    if flags & (CLONE_FS | CLONE_NEWUSER | CLONE_NEWNS):
        t.place = Place(t.place.folder)
    if flags & CLONE_FILES:
        defined(not process.streams, "streams of other descriptors")
        t.table = t.table.copy()
    return 0
