"""The bytes that a log holds are those that the kernel moved, file by file."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import shown
import straced
from observed import Observed
from workloads import WORKLOADS, command_in, missing

# The classes that iolens counts only as such, by directory; docs/guide/seen-and-unseen.md has the same table.
EXCLUDED = tuple(f"/{name}/" for name in "etc dev usr bin boot lib opt sbin sys proc var".split())
FILE_CLASSES = ("library", "python", "program", "config", "device", "kernel", "state")
MAY_BE_UNSEEN = 100_000  # bytes, by the loader for a Python with some extension modules
STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")


def loaded(path: str) -> bool:
    """The loader reads the header of each library: out of sight of anything preloaded."""
    return path.endswith(".so") or ".so." in path


def excluded(path: str) -> bool:
    return path.startswith(EXCLUDED) or loaded(path)


@dataclass
class Accounts:
    """The kernel's and the log's, by (path, kind)."""

    kernel: dict[tuple[str, str], int]
    posix: dict[tuple[str, str], int]
    stdio: dict[tuple[str, str], int]
    seen: Observed

    def files(self) -> set[str]:
        paths = {path for path, _ in (*self.kernel, *self.posix, *self.stdio)}
        return {p for p in paths if p.startswith("/") and not excluded(p)}


def of_records(seen: Observed, interface: str) -> dict[tuple[str, str], int]:
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for (module, name, _), counters in seen.records.items():
        if module == interface:
            sums[name, "read"] += int(counters[f"{interface}_BYTES_READ"])
            sums[name, "written"] += int(counters[f"{interface}_BYTES_WRITTEN"])
    return sums


def wrong_files(a: Accounts) -> Iterator[str]:
    """Descriptors: equal. Streams: written is equal, read is at most what libc read ahead."""
    streams = {name for name, _ in a.stdio}
    for path in sorted(a.files()):
        for kind in ("read", "written"):
            kernel, posix, stdio = a.kernel[path, kind], a.posix[path, kind], a.stdio[path, kind]
            rest = kernel - posix - stdio
            ahead = kind == "read" and path in streams
            redirected = kind == "written" and rest > 0  # <STDOUT> and <STDERR>: checked in sum
            if rest and not redirected and not (ahead and rest > 0):
                yield f"{path}: {kind} {kernel}, POSIX {posix}, STDIO {stdio}"


def wrong_streams(a: Accounts) -> Iterator[str]:
    """What has no file's record went to <STDOUT> and <STDERR>, or came from libc (messages, semaphores)."""
    kernel = sum(n for (path, kind), n in a.kernel.items() if kind == "written")
    files = sum(a.posix[path, "written"] + a.stdio[path, "written"] for path in a.files())
    streams = sum(a.stdio[name, "written"] for name in STREAMS)
    rest = kernel - files - streams - a.seen.class_total("bytes_written")
    unseen = sum(max(int(row["unseen_written"]), 0) for row in a.seen.sections["process"])
    if rest != unseen:
        yield f"no file's record, no class, no stream: wrote {rest}, the log says unseen {unseen}"


def wrong_pipes(a: Accounts) -> Iterator[str]:
    read = sum(
        n for (path, kind), n in a.kernel.items() if kind == "read" and path.startswith(("pipe:", "socket:"))
    )
    counted = (
        a.seen.class_total("bytes_read", "pipe", "socket", "socket_unix", "socket_loopback")
        + a.stdio["<STDIN>", "read"]
    )
    if read != counted:
        yield f"pipes and sockets: read {read}, the log says {counted}"


def wrong_classes(a: Accounts) -> Iterator[str]:
    """Of the excluded files libc itself reads some: for its locale, users, hosts."""
    for kind in ("read", "written"):
        kernel = sum(n for (path, k), n in a.kernel.items() if k == kind and excluded(path))
        counted = a.seen.class_total(f"bytes_{kind}", *FILE_CLASSES)
        if counted > kernel:
            yield f"excluded files: {kind} {kernel}, the log says {counted}"


def wrong_processes(a: Accounts, moved: list[straced.Moved]) -> Iterator[str]:
    """The kernel's own sums of each process, which tell what was unseen, are those that strace sees."""
    processes: dict[int, list[shown.Row]] = defaultdict(list)
    for row in a.seen.sections["process"]:
        processes[int(row["pid"])].append(row)
    for process, rows in processes.items():
        # Nobody could ask a killed process: what it moved unseen is in the sum of its parent.
        killed = [r for r in a.seen.sections["process"] if r["ended"] in ("unknown", "signal")]
        more = sum(int(r["parent"]) == process for r in killed) * MAY_BE_UNSEEN
        for kind in ("read", "written"):
            sums = [int(row[f"kernel_{kind}"]) for row in rows]
            traced = sum(m.bytes for m in moved if m.kind == kind and m.process == process and not m.loading)
            if min(sums) >= 0 and not traced <= sum(sums) <= traced + more:
                yield f"{rows[-1]['command'][:40]}: {kind} {traced}, the log says {sum(sums)}"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("name", WORKLOADS)
def test_bytes_per_file_are_the_kernels(iolens: Path, preload: Path, tmp_path: Path, name: str) -> None:
    workload = WORKLOADS[name]
    if missing(workload):
        pytest.skip(f"not installed: {', '.join(missing(workload))}")
    (tmp_path / "place").mkdir()
    (tmp_path / "traces").mkdir()
    command = command_in(workload, tmp_path / "place")
    line = [iolens, "run", "-q", "-o", tmp_path / "a.darshan", "--", *command]
    code, moved = straced.trace(line, tmp_path / "traces", cwd=tmp_path / "place", stdin=subprocess.DEVNULL)
    assert code == workload.code
    seen = Observed(None, tmp_path / "a.darshan", iolens)
    a = Accounts(straced.by_path(moved), of_records(seen, "POSIX"), of_records(seen, "STDIO"), seen)
    wrong = [
        *wrong_files(a),
        *wrong_streams(a),
        *wrong_pipes(a),
        *wrong_classes(a),
        *wrong_processes(a, moved),
    ]
    assert not wrong, "\n" + "\n".join(wrong)
    if workload.processes:
        assert len(seen.sections["process"]) == workload.processes
