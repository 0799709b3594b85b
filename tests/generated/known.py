"""What is known to differ from the model: one line each, with a small program that shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .operations import Op, parse
from .outcome import Ran


@dataclass(frozen=True)
class Known:
    """Differences that match `line`, of processes to which this has happened (`Image.marks`)."""

    happened: str
    line: str
    why: str
    program: str

    def operations(self) -> list[Op]:
        return [parse(text.strip()) for text in self.program.split(";")]

    def explains(self, want: Ran, line: str) -> bool:
        found = re.fullmatch(rf"rank (\d+): (?:(?:POSIX|STDIO) (\S+): )?{self.line}", line)
        if found:
            return self.happened in want.marks[int(found[1])]
        everything = self.line == ".*" and not line.startswith("rank")
        return everything and any(self.happened in marks for marks in want.marks)


KNOWN = (
    Known(
        "bytes of 0 in a last line",
        "(MAX_BYTE_READ|BYTES_READ) .+",
        "fgets tells no length, and a stream that other threads use tells its position to none",
        "0.0 thread 1; 0.1 open e 66 416; 0.1 truncate e 10; 0.1 fopen 5 e r; 0.1 fgets 5 100; 0.1 end exit 3",
    ),
    Known(
        "working directory renamed",
        ".+",
        "a directory above is renamed by another process: no call tells of it, and to ask at each open would cost a"
        " quarter of one, so names may be the old ones for 10 ms; or by a relative name, which is read afterwards",
        "0.0 chdir s; 0.0 stat b; 0.0 fork 1; 1.0 rename @/s @/w; 0.0 stat b; 1.0 end exit 0; 0.0 wait 1;"
        " 0.0 end exit 0",
    ),
)


def unknown(want: Ran, lines: Sequence[str]) -> list[str]:
    """The differences that no line of the table explains."""
    return [line for line in lines if not any(known.explains(want, line) for known in KNOWN)]
