"""What starting and ending processes costs: a shell that starts a small program again and again, in turn bare, with an
empty library preloaded (less than it takes no library can), with the library alone (every process writes its log) and
under `iolens run` (one log of all).

Prints per process the median and the least of wall and processor time in us, and the ratio to the bare ones of the same
round, the median over rounds.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("bare", "an empty library", "loaded, not observed", "the library alone", "iolens run")


def command(way: str, build: Path, directory: Path, processes: int, program: str) -> list[str]:
    loop = ["sh", "-c", f"i=0; while [ $i -lt {processes} ]; do {program}; i=$((i+1)); done"]
    if way == "iolens run":
        return [
            str(build / "cli" / "iolens"),
            "run",
            "--quiet",
            "-o",
            str(directory / "log.darshan"),
            "--",
            *loop,
        ]
    return loop


def environment(way: str, build: Path, directory: Path) -> dict[str, str]:
    own = dict(os.environ)
    if way == "an empty library":
        own["LD_PRELOAD"] = str(directory / "empty.so")
    if way in ("loaded, not observed", "the library alone"):
        own["LD_PRELOAD"] = str(build / "runtime" / "libiolens.so")
    if way == "the library alone":
        own |= {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(directory)}
    return own


def measure(way: str, given: argparse.Namespace) -> tuple[float, float]:
    """Wall and processor time of one process in us."""
    directory = Path(tempfile.mkdtemp(prefix="start-"))
    try:
        make = ["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", directory / "empty.so"]
        subprocess.run(make, check=True)
        run = command(way, given.build, directory, given.processes, given.program)
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            run, env=environment(way, given.build, directory), check=True, stdout=subprocess.DEVNULL
        )
        took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        shutil.rmtree(directory)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return took / given.processes * 1e6, processor / given.processes * 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description="cost of starting and ending a process")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--processes", type=int, default=1000)
    arguments.add_argument("--program", default="/bin/true")
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    given = arguments.parse_args()
    rounds: list[dict[str, tuple[float, float]]] = []
    for turn in range(given.rounds):
        ways = WAYS if turn % 2 else WAYS[::-1]
        rounds.append({way: measure(way, given) for way in ways})
    print("| | wall us | ratio | processor us | ratio |\n|---|---|---|---|---|")
    for way in WAYS:
        cells = [way]
        for kind in (0, 1):
            all_of_them = [one[way][kind] for one in rounds]
            ratio = statistics.median(one[way][kind] / one["bare"][kind] for one in rounds)
            cells += [f"{statistics.median(all_of_them):.0f} ({min(all_of_them):.0f})", f"{ratio:.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
