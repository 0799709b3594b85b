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
        "inherited twice",
        "(CONSEC|SEQ|STRIDE).*",
        "a program finds two descriptors of one description: each has a last byte of its own",
        "0.0 open a 2 0; 0.0 dup 3; 0.0 exec; 0.0 read 3 10 1 0; 0.0 read 4 10 1 0; 0.0 end exit 0",
    ),
    Known(
        "append mode of a stream",
        "(MAX_BYTE|CONSEC|SEQ|STRIDE|FILE_NOT_ALIGNED).*",
        "the descriptor of a stream that appends (fileno, fdopen) is not known to append",
        "0.0 fopen 0 a a; 0.0 fileno 0; 0.0 pwrite 3 10 1 0 0 0; 0.0 end exit 0",
    ),
    Known(
        "no longer append mode",
        "(MAX_BYTE|CONSEC|SEQ).*",
        "a program takes O_APPEND from the descriptor of a stream that appends: its data count at the end of the file",
        "0.0 fopen 0 a a; 0.0 fileno 0; 0.0 append 3 0; 0.0 lseek 3 10 0; 0.0 fputs 0 10 1; 0.0 end exit 0",
    ),
    Known(
        "working directory renamed",
        ".+",
        "a directory above is renamed by another process, or by a relative name: names from there may be the old ones",
        "0.0 chdir s; 0.0 stat b; 0.0 fork 1; 1.0 rename @/s @/w; 1.0 end exit 0; 0.0 wait 1; 0.0 stat b;"
        " 0.0 end exit 0",
    ),
    Known(
        "part of an item",
        "MAX_BYTE_READ.*",
        "part of an item counts in MAX_BYTE_READ where the stream's position is asked for, not in BYTES_READ",
        "0.0 fopen 0 b a+; 0.0 fread 0 200 2; 0.0 end exit 0",
    ),
)


def unknown(want: Ran, lines: Sequence[str]) -> list[str]:
    """The differences that no line of the table explains."""
    return [line for line in lines if not any(known.explains(want, line) for known in KNOWN)]
