"""Logs of Darshan 1.x and 2.x: tables, scans and the adapter have the numbers that `iolens show` has."""

from __future__ import annotations

import json
import math
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import iolens
import places
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("v2-*")) or ["none"]

# Of mpi-io-test: every process writes 16 MiB of one file and reads it again.
BLOCK = 16 << 20


def shown(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Records by module as `iolens show --json` has them."""
    command = Path(sysconfig.get_path("scripts")) / "iolens"
    done = subprocess.run([command, "show", "--json", path], capture_output=True, text=True, check=True)
    return {m["module"]: m["records"] for m in json.loads(done.stdout)["modules"]}


@pytest.mark.parametrize("name", LOGS)
def test_the_benchmark_moved_what_it_moves(corpus: Path, name: str) -> None:
    log = iolens.open(corpus / "logs" / name)
    (row,) = pa.table(log.table("posix", names=True)).to_pylist()
    assert row["bytes_read"] == row["bytes_written"] == BLOCK * log.job.nprocs
    assert row["max_byte_written"] == BLOCK * log.job.nprocs - 1
    assert row["rank"] == -1 and row["name"] and log.job.exe.startswith(("./mpi-io-test", "/"))
    assert 0 < row["write_time"] < log.job.run_time * log.job.nprocs
    assert row["dups"] is None and row["stats"] is not None  # not counted then, and counted


@pytest.mark.parametrize("name", LOGS)
def test_tables_and_show_agree(corpus: Path, name: str) -> None:
    path = corpus / "logs" / name
    log, records = iolens.open(path), shown(path)
    assert set(records) == set(log.modules) == {"posix", "mpiio"}
    for module, wanted in records.items():
        rows = pa.table(log.table(module, names=True)).to_pylist()
        assert len(rows) == len(wanted) == 1
        for row, record in zip(rows, wanted):
            assert (str(row["id"]), row["rank"], row["name"]) == (
                record["id"],
                record["rank"],
                record["name"],
            )
            counters = record["counters"]
            assert len(counters) > 40 and {k: row[k] for k in counters} == counters


def test_a_scan_of_all(corpus: Path) -> None:
    scan = iolens.scan([corpus / "logs" / name for name in LOGS])
    jobs, rows = (pa.table(t).to_pylist() for t in (scan.job, scan["posix"]))
    assert scan.errors == [] and [job["log"] for job in jobs] == [row["log"] for row in rows]
    assert [row["bytes_written"] for row in rows] == [BLOCK * job["nprocs"] for job in jobs]
    assert sorted(job["nprocs"] for job in jobs) == [1, 1, 1, 4, 4, 4, 4, 4, 256]


@pytest.mark.parametrize("name", LOGS)
def test_the_adapter(corpus: Path, name: str) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    from iolens.pydarshan import DarshanReport

    path = corpus / "logs" / name
    report, log = DarshanReport(path), iolens.open(path)
    frames = report.records["POSIX"].to_df()
    (row,) = pa.table(log["posix"]).to_pylist()
    assert frames["counters"]["POSIX_BYTES_WRITTEN"].tolist() == [BLOCK * log.job.nprocs]
    assert frames["counters"]["POSIX_DUPS"].tolist() == [-1]
    assert math.isclose(frames["fcounters"]["POSIX_F_WRITE_TIME"][0], row["write_time"])
    assert report.metadata["job"]["nprocs"] == log.job.nprocs
    assert report.name_records[int(frames["counters"]["id"][0])] == log.names[row["id"]]
