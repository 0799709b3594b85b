"""What of a run was computation, communication and I/O, and which writes they were: docs/guide/mpi.md."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from mpis import FAMILIES, MPIS

SOURCE = Path(__file__).parent / "programs" / "plasma.c"
RANKS, DUMPS, FIELDS = 2, 4, 500
ARRAYS = DUMPS * RANKS * 2


def observed(iolens: Path, mpi: str, place: Path, *words: str) -> Dataset:
    log = place / f"plasma{len(words)}.darshan"
    launch = MPIS[mpi].launcher(RANKS)
    line = [
        iolens,
        "run",
        "-q",
        "--mpi-communication",
        "-o",
        log,
        *launch,
        "./plasma",
        str(DUMPS),
        str(FIELDS),
        *words,
    ]
    subprocess.run(list(map(str, line)), cwd=place, check=True, capture_output=True, timeout=100)
    return Dataset(log)


def writes(data: Dataset) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (row["kind"], row["label"]): (row["count"], row["bytes"])
        for row in data.metric("access_sizes")
        if row["interface"] == "mpiio" and row["kind"] != "all" and row["count"]
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_independent_and_collective_writes(iolens: Path, tmp_path: Path, name: str) -> None:
    mpi = MPIS[name]
    mpi.require()
    subprocess.run([mpi.compiler(".c"), "-O1", "-o", tmp_path / "plasma", SOURCE], check=True)
    arrays = ("collective", "100K-1M"), (ARRAYS, ARRAYS * 320_000)
    with observed(iolens, name, tmp_path) as data:
        assert writes(data) == dict(
            [arrays, (("independent", "0-100"), (DUMPS * FIELDS, DUMPS * FIELDS * 64))]
        )
        (communication,) = data.metric("communication")
        (headline,) = data.metric("headline")
        assert communication["share"] > 0 and headline["io_share"] > 0
        assert communication["share"] + headline["io_share"] < 1
    with observed(iolens, name, tmp_path, "gathered") as data:
        assert writes(data) == dict([arrays, (("independent", "10K-100K"), (DUMPS, DUMPS * FIELDS * 64))])
