"""What is known to differ from the model: one line each, with a small program that shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .operations import Op, parse
from .outcome import Ran


@dataclass(frozen=True)
class Known:
    """Differences that match `line`, of records or processes to which this has happened (`Image.marks`)."""

    happened: str
    line: str
    why: str
    program: str

    def operations(self) -> list[Op]:
        return [parse(text.strip()) for text in self.program.split(";")]

    def explains(self, want: Ran, line: str) -> bool:
        found = re.fullmatch(rf"rank (\d+): (?:(?:POSIX|STDIO) (\S+): )?{self.line}", line)
        if found:
            return not {("", self.happened), (found[2] or "", self.happened)}.isdisjoint(
                want.marks[int(found[1])]
            )
        everything = self.line == ".*" and not line.startswith("rank")
        return everything and any(what == self.happened for marks in want.marks for _, what in marks)


KNOWN = (
    Known(
        "first of a namespace",
        "ended: signal is unknown",
        "process 1 of its own PID namespace was killed, and its parent, outside, has waited for it",
        "0.0 unshare 0x30000000; 0.0 spawn 1; 0.0 kill 1 9; 0.0 wait 1; 0.0 end exit 0",
    ),
    Known(
        "lent to a program",
        "(MAX_BYTE|CONSEC|SEQ|STRIDE|FILE_NOT_ALIGNED).*",
        "a program started by spawn or vfork has moved the cursor: it is not asked for, as it is after fork",
        "0.0 open d 66 384; 0.0 spawn 1; 1.0 write 3 100 1 0; 1.0 end exit 0; 0.0 wait 1; 0.0 write 3 10 1 0;"
        " 0.0 end exit 0",
    ),
    Known(
        "working directory renamed",
        ".+",
        "a directory was renamed in which a process is: paths from there have its old name",
        "0.0 chdir s; 0.0 stat a; 0.0 rename @/s @/w; 0.0 stat b; 0.0 open ../a 0 0; 0.0 end exit 0",
    ),
    Known(
        "cursor moved by others",
        "MAX_BYTE_WRITTEN.*",
        "a descriptor, or a program that was started, has moved the cursor of a stream, which is not asked for",
        "0.0 fopen 0 a w; 0.0 fileno 0; 0.0 fputs 0 600 1; 0.0 lseek 3 100 0; 0.0 fputs 0 600 1; 0.0 end exit 0",
    ),
)


def unknown(want: Ran, lines: Sequence[str]) -> list[str]:
    """The differences that no line of the table explains."""
    return [line for line in lines if not any(known.explains(want, line) for known in KNOWN)]
