"""Threads do I/O while others fork, exec, spawn, sort, end, and are interrupted by signals.

Nothing hangs, and every write is counted once. The same under sanitizers, linked with the preload library's sources.

STRESS_SECONDS makes it longer (`make stress`).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import places
import pytest
import shown

SECONDS = float(os.environ.get("STRESS_SECONDS", "5"))
# Threads that come and go have files of their own: more than the usual budget of a process has records for.
ROOM = {"IOLENS_BUDGET": "512"}
# Whoever has not ended then hangs.
PATIENCE = 60.0
ACTORS = {
    "io": ["io", "names", "threads"],
    "children": ["io", "forks", "exits", "fork-threads", "vforks", "execs", "spawns", "sorts"],
    "handlers": ["io", "sorts", "bare-forks", "ends", "signals", "cancels", "hostile"],
}
# What a sanitizer cannot follow is left out: threads of a forked child (fork-threads, ends), in which its allocator may
# be locked; for ThreadSanitizer also a fork that it does not see (bare-forks), and its own munmap of what the kernel
# keeps (hostile).
SANITIZED = {
    "tsan": [
        ["io", "names", "threads", "forks"],
        ["io", "exits", "vforks", "execs", "spawns"],
        ["io", "sorts", "signals", "cancels"],
    ],
    "asan": [
        ["io", "names", "threads", "forks", "exits"],
        ["io", "vforks", "execs", "spawns", "bare-forks"],
        ["io", "sorts", "signals", "cancels", "hostile"],
    ],
}
# The alternate stack of AddressSanitizer is one of a thread that a cancellation has unwound.
SANITIZERS = {"ASAN_OPTIONS": "use_sigaltstack=0"}
REPORT = re.compile(r"runtime error|(ERROR|WARNING): \w+Sanitizer")


@pytest.fixture(scope="session")
def stress(build_dir: Path) -> Path:
    return places.make("tests/stress/stress")


def tree(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in thread.read_text().split():
            yield from tree(int(child))


def where(pid: int) -> str:
    """The stacks of a process that hangs."""
    if not shutil.which("gdb"):
        return f"{pid}: {Path(f'/proc/{pid}/syscall').read_text()}"
    command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 20"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    return f"{pid}:\n" + "\n".join(
        line for line in done.stdout.splitlines() if line.startswith(("#", "Thread"))
    )


def run(
    command: Sequence[str | Path], environment: Mapping[str, str], seconds: float = SECONDS
) -> dict[str, int]:
    """What the program says that it wrote; a program that hangs is shown and ended."""
    started = subprocess.Popen(
        command,
        env={**os.environ, **ROOM, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = started.communicate(timeout=seconds + PATIENCE)
    except subprocess.TimeoutExpired:
        hanging = list(tree(started.pid))
        for pid in hanging:
            sys.stdout.write(where(pid))
        for pid in hanging:
            os.kill(pid, signal.SIGKILL)
        started.communicate()
        pytest.fail("the program hangs")
    assert started.returncode == 0, err
    assert not REPORT.search(err), err
    found = re.search(r"writes (\d+) bytes (\d+)", out)
    assert found, out + err
    return {"writes": int(found[1]), "bytes": int(found[2])}


def written(iolens: Path, logs: Sequence[Path]) -> dict[str, int]:
    """The same as all logs have it."""
    sums = {"writes": 0, "bytes": 0}
    for log in logs:
        done = subprocess.run([iolens, "show", "--base", log], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for (module, name, _), record in shown.records(done.stdout).items():
            if module == "POSIX" and name.endswith(".counted"):
                sums["writes"] += int(record["POSIX_WRITES"])
                sums["bytes"] += int(record["POSIX_BYTES_WRITTEN"])
    return sums


@pytest.mark.parametrize("actors", ACTORS)
def test_under_iolens_run(actors: str, stress: Path, iolens: Path, preload: Path, tmp_path: Path) -> None:
    log, data = tmp_path / "job.darshan", tmp_path / "data"
    data.mkdir()
    program = [stress, data, str(SECONDS), *ACTORS[actors]]
    wrote = run([iolens, "run", "-q", "-o", log, "--", *program], {})
    assert wrote["writes"] > 0
    assert written(iolens, [log]) == wrote


@pytest.mark.parametrize("actors", ACTORS)
def test_under_the_library_alone(
    actors: str, stress: Path, iolens: Path, preload: Path, tmp_path: Path
) -> None:
    logs, data = tmp_path / "logs", tmp_path / "data"
    logs.mkdir()
    data.mkdir()
    settings = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(logs)}
    wrote = run([stress, data, str(SECONDS), *ACTORS[actors]], settings)
    assert wrote["writes"] > 0
    assert any(logs.rglob("*.darshan"))
    assert written(iolens, sorted(logs.rglob("*_stress_*.darshan"))) == wrote


@pytest.mark.parametrize("sanitizer", SANITIZED)
def test_under_a_sanitizer(sanitizer: str, iolens: Path, build_dir: Path, tmp_path: Path) -> None:
    program = places.make(f"tests/stress/stress-{sanitizer}")
    for n, actors in enumerate(SANITIZED[sanitizer]):
        logs, data = tmp_path / f"logs-{n}", tmp_path / f"data-{n}"
        logs.mkdir()
        data.mkdir()
        settings = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(logs), **SANITIZERS}
        wrote = run([program, data, str(SECONDS / 2), *actors], settings, SECONDS / 2)
        assert written(iolens, sorted(logs.rglob("*_stress-*.darshan"))) == wrote
