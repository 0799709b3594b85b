"""PnetCDF: what programs do through it is in the records of files and variables, exactly."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from interfaces import PNETCDF
from mpis import MPIS
from observed import Observe, Observed

HERE = Path(__file__).parent / "programs"
Seen = dict[tuple[str, str], dict[str, str]]

RANKS = 2
MPI = MPIS["openmpi"]  # Debian's PnetCDF is built for it


def compiled(source: Path, place: Path) -> Path:
    MPI.require()
    if not Path("/usr/include/pnetcdf.h").is_file():
        pytest.skip("no libpnetcdf-dev")
    program = place / source.stem
    compiler = MPI.compiler(source.suffix)
    command = [compiler, f"-I{HERE}", "-I/usr/include", "-o", program, source, "-lpnetcdf"]
    subprocess.run(command, check=True, cwd=place, capture_output=True)
    return program


def run(observe: Observe, place: Path, *command: str | Path, ranks: int = RANKS) -> Observed:
    (place / "work").mkdir()
    seen = observe(
        [*MPI.launcher(ranks), *command], cwd=place / "work", env={**os.environ, **MPI.environment}
    )
    assert seen.done.returncode == 0, seen.done.stderr
    return seen


def pnetcdf(seen: Observed) -> Seen:
    """Records of PnetCDF by module and name within the working directory: all ranks share them."""
    return {
        (module, name.rpartition("/work/")[2]): row
        for (module, name, rank), row in seen.records.items()
        if module in PNETCDF and rank == -1
    }


def counted(row: dict[str, str], prefix: str) -> dict[str, int]:
    """Counters that are not 0, without times, those of ranks, and common accesses."""
    return {
        name.removeprefix(prefix): int(value)
        for name, value in row.items()
        if not re.search(r"_F_|TIME_SIZE|RANK|ACCESS|FILE_REC_ID", name) and int(value)
    }


def test_files(observe: Observe, tmp_path: Path) -> None:
    seen = run(observe, tmp_path, compiled(HERE / "files.c", tmp_path))
    found = pnetcdf(seen)
    files = {name: counted(row, "PNETCDF_FILE_") for (m, name), row in found.items() if m == PNETCDF[0]}
    assert set(files) == {"files.nc", "aborted.nc", "open.nc"}
    moved = {name: (row.pop("BYTES_READ", 0), row.pop("BYTES_WRITTEN", 0)) for name, row in files.items()}
    assert files == {
        "files.nc": {"CREATES": RANKS, "OPENS": 2 * RANKS, "REDEFS": RANKS, "SYNCS": 2 * RANKS},
        "aborted.nc": {"CREATES": RANKS},
        "open.nc": {"CREATES": RANKS, "SYNCS": RANKS},
    }
    # 64 ints of each rank; what is more are headers, which the first rank writes and all but the first are told.
    assert moved["files.nc"][0] > 256 * RANKS and moved["files.nc"][1] > 256 * RANKS
    assert moved["open.nc"][1] > 256 * RANKS
    row = found[PNETCDF[0], "files.nc"]
    opened, closed = (float(row[f"PNETCDF_FILE_F_{n}_END_TIMESTAMP"]) for n in ("OPEN", "CLOSE"))
    assert 0 < opened < closed
    assert float(row["PNETCDF_FILE_F_META_TIME"]) > 0
    assert row["PNETCDF_FILE_F_WAIT_TIME"] == "0.000000"


def test_requests(observe: Observe, tmp_path: Path) -> None:
    found = pnetcdf(run(observe, tmp_path, compiled(HERE / "requests.c", tmp_path)))
    file = found[PNETCDF[0], "requests.nc"]
    waits = counted(file, "PNETCDF_FILE_")
    assert {name: value for name, value in waits.items() if "WAIT" in name} == {
        "COLL_WAITS": 2 * RANKS, "INDEP_WAITS": 3 * RANKS, "WAIT_FAILURES": RANKS,
    }  # fmt: skip
    assert float(file["PNETCDF_FILE_F_WAIT_TIME"]) > 0
