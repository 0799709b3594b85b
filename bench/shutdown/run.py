"""How long MPI_Finalize takes with and without iolens, how that time is spent, and how large the log becomes.

Records are put into the stores (shutdown.c): no file is opened. Bare and observed runs take turns; the time of a run
is that of its slowest rank. Samples are kept in a file, so that a measurement can be made in pieces: each call adds
what is missing, for --at-most seconds. Exit code 0: there are all samples, 4: there are not yet.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import messages
import report

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SCENES = {"1 shared": (1, 0), "1024 shared": (1024, 0), "1 own": (0, 1), "1024 own": (0, 1024)}
OPTIONS = {
    "mpich": [],
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
}
PARTIAL = 4
JOB_SECONDS = 170  # then a job counts as failed

Sample = dict[str, Any]  # as JSON has it


class Bench:
    """The programs, built, and how they are run."""

    def __init__(self, mpi: str, build: Path, finalize: str, directory: Path) -> None:
        self.mpi, self.finalize, self.directory = mpi, finalize, directory
        self.preload, self.iolens = build / "runtime" / "libiolens.so", build / "cli" / "iolens"
        self.log, self.yielding = directory / "log.darshan", directory / "yield.so"
        runtime = ROOT / "runtime" / "base"
        for command in (
            [
                f"mpicc.{mpi}",
                "-O2",
                "-D_GNU_SOURCE",
                "-I",
                runtime,
                HERE / "shutdown.c",
                runtime / "sys.c",
                "-o",
                directory / "shutdown",
            ],
            ["cc", "-O2", "-shared", "-fPIC", HERE / "yield.c", "-o", self.yielding],
        ):
            subprocess.run(command, check=True)

    def job(self, ranks: int, scene: str, observed: bool, timeout: float, *options: str) -> tuple[float, ...]:
        """Seconds until the MPI's own MPI_Finalize begins, and of all of it: each of the slowest rank."""
        libraries = [self.preload, self.yielding] if observed else [self.yielding]
        env = {
            **os.environ,
            "LD_PRELOAD": ":".join(map(str, libraries)),
            "IOLENS_LOGFILE": str(self.log),
            "IOLENS_FINALIZE": self.finalize,
            "IOLENS_FINALIZE_TIMEOUT": "120",
        }
        command = [f"mpirun.{self.mpi}", *OPTIONS[self.mpi], *options, "-n", str(ranks)]
        command += [str(self.directory / "shutdown"), *map(str, SCENES[scene])]
        self.log.unlink(missing_ok=True)
        ended = subprocess.run(
            command, env=env, check=True, capture_output=True, text=True, timeout=timeout, cwd=self.directory
        )
        rows = [[float(word) for word in line.split()[1:]] for line in ended.stdout.splitlines()]
        if len(rows) != ranks:
            raise subprocess.SubprocessError(f"{len(rows)} of {ranks} ranks answered")
        return tuple(max(column) for column in zip(*rows))

    def convert(self, to: Path) -> None:
        """The last log, as small as it can be."""
        subprocess.run([self.iolens, "convert", "--best", self.log, to], check=True)

    def phases(self) -> dict[str, float]:
        shown = subprocess.run(
            [self.iolens, "show", "--ext", self.log], check=True, capture_output=True, text=True
        ).stdout
        rows = [line.split("\t")[1:3] for line in shown.splitlines() if line.startswith("# [phase]")][1:]
        return {name: float(seconds) for name, seconds in rows}

    def sample(self, ranks: int, scene: str, timeout: float) -> Sample:
        """One bare and one observed run."""
        try:
            bare = self.job(ranks, scene, False, timeout)
            own, whole = self.job(ranks, scene, True, timeout)
            return {
                "bare": bare[1],
                "own": own,
                "whole": whole,
                "phases": self.phases(),
                "log": self.log.stat().st_size,
                "regions": darshans_part(self.log),
                "load": os.getloadavg()[0],
            }
        except subprocess.CalledProcessError as error:
            return {"failed": (error.stderr or error.stdout or str(error)).strip().splitlines()[-1:]}
        except (subprocess.SubprocessError, OSError) as error:
            return {"failed": [str(error)]}


