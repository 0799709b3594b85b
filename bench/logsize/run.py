"""Bytes of the logs of real MPI programs, compared with those of Darshan for the same operations.

Every rank opens, writes and closes files (files.c): some that all ranks have, some of its own. Darshan's bytes are
made of the same records (darshan_log.py); best is what `iolens convert --best` makes of the log.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import darshan_log

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
SCENES = {"1 shared": (1, 0), "1024 shared": (1024, 0), "1 own": (0, 1), "256 own": (0, 256)}
OPTIONS = {
    "mpich": [],
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
}


def observe(chosen: argparse.Namespace, program: Path, ranks: int, scene: str) -> Path:
    """The log of a run."""
    with tempfile.TemporaryDirectory(prefix="logsize") as data:
        log = (chosen.keep or program.parent) / f"{ranks}-{scene.replace(' ', '-')}.darshan"
        environment = {
            **os.environ,
            "LD_PRELOAD": str(chosen.build / "runtime" / "libiolens.so"),
            "IOLENS_LOGFILE": str(log),
            "IOLENS_FINALIZE_TIMEOUT": "120",
        }
        command = [f"mpirun.{chosen.mpi}", *OPTIONS[chosen.mpi], "-n", str(ranks)]
        command += [str(program), data, *map(str, SCENES[scene])]
        subprocess.run(command, env=environment, check=True, timeout=300, cwd=data)
    return log


def best(build: Path, log: Path) -> int:
    """Bytes."""
    with tempfile.TemporaryDirectory() as name:
        new = Path(name, "best.darshan")
        subprocess.run([build / "cli" / "iolens", "convert", "--best", log, new], check=True)
        return new.stat().st_size


def row(chosen: argparse.Namespace, program: Path, ranks: int, scene: str) -> dict[str, Any]:
    path = observe(chosen, program, ranks, scene)
    log, smallest = darshan_log.read(path), best(chosen.build, path)
    theirs = darshan_log.darshans(log, chosen.build / "format" / "schema.json")
    ratio = round(log.size / theirs, 3)
    found = {"ranks": ranks, "scene": scene, "log": log.size, "best": smallest, "darshan": theirs}
    return {**found, "ratio": ratio, "best_ratio": round(smallest / theirs, 3), **log.regions}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--mpi", choices=OPTIONS, default="openmpi")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 16, 64])
    arguments.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--keep", type=Path, metavar="DIR", help="where the logs are to stay")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program = Path(name, "files")
        subprocess.run([f"mpicc.{chosen.mpi}", "-O2", "-o", program, HERE / "files.c"], check=True)
        rows = [row(chosen, program, ranks, scene) for ranks in chosen.ranks for scene in chosen.scenes]
    if chosen.json:
        print(json.dumps(rows))
        return
    print(
        "Bytes: of the log that the library writes, of what Darshan 3.4 would write of the same records, of\n"
        "`iolens convert --best`, with their quotients to Darshan's; then the parts of the log.\n"
    )
    print(
        "| ranks | files | log, B | Darshan, B | ratio | best, B | ratio | job | names | POSIX | heat map | trailer |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for found in rows:
        keys = [
            "ranks",
            "scene",
            "log",
            "darshan",
            "ratio",
            "best",
            "best_ratio",
            "job",
            "names",
            "1",
            "15",
            "trailer",
        ]
        print("|", " | ".join(str(found.get(key, 0)) for key in keys), "|")


if __name__ == "__main__":
    main()
