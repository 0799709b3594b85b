"""A program from a seed. The model says which operations make sense; what is not defined is thrown again."""

from __future__ import annotations

import os
import posixpath
import random
import signal
from collections.abc import Callable
from typing import Optional

from . import verbs_data, verbs_names, verbs_processes, verbs_streams
from .kernel import Process, Thread, Undefined
from .model import VERBS, Model
from .operations import Op, Word

FILES = {"a": 5000, "b": 300, "c": 70000, "s/a": 1000, "s/b": 0, "s/u/c": 12345, "t/": 0}
"""What is there before: names and sizes."""

PATHS = ("a", "b", "c", "d", "e", "s/a", "s/b", "s/d", "s/u/c", "s/u/d", "t/a", "t/b", "v/a")
FOLDERS = ("", "s", "s/u", "t", "v", "w")
SIZES = (0, 1, 8, 10, 64, 100, 101, 512, 1000, 1024, 1025, 4096, 10240, 10241)
LARGE = (102400, 102401, 1 << 20, (1 << 20) + 1)
MODES = (0o600, 0o640, 0o644, 0o664, 0o700, 0o755)
MOST_PROCESSES, MOST_THREADS, MOST_STREAMS = 8, 4, 6
ROOMS = (verbs_data, verbs_names, verbs_processes, verbs_streams)
assert all(VERBS for _ in ROOMS)

Proposal = Optional[tuple[str, tuple[Word, ...]]]