def darshans_part(log: Path) -> int:
    """Where Darshan's regions end and the extension trailer begins."""
    header = log.read_bytes()[:1072]
    places = struct.unpack_from("<130Q", header, 32)
    return max(offset + length for offset, length in zip(places[::2], places[1::2]) if length)


def machine() -> dict[str, Any]:
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.machine(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
    }


def read(results: Path) -> dict[str, Any]:
    if not results.exists():
        return {"machine": machine(), "series": []}
    found: dict[str, Any] = json.loads(results.read_text())
    return found


def series_of(known: dict[str, Any], chosen: argparse.Namespace, ranks: int, scene: str) -> Sample:
    key = {"mpi": chosen.mpi, "finalize": chosen.finalize, "ranks": ranks, "scene": scene}
    for series in known["series"]:
        if all(series[name] == value for name, value in key.items()):
            return series
    series = {**key, "samples": []}
    known["series"].append(series)
    return series


def collect(bench: Bench, chosen: argparse.Namespace, known: dict[str, Any]) -> bool:
    """True when nothing is missing."""
    ends = time.monotonic() + chosen.at_most
    longest = 0.0
    for ranks in chosen.ranks:
        for scene in chosen.scenes:
            samples = series_of(known, chosen, ranks, scene)["samples"]
            while len(samples) < chosen.samples:
                begun = time.monotonic()
                if begun + longest > ends:
                    return False
                samples.append(bench.sample(ranks, scene, JOB_SECONDS))
                longest = max(longest, time.monotonic() - begun)
                if chosen.results:
                    chosen.results.write_text(json.dumps(known, indent=1) + "\n")
    return True


def count(bench: Bench, chosen: argparse.Namespace, known: dict[str, Any]) -> None:
    """One job each: the counts do not vary."""
    for ranks in chosen.ranks:
        for scene in chosen.scenes:
            series = series_of(known, chosen, ranks, scene)
            series["messages"] = messages.count(bench, ranks, scene, JOB_SECONDS)
            if chosen.results:
                chosen.results.write_text(json.dumps(known, indent=1) + "\n")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="what is measured")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--mpi", choices=OPTIONS, default="mpich")
    parser.add_argument("--finalize", default="", help="IOLENS_FINALIZE, for example messages-apart")
    parser.add_argument("--results", type=Path, help="JSON file that samples are added to")
    parser.add_argument("--at-most", type=float, default=1e9, help="seconds after which no run is begun")
    parser.add_argument("--messages", action="store_true", help="count messages instead (--mpi openmpi)")
    parser.add_argument("--report", action="store_true", help="measure nothing, print what is in --results")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the summary as tables")
    chosen = parser.parse_args()
    if chosen.messages and chosen.mpi != "openmpi":
        parser.error("--messages: only Open MPI counts its messages: add --mpi openmpi")
    if chosen.report and not chosen.results:
        parser.error("--report: of which --results?")
    return chosen


def main() -> int:
    chosen = options()
    if chosen.report and not chosen.results.exists():
        raise SystemExit(f"bench/shutdown: no {chosen.results}: measure with --results first")
    known = read(chosen.results) if chosen.results else {"machine": machine(), "series": []}
    done = True
    if not chosen.report:
        with tempfile.TemporaryDirectory() as name:
            bench = Bench(chosen.mpi, chosen.build.resolve(), chosen.finalize, Path(name))
            if chosen.messages:
                count(bench, chosen, known)
            else:
                done = collect(bench, chosen, known)
    summary = report.summary(known)
    written = report.markdown if chosen.markdown else report.text
    print(json.dumps(summary, indent=1) if chosen.json else written(summary))
    return 0 if done else PARTIAL


if __name__ == "__main__":
    sys.exit(main())
