"""What observing costs whole programs: with and without in turn, box plots, Welch's test (iolens overhead).

The papers' experiments at this machine's scale: IOR's patterns (a file per process and one shared file, independent
and collective, POSIX, MPI-IO and HDF5) in calls of 4 KiB, 128 KiB and 512 KiB; mdtest's; a git clone, a compiler, a
storm of Python imports. `--only PATTERN` chooses cells by name, `--list` names them. Needs an MPI with its HDF5
(h5pcc.mpich or h5pcc.openmpi), git and gcc; what is missing is said, and left out.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from given import at_least
from needs import need

need("endtoend", packages=["iolens", "mpmath"], programs=["gcc"])

from iolens.error import IolensError  # noqa: E402
from iolens.overhead import Cost, Trial, measure  # noqa: E402
from iolens.overhead.text import sentence, to_plain, to_text  # noqa: E402

HERE = Path(__file__).resolve().parent
APIS = ("mpiio", "collective", "hdf5", "posix")
LAYOUTS = ("own", "shared")
TRANSFERS = {"4k": 4 << 10, "128k": 128 << 10, "512k": 512 << 10}
IMPORTS = (
    "import asyncio, ctypes, decimal, email.mime.text, http.server, multiprocessing, sqlite3, unittest.mock"
)


@dataclass(frozen=True)
class Cell:
    """A program to be run both ways."""

    name: str
    command: list[str]
    setup: str | None = None


def patterns(mpi: str, folder: Path, bytes_of: int, passes: int) -> Iterator[Cell]:
    """IOR's, two ranks."""
    compiler = f"h5pcc.{mpi}"
    if not shutil.which(compiler):
        print(f"no {compiler}: IOR's patterns are left out", file=sys.stderr)
        return
    program, data = folder / "blocks", folder / "data"
    subprocess.run([compiler, "-shlib", "-O2", "-o", program, HERE / "blocks.c"], check=True, cwd=folder)
    data.mkdir()
    launch = [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", "2", str(program)]
    for api in APIS:
        for layout in LAYOUTS:
            if (api, layout) == ("collective", "own"):
                continue
            for name, size in TRANSFERS.items():
                # Small calls cost more by themselves: as much time by fewer bytes.
                moved = bytes_of // (8 if size < 1 << 16 else 1)
                command = [*launch, api, layout, str(size), str(moved), str(passes), str(data)]
                yield Cell(f"{api}-{layout}-{name}", command, f"rm -f {data}/*")


def programs(folder: Path) -> Iterator[Cell]:
    """Those of every day."""
    metadata, data, clone = folder / "metadata", folder / "files", folder / "clone"
    subprocess.run(["gcc", "-O2", "-o", metadata, HERE / "metadata.c"], check=True)
    data.mkdir()
    yield Cell("mdtest", [str(metadata), "5000", str(data)])
    root = str(HERE.parents[1])
    if shutil.which("git") and (HERE.parents[1] / ".git").exists():
        yield Cell("git-clone", ["git", "clone", "-q", "--no-hardlinks", root, str(clone)], f"rm -rf {clone}")
    yield Cell("gcc", ["gcc", "-O2", "-c", "-o", str(folder / "out.o"), str(HERE / "metadata.c")])
    yield Cell("python-imports", [sys.executable, "-I", "-B", "-c", IMPORTS])


def line(name: str, cost: Cost) -> str:
    time = cost.run_time
    low, high = (100 * (time.of_mean(value) or 0) for value in (time.low, time.high))
    share, p = 100 * (time.share or 0), f"{time.welch.p:.3f}" if time.welch else "-"
    return (
        f"{name:<22}{time.without.mean:>9.3f} ±{time.without.sd:<7.3f}{time.observed.mean:>9.3f} "
        f"±{time.observed.sd:<7.3f}{share:>+7.2f} %  {low:+.2f} to {high:+.2f} %  p {p}  {cost.verdict}"
    )


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("-n", "--runs", type=at_least(2), default=20, help="each way [20]")
    asked.add_argument("--mpi", default="mpich", choices=["mpich", "openmpi"])
    asked.add_argument("--bytes", type=int, default=512 << 20, help="each rank writes and reads [512 MiB]")
    asked.add_argument(
        "--passes", type=at_least(1), default=1, help="how often it does, in IOR's patterns [1]"
    )
    asked.add_argument("--only", default="*", metavar="PATTERN", help="cells by name: 'posix-*', mdtest")
    asked.add_argument("--folder", type=Path, help="where the data goes [a temporary folder]")
    asked.add_argument("--list", action="store_true", help="name the cells and end")
    asked.add_argument("--verbose", action="store_true", help="each with its test and box plots")
    asked.add_argument("--json", type=Path, metavar="FILE", help="every number, a cell a line")
    chosen = asked.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    iolens = str(Path(sysconfig.get_path("scripts")) / "iolens")
    failed = 0
    with tempfile.TemporaryDirectory(dir=chosen.folder) as made:
        folder = Path(made)
        cells = [*patterns(chosen.mpi, folder, chosen.bytes, chosen.passes), *programs(folder)]
        cells = [cell for cell in cells if fnmatch.fnmatch(cell.name, chosen.only)]
        if chosen.list:
            print("\n".join(cell.name for cell in cells))
            return 0
        if not cells:
            raise SystemExit(f"bench/endtoend: no cell is named {chosen.only}: --list names them")
        print(
            f"Run time, mean ± deviation of {chosen.runs} runs each way; below some 20 runs of a second or more, most "
            "cells are unproven."
        )
        print(f"{'':<22}{'without, s':>18}{'with, s':>18}{'difference':>11}   95 % interval")
        for cell in cells:
            try:
                cost = measure(Trial(cell.command, chosen.runs, setup=cell.setup, iolens=iolens))
            except IolensError as error:
                print(f"{cell.name}: {error}", file=sys.stderr)
                failed += 1
                continue
            print(line(cell.name, cost), flush=True)
            if chosen.verbose:
                print(sentence(cost), to_text(cost), sep="\n")
            if chosen.json:
                with chosen.json.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"cell": cell.name, **to_plain(cost)}) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