class Generator:
    """Adds one operation after the other to a program."""

    def __init__(self, seed: int, namespaces: bool = True) -> None:
        self.random = random.Random(seed)
        self.namespaces = namespaces
        self.program: list[Op] = []
        self.model = self._model()
        kinds = self._kinds()
        self.makers = [make for make, _ in kinds]
        self.weights = [weight * self.random.choice((0.3, 1, 1, 2)) for _, weight in kinds]
        self.length = self.random.randrange(30, 160)
        self.made = 0

    def _model(self) -> Model:
        return Model("/", 1, FILES).run(self.program)

    def _kinds(self) -> list[tuple[Callable[[Thread], Proposal], float]]:
        rare = self.random.random
        return [
            (self.opens, 10),
            (self.closes, 4),
            (self.duplicates, 4),
            (self.moves, 22),
            (self.lends, 1),
            (self.vectors, 4),
            (self.seeks, 6),
            (self.inspects, 3),
            (self.resizes, 2),
            (self.syncs, 2),
            (self.maps, 2),
            (self.copies, 3),
            (self.renames, 3),
            (self.folders, 4),
            (self.pipes, 3),
            (self.opens_stream, 5 if rare() < 0.7 else 0),
            (self.uses_stream, 18),
            (self.starts_thread, 1.5 if rare() < 0.7 else 0),
            (self.starts_process, 2 if rare() < 0.8 else 0),
            (self.ends_process, 1.5),
            (self.unshares, 0.7 if rare() < 0.4 and self.namespaces else 0),
        ]

    def add(self, op: Op) -> bool:
        """Whether the operation is defined here."""
        try:
            self.model.apply(op)
        except Undefined:
            self.model = self._model()
            return False
        self.program.append(op)
        return True

    def _next(self, last: tuple[int, int]) -> Thread:
        """Mostly the same one: each change of threads is a wait."""
        everyone = {(p.number, n): t for p in self.model.kernel.living() for n, t in p.threads.items()}
        if last in everyone and self.random.random() < 0.6:
            return everyone[last]
        return self.random.choice(list(everyone.values()))

    def make(self) -> list[Op]:
        who = (0, 0)
        while len(self.program) < self.length:
            thread = self._next(who)
            make = self.random.choices(self.makers, self.weights)[0]
            proposal = make(thread)
            if proposal:
                together = self.random.random() < 0.2
                who = thread.process.number, thread.number
                op = Op(*who, *proposal, together)
                if not self.add(op) and together:
                    self.add(op.alone())
                self._settle()
        while self.model.kernel.processes[0].ended is None:
            self._end_one(self._leaf())
        return self.program

    def _settle(self) -> None:
        """A process that has ended is waited for at once."""
        if self.model.ending is not None:
            parent = self.model.kernel.processes[self.model.ending].parent
            if parent:
                self.add(Op(parent.number, self._thread(parent).number, "wait", (self.model.ending,)))

    def _thread(self, process: Process) -> Thread:
        return self.random.choice(list(process.threads.values()))

    def _leaf(self) -> Process:
        return self.random.choice([p for p in self.model.kernel.living() if not p.children])

    def _end_one(self, process: Process) -> bool:
        thread = self._thread(process)
        how = self.random.choice(("exit", "exit", "_exit", "raw", "quick_exit", "signal", "abort"))
        with_ = self.random.choice((0, 0, 3, 77))
        if how == "signal":
            with_ = self.random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV))
        who = process.number, thread.number
        if not any(self.add(Op(*who, "end", words)) for words in ((how, int(with_)), ("_exit", 1))):
            return False
        self._settle()
        return True

    def size(self) -> int:
        kind = self.random.random()
        if kind < 0.5:
            return self.random.choice(SIZES)
        return self.random.choice(LARGE) if kind > 0.97 else self.random.randrange(1, 3000)

    def fd(self, thread: Thread) -> int:
        mine = [fd for fd in thread.table.at if fd not in (1, 2)]
        return (
            self.random.randrange(3, 12) if self.random.random() < 0.03 else self.random.choice(mine or [3])
        )

    def path(self, thread: Thread, choice: tuple[str, ...] = PATHS) -> str:
        """A spelling of a path, from where the thread is or from the first directory."""
        target = self.random.choice(choice)
        if self.random.random() < 0.25:
            return f"@/{target}"
        here = thread.place.folder
        start = here.path().strip("/") if not here.gone() else ""
        path = posixpath.relpath("/" + target, "/" + start)
        noise = self.random.random()
        if noise < 0.06:
            return f"./{path}"
        return path.replace("/", "//", 1) if noise < 0.1 else path

    def opens(self, t: Thread) -> Proposal:
        flags = self.random.choice((os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR))
        if flags:
            flags |= self.random.choice((os.O_CREAT, os.O_CREAT, 0))
            for flag, chance in ((os.O_TRUNC, 0.2), (os.O_APPEND, 0.25), (os.O_EXCL, 0.1)):
                if self.random.random() < chance and (flag != os.O_EXCL or flags & os.O_CREAT):
                    flags |= flag
        flags |= os.O_CLOEXEC if self.random.random() < 0.15 else 0
        mode = self.random.choice(MODES) if flags & os.O_CREAT else 0
        kind = self.random.random()
        if kind < 0.08:
            return "creat", (self.path(t), self.random.choice(MODES))
        if kind < 0.18:
            return "openat", (self.fd(t), self.random.choice(PATHS), flags, mode)
        if kind < 0.3:
            return "openfd", (self.fd(t), flags & ~(os.O_CREAT | os.O_EXCL), self.random.randrange(3))
        if kind < 0.38:
            return "open", (self.path(t, FOLDERS[1:]), os.O_RDONLY | os.O_DIRECTORY, 0)
        return "open", (self.path(t), flags, mode)

    def closes(self, t: Thread) -> Proposal:
        if self.random.random() < 0.1:
            first = self.random.randrange(3, 9)
            return "closerange", (first, first + self.random.randrange(5), self.random.choice((0, 0, 4)))
        return "close", (self.fd(t), self.random.choice((0, 0, 1, 2)))

    def duplicates(self, t: Thread) -> Proposal:
        fd, kind = self.fd(t), self.random.randrange(4)
        new = self.random.choice((0, 3, 4, 5, 6, 9, 20, 60))
        if kind == 0:
            return "dup", (fd,)
        if kind == 1:
            return "dup2", (fd, new, self.random.randrange(2))
        cloexec = os.O_CLOEXEC if self.random.random() < 0.3 else 0
        return ("dup3", (fd, new, cloexec)) if kind == 2 else ("dupfd", (fd, new, int(cloexec > 0)))

    def moves(self, t: Thread) -> Proposal:
        verb = self.random.choice(("read", "write", "pread", "pwrite"))
        times = self.random.choice((1, 1, 1, 1, 2, 3, 20, 100))
        size = self.size() if times < 20 else self.random.choice((1, 16, 100, 512))
        words: tuple[Word, ...] = (self.fd(t), size, times, self.random.choice((0, 0, 0, 8, 1, 4)))
        if verb.startswith("p"):
            words += (self.random.choice((0, 1, 4096, self.size())), self.random.choice((0, size, size, 600)))
        return verb, words

    def lends(self, t: Thread) -> Proposal:
        words = (self.fd(t), self.size(), self.random.choice((1, 1, 2, 5)), self.random.choice((0, 1)))
        return "lend", (*words, self.random.choice((self.fd(t), self.fd(t), 100)))

    def vectors(self, t: Thread) -> Proposal:
        at = self.random.choice((-1, -1, 0, self.size()))
        words = (self.fd(t), at, self.random.choice((0, 8, 13, 100)), self.random.choice((1, 24, 1000)))
        verb = self.random.choice(("readv", "writev"))
        return verb, (*words, self.random.randrange(2)) if verb == "writev" else words

    def seeks(self, t: Thread) -> Proposal:
        if self.random.random() < 0.12:
            return "append", (self.fd(t), self.random.randrange(2))
        at = self.random.choice((0, 0, 100, -10, self.size()))
        return "lseek", (
            self.fd(t),
            at,
            self.random.choice((os.SEEK_SET, os.SEEK_SET, os.SEEK_CUR, os.SEEK_END)),
        )

    def inspects(self, t: Thread) -> Proposal:
        verb = self.random.choice(("stat", "lstat", "fstat"))
        return verb, (self.fd(t) if verb == "fstat" else self.path(t, PATHS + FOLDERS[1:]),)

    def resizes(self, t: Thread) -> Proposal:
        size = self.random.choice((0, 10, self.size()))
        return self.random.choice((("truncate", (self.path(t), size)), ("ftruncate", (self.fd(t), size))))

    def syncs(self, t: Thread) -> Proposal:
        return self.random.choice(("fsync", "fdatasync")), (self.fd(t),)

    def maps(self, t: Thread) -> Proposal:
        words = (self.fd(t), self.random.choice((0, 0, 4096)), self.random.choice((1, 200, 900)))
        verb = self.random.choice(("mapread", "mapwrite", "mapover"))
        return verb, (*words, self.random.randrange(2)) if verb == "mapover" else words

    def copies(self, t: Thread) -> Proposal:
        at, to, size = (
            (self.random.choice((-1, -1, 0, 100)) for _ in range(2)),
            0,
            self.random.randrange(1, 2000),
        )
        source, to = at
        if self.random.random() < 0.5:
            return "sendfile", (self.fd(t), self.fd(t), source, size)
        return "copyrange", (self.fd(t), source, self.fd(t), to, size)

    def renames(self, t: Thread) -> Proposal:
        kind = self.random.random()
        if kind < 0.45:
            return "rename", (self.path(t), self.path(t))
        if kind < 0.6:
            return "rename", (self.path(t, FOLDERS[1:]), self.path(t, FOLDERS[1:]))
        return ("unlink", (self.path(t),)) if kind < 0.85 else ("link", (self.path(t), self.path(t)))

    def folders(self, t: Thread) -> Proposal:
        verb = self.random.choice(("mkdir", "rmdir", "chdir", "chdir", "chdir", "fchdir", "walk"))
        if verb == "fchdir":
            return verb, (self.fd(t),)
        if verb == "chdir":
            return verb, (self.path(t, FOLDERS), self.random.randrange(2))
        return verb, (self.path(t, FOLDERS if verb == "walk" else FOLDERS[1:]),)

    def pipes(self, t: Thread) -> Proposal:
        ends = [fd for fd, d in t.table.at.items() if d.inode.kind == "pipe"]
        if not ends or self.random.random() < 0.2:
            return "pipe", ()
        return self.random.choice(("read", "write")), (
            self.random.choice(ends),
            self.random.randrange(1, 200),
            1,
            0,
        )

    def opens_stream(self, t: Thread) -> Proposal:
        k = self.random.randrange(MOST_STREAMS)
        mode = self.random.choice(("r", "w", "a", "r+", "w+", "a+"))
        kind = self.random.random()
        if kind < 0.2:
            return "fdopen", (k, self.fd(t), self.random.choice(("r", "w", "a")))
        return ("freopen" if kind < 0.3 else "fopen"), (k, self.path(t), mode)

    def uses_stream(self, t: Thread) -> Proposal:
        kind = self.random.random()
        if kind < 0.1:
            return (
                ("print", ()) if kind < 0.05 else ("printto", (self.fd(t), self.random.choice((1, 10, 600))))
            )
        mine = [k for k, s in t.process.streams.items() if not s.closed]
        if not mine:
            return None
        k, flushed = self.random.choice(mine), int(self.random.random() < 0.5)
        size = self.random.choice((1, 10, 100, 600, 5000))
        return self.random.choice(
            (
                ("fread", (k, self.random.choice((1, 7, 100)), self.random.choice((1, 10, 50)))),
                ("fwrite", (k, self.random.choice((1, 7, 100)), self.random.choice((1, 10, 50)), flushed)),
                ("fgetc", (k,)),
                ("fgets", (k, self.random.choice((5, 100)))),
                ("fputs", (k, size, flushed)),
                ("fprintf", (k, size, flushed)),
                ("fputc", (k, flushed)),
                ("fflush", (k,)),
                ("fseek", (k, self.random.choice((0, 10, -5, 3000)), self.random.randrange(3))),
                ("rewind", (k,)),
                ("fileno", (k,)),
                ("fclose", (k,)),
                ("refile", (k, self.path(t))),
            )
        )

    def starts_thread(self, t: Thread) -> Proposal:
        number = len(t.process.threads)
        return ("thread", (number,)) if number < MOST_THREADS else None

    def starts_process(self, t: Thread) -> Proposal:
        verb = self.random.choice(("fork", "fork", "fork", "spawn", "vfork", "exec"))
        if verb == "exec":
            return verb, ()
        self.made += 1
        if len(self.model.kernel.processes) >= MOST_PROCESSES:
            return None
        number = len(self.model.kernel.processes)
        return verb, (number, self.random.randrange(2)) if verb == "vfork" else (number,)

    def ends_process(self, t: Thread) -> Proposal:
        process = self._leaf()
        if process.parent is None:
            return None
        if self.random.random() < 0.3:
            self.add(
                Op(
                    process.parent.number,
                    self._thread(process.parent).number,
                    "kill",
                    (process.number, int(self.random.choice((signal.SIGKILL, signal.SIGTERM)))),
                )
            )
            self._settle()
        else:
            self._end_one(process)
        return None

    def unshares(self, t: Thread) -> Proposal:
        own = verbs_processes
        spaces = own.CLONE_NEWUSER | own.CLONE_NEWPID
        return "unshare", (
            self.random.choice((spaces, spaces, own.CLONE_NEWUSER | own.CLONE_NEWNS, own.CLONE_FS)),
        )


def generate(seed: int, namespaces: bool = True) -> list[Op]:
    """The program of this seed."""
    return Generator(seed, namespaces).make()
