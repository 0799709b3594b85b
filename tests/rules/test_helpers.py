"""A job's helper processes, such as 20 x /bin/true, take no part in its I/O: no finding may change with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cases
import cases_parallel
import pytest
from cases import process
from helper_processes import add_helpers
from iolens.metrics import Dataset
from iolens.rules import find
from jobs import Job, KiB

ALL = {
    **{**cases.SUMMARY, **cases.SIZE, **cases.PATTERN, **cases.METADATA},
    **{**cases_parallel.SHARING, **cases_parallel.BALANCE, **cases_parallel.LAYOUT},
    **{**cases_parallel.LIBRARY, **cases_parallel.DATA},
}


def told(data: Dataset) -> list[tuple[Any, ...]]:
    return [(f.log, f.rule, f.severity, f.message, f.time_lost, f.gain) for f in find(data)]


def alone(module: str, name: str, **values: Any) -> Job:
    """A program of one process that uses a library."""
    return Job(nprocs=1).add(module, name, 0, **values).section("process", process(0, mpi=""))


CHUNKED = {"chunk_size": [0, 0, 0, 16, 64], "datatype_size": 8, "bytes_written": 80 << 20}
LIBRARIES = {
    "hdf5_metadata": alone("h5f", "/scratch/x.h5", opens=800, meta_time=80.0),
    "hdf5_flushes": alone("h5f", "/scratch/x.h5", opens=1, flushes=1000, meta_time=5.0),
    "hdf5_small_chunks": alone("h5d", "/scratch/x.h5:a", opens=1, writes=80, write_time=10.0, **CHUNKED),
    "hdf5_many_selections": alone(
        "h5d",
        "/scratch/x.h5:a",
        writes=80_000,
        bytes_written=80_000 * KiB,
        write_time=10.0,
        point_selects=80_000,
    ),
    "pnetcdf_waits": alone("pnetcdf_file", "/scratch/x.nc", indep_waits=800, coll_waits=8, wait_time=10.0),
}


@pytest.mark.parametrize("rule", LIBRARIES)
def test_one_process_of_many_uses_a_library(rule: str, tmp_path: Path) -> None:
    log = LIBRARIES[rule].save(tmp_path / "log.darshan")
    with Dataset(log) as data:
        before = told(data)
    with Dataset(log) as data:
        add_helpers(data)
        assert told(data) == before
    assert rule in [row[1] for row in before]


def test_no_case_of_any_rule_changes(tmp_path: Path) -> None:
    """Cases without processes become MPI jobs of the same ranks: there, helpers have no rank."""
    logs: list[Path] = []
    counted = {"ended_early"}  # says how many processes there were
    for rule, (fires, _, silent) in ((rule, case) for rule, case in ALL.items() if rule not in counted):
        for which, job in enumerate((fires, silent)):
            rows = [process(rank) for rank in range(min(job.nprocs, 8))]
            whole = replace(job, sections={"process": rows, **job.sections})
            logs.append(whole.save(tmp_path / f"{rule}-{which}.darshan"))
    with Dataset(logs) as data:
        before = told(data)
    with Dataset(logs) as data:
        add_helpers(data)
        assert told(data) == before
    assert len({row[1] for row in before}) > 60


PER_PROCESS = ("taking_part", "per_process", "io_cost", "metadata_ratio", "run_split")


def test_no_metric_per_process_changes(tmp_path: Path) -> None:
    logs = [job.save(tmp_path / f"{rule}.darshan") for rule, job in LIBRARIES.items()]
    two = Job(nprocs=2).section("process", process(0, mpi=""), process(1, mpi=""))
    two.posix("/scratch/a", 0, write={KiB: 10}, write_time=4.0).posix(
        "/scratch/b", 1, read={KiB: 10}, meta_time=2.0
    )
    logs.append(two.save(tmp_path / "two.darshan"))
    with Dataset(logs) as data:
        before = [data.metric(name) for name in PER_PROCESS]
    with Dataset(logs) as data:
        add_helpers(data)
        assert [data.metric(name) for name in PER_PROCESS] == before
    last = len(logs) - 1
    (cost,) = [row for row in before[2] if row["log"] == last]
    assert (cost["write"], cost["meta"]) == (2.0, 1.0)
