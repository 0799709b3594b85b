"""What `iolens trace` prints of a log, as numbers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import places

SEGMENT = re.compile(
    r" +X_(?P<interface>POSIX|MPIIO|STDIO|H5D) +(?P<rank>-?\d+) +(?P<kind>write|read) +(?P<number>\d+) "
    r"+(?P<offset>-?\d+) +(?P<length>-?\d+) +(?P<start>[\d.-]+) +(?P<end>[\d.-]+)"
)
Accesses = dict[tuple[str, str, int, str], list[tuple[int, int]]]


@dataclass
class Segment:
    interface: str
    file: str
    rank: int
    kind: str
    offset: int
    length: int
    start: float
    end: float


def of_lines(lines: Iterable[str]) -> list[Segment]:
    found, file = [], ""
    for line in lines:
        if line.startswith("# DXT, file_id:"):
            file = line.rstrip("\n").partition("file_name: ")[2]
        if match := SEGMENT.match(line):
            one = match.groupdict()
            numbers = int(one["rank"]), one["kind"], int(one["offset"]), int(one["length"])
            found.append(Segment(one["interface"], file, *numbers, float(one["start"]), float(one["end"])))
    return found


def text(log: Path) -> str:
    done = subprocess.run(
        [places.BIN, "trace", "--show-incomplete", log], check=False, capture_output=True, text=True
    )
    assert done.returncode in (0, 4), done.stderr
    return done.stdout


def segments(log: Path) -> list[Segment]:
    return of_lines(text(log).splitlines())


def accesses(found: Iterable[Segment]) -> Accesses:
    """(interface, name without its directory, rank, read or write) -> offset and length, in order of completion."""
    sorted_out: Accesses = {}
    for s in found:
        key = s.interface, Path(s.file).name, s.rank, s.kind
        sorted_out.setdefault(key, []).append((s.offset, s.length))
    return sorted_out
