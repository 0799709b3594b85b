"""What the kernel says that a command read and wrote: `strace` of `iolens run COMMAND`.

One run gives both accounts, so that nothing but iolens can be the reason of a difference. What iolens itself
does is left out, what a program's loader reads before any of its code runs is marked.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

READS = {"read", "pread64", "readv", "preadv", "preadv2"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
BETWEEN = {"sendfile", "copy_file_range", "splice"}
FORKS = {"clone", "clone3", "fork", "vfork"}
TRACED = ",".join(sorted(READS | WRITES | BETWEEN | FORKS | {"execve", "execveat"}))

# Before an exec the runtime looks at the program's header.
PEEK = ", 1024, 0"

OWN = ("io", "mounts", "pagemap", "schedstat", "smaps", "statm")

CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)")
DESCRIPTOR = re.compile(r"(\d+)<(.*?)>(\(deleted\))?(?=[,)]|$)")


@dataclass(frozen=True)
class Moved:
    process: int
    path: str  # as strace prints it: a file's path, pipe:[n], socket:[n]
    kind: str  # read or written
    bytes: int
    loading: bool  # before the program's own code ran


def calls(file: Path) -> Iterator[tuple[str, str, int]]:
    for line in file.read_text(errors="surrogateescape").splitlines():
        found = CALL.match(line)
        if found and found[3] != "?":
            yield found[1], found[2], int(found[3])


def of_call(name: str, arguments: str, result: int) -> Iterator[tuple[str, str, int]]:
    """(path, kind, bytes) of what one call moved."""
    paths = [found[2] for found in DESCRIPTOR.finditer(arguments)]
    if result <= 0:
        return
    if name in READS:
        yield paths[0], "read", result
    elif name in WRITES:
        yield paths[0], "written", result
    elif name in BETWEEN:
        source, target = paths[:2] if name != "sendfile" else (paths[1], paths[0])
        yield source, "read", result
        yield target, "written", result


def is_own(path: str, process: int) -> bool:
    """Read by the runtime: its bookkeeping, the pages of mapped files, and the clock's source; and its store."""
    own = {f"/proc/{process}/{name}" for name in OWN}
    of_thread = re.fullmatch(rf"/proc/{process}/task/\d+/(io|schedstat)", path)
    return path in own or bool(of_thread) or "clocksource" in path or path.endswith(".store")


def of_process(file: Path, process: int, is_command: bool) -> Iterator[Moved]:
    """In the command's process iolens itself runs until the first exec that succeeds."""
    started, loading = not is_command, False
    for name, arguments, result in calls(file):
        if name.startswith("execve") and result == 0:
            started = loading = True
        if name == "pread64" and arguments.endswith(PEEK):
            continue
        for path, kind, moved in of_call(name, arguments, result):
            if is_own(path, process):
                loading = False
            elif started:
                yield Moved(process, path, kind, moved, loading)


def leaders(files: Mapping[int, Path]) -> dict[int, int]:
    """The process that each thread belongs to."""
    parent = {
        result: number
        for number, file in files.items()
        for name, arguments, result in calls(file)
        if name in FORKS and "CLONE_THREAD" in arguments
    }
    found = {}
    for number in files:
        process = number
        while process in parent:
            process = parent[process]
        found[number] = process
    return found


def trace(command: Sequence[str | Path], place: Path, **settings: object) -> tuple[int, list[Moved]]:
    """The exit code of `iolens run ...` and what its command's processes moved. place: an empty directory."""
    line = ["strace", "-ff", "-y", "-s", "0", "-o", place / "trace", "-e", f"trace={TRACED}", *command]
    done = subprocess.run([str(word) for word in line], check=False, capture_output=True, **settings)
    files = {int(file.suffix[1:]): file for file in place.glob("trace.*")}
    leader = leaders(files)
    top = next(p for p, file in files.items() if f'"{command[0]}"' in file.read_text().partition("\n")[0])
    forked = [(arguments, result) for name, arguments, result in calls(files[top]) if name in FORKS]
    process, witness = (result for arguments, result in forked if "CLONE_THREAD" not in arguments)
    return done.returncode, [
        moved
        for number, file in sorted(files.items())
        if leader[number] not in (top, witness)
        for moved in of_process(file, leader[number], number == process)
    ]


def by_path(moved: Sequence[Moved], *, loading: bool = False) -> Mapping[tuple[str, str], int]:
    """Bytes by (path, kind)."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for m in moved:
        if loading or not m.loading:
            sums[m.path, m.kind] += m.bytes
    return sums
