"""Instructions that counting MPI communication adds, of one process with itself, as valgrind counts them."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"message": 3, "derived": 3, "received": 3, "allreduce": 1, "barrier": 1}  # calls of each
FEW, MANY = 1000, 6000
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def count(program: Path, kind: str, times: int, iolens: Path | None) -> int:
    for old in program.parent.glob("*.darshan"):
        old.unlink()
    run = [iolens, "run", "--quiet", "--mpi-communication", "-o", "log.darshan", "--"] if iolens else []
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*run, *tool, program, kind, str(times)]
    environment = {**os.environ, **AS_ROOT}
    done = subprocess.run(
        command, cwd=program.parent, env=environment, check=True, capture_output=True, text=True
    )
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--build", type=Path, default=ROOT / "build")
    arguments.add_argument("--mpi", nargs="+", default=["mpich", "openmpi"])
    chosen = arguments.parse_args()
    print("Instructions, by callgrind:\n")
    print("| MPI | of | calls | bare | added | by each call |\n|---|---|---|---|---|---|")
    for mpi in filter(lambda mpi: shutil.which(f"mpicc.{mpi}"), chosen.mpi):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory, "communication")
            source = Path(__file__).with_name("communication.c")
            subprocess.run([f"mpicc.{mpi}", "-O2", "-o", program, source], check=True)
            for kind, calls in KINDS.items():
                bare, seen = (
                    (count(program, kind, MANY, iolens) - count(program, kind, FEW, iolens)) / (MANY - FEW)
                    for iolens in (None, chosen.build / "cli" / "iolens")
                )
                added = seen - bare
                print(
                    f"| {mpi} | {kind} | {calls} | {bare:.0f} | {added:.0f} | {added / calls:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
