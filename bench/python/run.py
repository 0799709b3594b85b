"""What observing adds to a call of mpi4py, h5py and netCDF4, and to a step of a PyTorch loop, in processor time.

`python bench/python/run.py [--rounds N] [--only WORD]`: one process, bare and observed in turn; the median of the
rounds in ns of a call. pip is this interpreter with its packages, under both MPIs; Debian is /usr/bin/python3, whose
mpi4py is linked with one MPI. A row whose package or MPI is not there says so.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import BUILD, need

IOLENS = BUILD / "cli" / "iolens"
PYTHONS = {"pip": sys.executable, "Debian": "/usr/bin/python3"}
MPIS = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "HDF5_USE_FILE_LOCKING": "FALSE",
}

TIMED = """
import time
def timed(call, calls):
    for i in range(100):
        call(i)
    start = time.process_time_ns()
    for i in range(calls):
        call(i)
    print((time.process_time_ns() - start) / calls)
"""

MPI4PY = """
from mpi4py import MPI
f = MPI.File.Open(MPI.COMM_SELF, "file", MPI.MODE_CREATE | MPI.MODE_RDWR)
block = bytearray(64)
f.Write_at(64 * 30000, block)
timed(lambda i: f.{call}(64 * i, block), 30000)
f.Close()
"""

H5PY = """
import h5py, numpy
f = h5py.File("file.h5", "w")
d = f.create_dataset("d", (30000, 8))
row = numpy.ones(8, "f4")
def write(i): d[i] = row
def read(i): return d[i]
timed({call}, 5000)
f.close()
"""

NETCDF4 = """
import netCDF4, numpy
f = netCDF4.Dataset("file.nc", "w")
f.createDimension("x", 30000), f.createDimension("y", 8)
d = f.createVariable("d", "f4", ("x", "y"))
row = numpy.ones(8, "f4")
def write(i): d[i] = row
def read(i): return d[i]
timed({call}, 5000)
f.close()
"""

TORCH = """
from torch.utils.data import DataLoader
loader = iter(DataLoader(range(30000), batch_size=None, num_{call}))
timed(lambda i: next(loader), 5000)
"""


@dataclass(frozen=True)
class Row:
    package: str
    place: str
    mpi: str
    call: str
    program: str

    def __str__(self) -> str:
        return " ".join(word for word in (self.package, self.place, self.mpi, self.call) if word)


def rows() -> Iterator[Row]:
    for package, program, calls in (
        ("mpi4py", MPI4PY, ("Write_at", "Read_at")),
        ("h5py", H5PY, ("write", "read")),
        ("netCDF4", NETCDF4, ("write", "read")),
        ("torch", TORCH, ("workers=0", "workers=1")),
    ):
        for place in PYTHONS:
            for mpi in MPIS if (package, place) == ("mpi4py", "pip") else ("",):
                for call in calls:
                    yield Row(package, place, mpi, call, TIMED + program.replace("{call}", call))


def took(row: Row, observed: bool, directory: Path) -> float:
    """ns of a call. Raises ValueError with what the program said last where it cannot be run here."""
    (directory / "log").unlink(missing_ok=True)
    command = [IOLENS, "run", "--quiet", "-o", "log", "--"] if observed else []
    chosen = {"MPI4PY_LIBMPI": MPIS[row.mpi]} if row.mpi else {}
    done = subprocess.run(
        [*command, PYTHONS[row.place], "-c", row.program],
        cwd=directory,
        env={**os.environ, **SETTINGS, **chosen},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout:
        raise ValueError((done.stderr.strip() or "it printed nothing").splitlines()[-1])
    return float(done.stdout.split()[-1])


def measure(row: Row, rounds: int) -> tuple[float, float]:
    """Medians, bare and observed."""
    times: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        for _ in range(rounds):
            for observed, known in times.items():
                known.append(took(row, observed, Path(place)))
    return statistics.median(times[False]), statistics.median(times[True])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=at_least(1), default=5)
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose names have this in them")
    given = parser.parse_args()
    need("python", built=["cli/iolens", "runtime/libiolens.so"])
    print(f"{'ns a call':<32}{'bare':>9}{'observed':>9}{'added':>9}{'':>9}")
    for row in rows():
        if given.only not in str(row):
            continue
        try:
            bare, seen = measure(row, given.rounds)
        except (ValueError, OSError) as why:
            print(f"{row!s:<32}  not here: {why}")
        else:
            print(
                f"{row!s:<32}{bare:>9.0f}{seen:>9.0f}{seen - bare:>9.0f}{seen / bare - 1:>9.1%}", flush=True
            )


if __name__ == "__main__":
    main()
