"""How long MPI_Finalize takes with and without iolens, and how large the log becomes.

Records are put into the stores (shutdown.c): no file is opened. Bare and observed runs take turns; the time of a run
is that of its slowest rank. Prints minimum, quartiles and maximum in ms, bytes of the log, how many of them are
records and names, and the phases of the last run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SCENES = {
    "bare": (0, 0),
    "1 shared": (1, 0),
    "1024 shared": (1024, 0),
    "1 own": (0, 1),
    "1024 own": (0, 1024),
}
OPTIONS = {
    "mpich": [],
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
}


def once(mpi: str, ranks: int, scene: str, directory: Path, preload: Path) -> float:
    log, yielding = directory / "log.darshan", directory / "yield.so"
    log.unlink(missing_ok=True)
    libraries = [yielding] if scene == "bare" else [preload, yielding]
    env = {
        **os.environ,
        "LD_PRELOAD": ":".join(map(str, libraries)),
        "IOLENS_LOGFILE": str(log),
        "IOLENS_FINALIZE_TIMEOUT": "120",
    }
    command = [f"mpirun.{mpi}", *OPTIONS[mpi], "-n", str(ranks), str(directory / "shutdown")]
    ended = subprocess.run(
        [*command, *map(str, SCENES[scene])], env=env, check=True, capture_output=True, text=True
    )
    return max(float(line.split()[1]) for line in ended.stdout.splitlines()) * 1e3


def darshans_part(log: Path) -> int:
    """Where Darshan's regions end and the extension trailer begins."""
    header = log.read_bytes()[:1072]
    places = struct.unpack_from("<130Q", header, 32)
    return max(offset + length for offset, length in zip(places[::2], places[1::2]) if length)


def box(times: list[float]) -> str:
    if len(times) < 2:
        return " ".join(f"{time:.1f}" for time in times)
    return " ".join(f"{t:.1f}" for t in [min(times), *statistics.quantiles(times, n=4), max(times)])


def phases(iolens: Path, log: Path) -> str:
    shown = subprocess.run([iolens, "show", "--ext", log], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t")[1:3] for line in shown.splitlines() if line.startswith("# [phase]")][1:]
    return ", ".join(f"{name} {float(seconds) * 1e3:.1f}" for name, seconds in rows)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 4, 16, 64])
    arguments.add_argument("--samples", type=int, default=10)
    arguments.add_argument("--mpi", choices=OPTIONS, default="mpich")
    chosen = arguments.parse_args()
    build = chosen.build.resolve()
    preload, iolens = build / "runtime" / "libiolens.so", build / "cli" / "iolens"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        compiler = f"mpicc.{chosen.mpi}"
        subprocess.run([compiler, "-O2", HERE / "shutdown.c", "-o", directory / "shutdown"], check=True)
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", HERE / "yield.c", "-o", directory / "yield.so"], check=True
        )
        for ranks in chosen.ranks:
            times: dict[str, list[float]] = {scene: [] for scene in SCENES}
            told: dict[str, str] = {}
            for _ in range(chosen.samples):
                for scene in SCENES:
                    times[scene].append(once(chosen.mpi, ranks, scene, directory, preload))
                    log = directory / "log.darshan"
                    if scene != "bare":
                        told[scene] = f"{log.stat().st_size} B, {darshans_part(log)} B; {phases(iolens, log)}"
            for scene in SCENES:
                print(f"{ranks:4} {scene:12} {box(times[scene])} ms; {told.get(scene, '')}", flush=True)


if __name__ == "__main__":
    main()
