"""What the preloaded library adds to a call: short runs of one program, bare and observed in turn.

Prints, per operation, the median (and least) nanoseconds per call over the rounds of both, and what the
library added: the median of the rounds' differences, and the difference of the least. Every observed run
is `iolens run`. With --instructions valgrind counts instead: the same on any machine, for regressions.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least, known

ROOT = Path(__file__).resolve().parents[2]

FORWARDED = ", forwarded only"  # instead of observed: through a wrapper that does nothing

# Operation, calls per run, threads, and what may be added in ns (None: nothing was wanted).
OPERATIONS: list[tuple[str, int, int, float | None]] = [
    ("pread", 40_000, 1, 15),
    ("pread", 40_000, 2, 15),
    ("pread", 10_000, 64, None),
    ("pread-one-file", 40_000, 1, None),
    ("pread-one-file", 40_000, 2, None),
    ("pread-one-file", 10_000, 64, None),
    ("read", 40_000, 1, 15),
    ("pwrite", 40_000, 1, 15),
    ("write", 40_000, 1, 15),
    ("readv", 40_000, 1, 20),
    ("writev", 40_000, 1, 20),
    ("lseek", 80_000, 1, 15),
    ("excluded-pread", 100_000, 1, 3),
    ("excluded-pread" + FORWARDED, 100_000, 1, None),
    ("send+recv", 100_000, 1, None),
    ("libaio-pread", 20_000, 1, None),
    ("io_uring-read", 20_000, 1, None),
    ("flock", 20_000, 1, None),
    ("excluded-open+close", 20_000, 1, 60),
    ("excluded-open+close" + FORWARDED, 20_000, 1, None),
    ("fgetc", 1_000_000, 1, 10),
    ("fgetc", 1_000_000, 2, 10),
    ("fputc", 1_000_000, 1, 10),
    ("fputc", 1_000_000, 2, 10),
    ("fread-64", 500_000, 1, 15),
    ("fread-64", 500_000, 2, 15),
    ("fwrite-64", 500_000, 1, 15),
    ("fwrite-64", 500_000, 2, 15),
    ("fgets-8", 500_000, 1, None),
    ("fprintf", 500_000, 1, None),
    ("open+close", 10_000, 1, 120),
    ("open+close-relative", 10_000, 1, None),
    ("open+close-names", 100_000, 1, 150),
    ("fopen+fclose", 10_000, 1, None),
    ("stat", 20_000, 1, 40),
    ("stat-relative", 20_000, 1, None),
    ("fstat", 40_000, 1, None),
    ("true", 100, 1, 150_000),
]


class Bench:
    """The program, and where it works."""

    def __init__(self, build: Path, directory: Path) -> None:
        self.iolens = next(p for p in (build / "iolens", build / "cli" / "iolens") if p.exists())
        self.directory = directory
        self.program = directory / "opcost"
        source = Path(__file__).with_name("opcost.c")
        forward = source.with_name("forward.c")
        self.forward = directory / "forward.so"
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-o", self.program, source, "-lpthread", "-laio", "-luring"], check=True
        )
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", self.forward, forward], check=True)

    def run(self, observed: bool, name: str, calls: int, threads: int, tool: Sequence[str] = ()) -> str:
        log = self.directory / "log.darshan"
        log.unlink(missing_ok=True)
        before: list[str | Path] = []
        environment = dict(os.environ)
        if observed and name.endswith(FORWARDED):
            environment["LD_PRELOAD"] = str(self.forward)
        elif observed:
            before = [self.iolens, "run", "--quiet", "-o", log, "--"]
        operation = name.removesuffix(FORWARDED)
        program = [self.program, operation, str(calls), str(threads), self.directory]
        command: list[str | Path] = [*before, *tool, *program]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return str(ended.stdout) + str(ended.stderr)

    def measure(self, observed: bool, name: str, calls: int, threads: int) -> float:
        """Nanoseconds per call."""
        return float(self.run(observed, name, calls, threads))

    def resident(self, observed: bool) -> int:
        """KiB of a program that has done nothing yet but started, as the kernel counts its pages."""
        log = self.directory / "log.darshan"
        log.unlink(missing_ok=True)
        before = [self.iolens, "run", "--quiet", "-o", log, "--"]
        started = subprocess.Popen([*(before if observed else []), "sleep", "0.3"])
        try:
            time.sleep(0.15)
            children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text()
            pid = children.split()[0] if observed else started.pid  # the first is the command
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        finally:
            started.wait()
        return int(re.findall(r"^Rss: +(\d+) kB", rollup, re.MULTILINE)[0])

    def instructions(self, observed: bool, name: str) -> float:
        """Instructions per call; from two numbers of calls, so that start and end cancel."""

        def count(calls: int) -> int:
            out = self.directory / "callgrind.out"
            tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
            text = self.run(observed, name, calls, 1, tool)
            return int(re.findall(r"Collected : (\d+)", text)[-1])

        return (count(3000) - count(1000)) / 2000


def table(bench: Bench, wanted: list[str], rounds: int) -> None:
    print(
        f"Processor time of a call in ns: the median (and the least) of {rounds} rounds; added: the median of the\n"
        "rounds' differences, and the difference of the least; wanted: the target. Below 0, or far from the others:\n"
        "noise, of which more --rounds have less.\n"
    )
    print("| operation | threads | bare ns | observed ns | added ns (median) | added ns (least) | wanted |")
    print("|---|---|---|---|---|---|---|")
    for name, calls, threads, budget in OPERATIONS:
        if wanted and name not in wanted:
            continue
        bare: list[float] = []
        seen: list[float] = []
        for turn in range(rounds):
            # Which one goes first changes, so that a machine that slows down favours neither.
            for observed in (False, True) if turn % 2 else (True, False):
                (seen if observed else bare).append(bench.measure(observed, name, calls, threads))
        row(name, threads, bare, seen, budget)
    if not wanted or "true" in wanted:
        kib = [bench.resident(True) - bench.resident(False) for _ in range(min(rounds, 9))]
        print(f"| resident before the first file | | | | {statistics.median(kib):+.0f} KiB | | 400 KiB |")


def row(name: str, threads: int, bare: list[float], seen: list[float], budget: float | None) -> None:
    columns = [name, str(threads)]
    columns += [f"{statistics.median(took):.1f} ({min(took):.1f})" for took in (bare, seen)]
    added = statistics.median(b - a for a, b in zip(bare, seen, strict=True))
    columns += [
        f"{added:+.1f}",
        f"{min(seen) - min(bare):+.1f}",
        "" if budget is None else f"{budget:g}",
    ]
    print(f"| {' | '.join(columns)} |", flush=True)


def instructions(bench: Bench, wanted: list[str]) -> None:
    times = os.environ.get("IOLENS_TIMES", "sampled")
    print(
        f"Instructions of a call, IOLENS_TIMES={times}: exact takes the clock at each call, always-sampled at some.\n"
        "sampled, the default, takes more than exact here: under valgrind no call is fast enough.\n"
    )
    print("| operation | instructions bare | observed | added |")
    print("|---|---|---|---|")
    for name in dict.fromkeys(
        name for name, _, _, _ in OPERATIONS if name != "true" and not name.endswith(FORWARDED)
    ):
        if not wanted or name in wanted:
            bare, seen = (bench.instructions(observed, name) for observed in (False, True))
            print(f"| {name} | {bare:.0f} | {seen:.0f} | {seen - bare:+.0f} |", flush=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description="cost of the preloaded library per call")
    arguments.add_argument("--rounds", type=at_least(1), default=15)
    arguments.add_argument("--only", action="append", default=[], help="an operation; may be repeated")
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--directory", type=Path, help="where to put the files")
    arguments.add_argument("--instructions", action="store_true", help="count instructions, take no times")
    given = arguments.parse_args()
    known("opcost", given.only, [name for name, _, _, _ in OPERATIONS])
    directory = Path(tempfile.mkdtemp(prefix="opcost-", dir=given.directory))
    try:
        bench = Bench(given.build, directory)
        print(f"{platform.machine()}, Linux {platform.release()}, {os.cpu_count()} CPUs\n")
        if given.instructions:
            instructions(bench, given.only)
        else:
            table(bench, given.only, given.rounds)
    finally:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
