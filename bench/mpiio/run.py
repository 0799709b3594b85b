"""What the preloaded library adds to an MPI-IO call of one byte: one process, bare and observed in turn.

With --instructions valgrind counts instead of the clock: of bare and observed runs, for regressions.

Three ways: bare, observed, and observed without POSIX records (which leaves what MPI-IO itself adds, since
MPI-IO reads and writes through POSIX). Prints the median (and least) nanoseconds per call over the rounds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_POSIX = {"IOLENS_MOD_DISABLE": "POSIX"}
OPERATIONS = ["read_at", "write_at", "read_at_all", "iread_at+wait", "seek", "isend+irecv+waitall"]


def run(program: list[str | Path], iolens: Path | None, directory: Path, extra: dict[str, str]) -> str:
    """What it prints, on either stream."""
    log = directory / "log.darshan"
    for old in directory.glob("log*.darshan"):  # Open MPI starts a server beside a single process: log-serial
        old.unlink()
    command = [iolens, "run", "--quiet", "-o", log, "--"] if iolens else []
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**os.environ, **as_root, **extra}
    ran = subprocess.run(
        [*command, *program], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    return ran.stdout + ran.stderr


def once(program: Path, iolens: Path | None, directory: Path, extra: dict[str, str]) -> dict[str, float]:
    lines = run([program], iolens, directory, extra).splitlines()
    return {name: float(ns) for name, ns in (line.split() for line in lines if line.count(" ") == 1)}


def instructions(program: Path, iolens: Path | None, directory: Path, operation: str) -> float:
    """Per call; from two numbers of calls, so that start and end cancel."""

    def count(calls: int) -> int:
        tool: list[str | Path] = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        text = run([*tool, program, operation, str(calls)], iolens, directory, {})
        return int(re.findall(r"Collected : (\d+)", text)[-1])

    return (count(6000) - count(1000)) / 5000


def report_instructions(mpi: str, program: Path, iolens: Path, directory: Path) -> None:
    print(f"{mpi:<22}{'bare':>9}{'observed':>9}{'added':>9}")
    for operation in OPERATIONS:
        bare, observed = (instructions(program, which, directory, operation) for which in (None, iolens))
        print(f"{operation:<22}{bare:>9.0f}{observed:>9.0f}{observed - bare:>9.0f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--mpi", nargs="+", default=["mpich", "openmpi"])
    arguments.add_argument("--instructions", action="store_true", help="count instructions, take no times")
    chosen = arguments.parse_args()
    iolens = next(p for p in (chosen.build / "iolens", chosen.build / "cli" / "iolens") if p.exists())
    for mpi in filter(lambda mpi: shutil.which(f"mpicc.{mpi}"), chosen.mpi):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program = directory / "mpiio"
            source = Path(__file__).with_name("mpiio.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", "-o", program, source], check=True)
            if chosen.instructions:
                report_instructions(mpi, program, iolens, directory)
                continue
            ways = {"bare": (None, {}), "observed": (iolens, {}), "no posix": (iolens, WITHOUT_POSIX)}
            times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for _ in range(chosen.rounds):
                for way, (runner, extra) in ways.items():
                    for operation, ns in once(program, runner, directory, extra).items():
                        times[operation][way].append(ns)
            report(mpi, times)


def report(mpi: str, times: dict[str, dict[str, list[float]]]) -> None:
    print(f"{mpi:<22}{'bare':>16}{'observed':>16}{'added':>9}{'by MPI-IO':>11}")
    for operation, by_way in times.items():
        bare = by_way["bare"]
        cells = [f"{statistics.median(by_way[w]):8.0f} ({min(by_way[w]):5.0f})" for w in ("bare", "observed")]
        added = [
            statistics.median(observed - b for observed, b in zip(by_way[w], bare))
            for w in ("observed", "no posix")
        ]
        print(f"{operation:<22}{cells[0]:>16}{cells[1]:>16}{added[0]:>9.0f}{added[1]:>11.0f}")


if __name__ == "__main__":
    main()
