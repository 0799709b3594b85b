"""What observing adds to each call of a library: a program that makes calls of one kind, observed in several ways.

Used by bench/hdf5 and bench/pnetcdf. The program: NAME FILE CALLS KIND; its first word of output is nanoseconds a call.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LIBRARY = str(Path(__file__).resolve().parents[1] / "build" / "runtime" / "libiolens.so")


@dataclass(frozen=True)
class Calls:
    """A program of `source`, built by `compiler`, that works on the file `data`."""

    compiler: Sequence[str]
    source: Path
    libraries: Sequence[str]
    data: str
    kinds: Sequence[str]
    modules: str
    heading: str

    def ways(self) -> list[dict[str, str]]:
        """Environments: bare, observed, and observed without the library's modules."""
        # Stores that others have left would be looked at, too, now more and now fewer.
        observed = {"LD_PRELOAD": LIBRARY, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_ABANDONED": "keep"}
        return [{}, observed, {**observed, "IOLENS_MOD_DISABLE": self.modules}]

    def run(self, place: Path, way: dict[str, str], calls: int, kind: str, tool: Sequence[str]) -> str:
        for old in place.glob("*.darshan"):
            old.unlink()
        # Not one name for all: a process without MPI that Open MPI starts has a log of its own.
        env = {**os.environ, **way, "IOLENS_LOGPATH": str(place)}
        command = [*tool, place / "program", place / self.data, str(calls), kind]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    def instructions(self, place: Path, way: dict[str, str], kind: str) -> float:
        """From two numbers of calls, so that start and end cancel."""

        def count(calls: int) -> int:
            tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
            return int(re.findall(r"Collected : (\d+)", self.run(place, way, calls, kind, tool))[-1])

        return (count(3000) - count(1000)) / 2000

    def times(self, place: Path, kind: str, rounds: int) -> list[float]:
        """The least of all rounds, the ways in turn."""
        seen: list[list[float]] = [[] for _ in self.ways()]
        for _ in range(rounds):
            for found, way in zip(seen, self.ways()):
                found.append(float(self.run(place, way, 20000, kind, []).split()[0]))
        return [min(values) for values in seen]

    def main(self, description: str | None) -> None:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--rounds", type=int, default=0)
        rounds = parser.parse_args().rounds
        print(
            f"| {self.heading} | bare, {'ns' if rounds else 'instructions'} | added | of which by what is below |"
        )
        print("|---|---|---|---|")
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            command = [*self.compiler, "-O1", "-o", place / "program", self.source, *self.libraries]
            subprocess.run(command, check=True, cwd=place)
            for kind in self.kinds:
                bare, seen, off = (
                    self.times(place, kind, rounds)
                    if rounds
                    else [self.instructions(place, way, kind) for way in self.ways()]
                )
                print(f"| {kind} | {bare:,.0f} | {seen - bare:+,.0f} | {off - bare:+,.0f} |", flush=True)
