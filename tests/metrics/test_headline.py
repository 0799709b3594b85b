"""The job in one row, and what I/O costs its processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from iolens.metrics import Dataset
from logmaker import LogMaker
from observed import Observe


def test_headline_of_a_released_log(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "skew-app.darshan") as data:
        (row,) = data.metric("headline")
        assert (row["nprocs"], row["bytes_read"], row["bytes_written"]) == (65536, 0, 43637372528)
        assert row["io_time"] == pytest.approx(753.573830, abs=5e-7)  # MPI-IO's: POSIX was called by it
        assert row["basis"] == "records"
        assert row["io_share"] == pytest.approx(753.573830 / 37517)
        assert row["read_share"] + row["write_share"] + row["meta_share"] == pytest.approx(row["io_share"])
        assert row["unseen_read"] is None


def test_bytes_count_once_whatever_the_layers(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "imbalanced-io.darshan") as data:
        (row,) = data.metric("headline")
        by_hand = data.rows("""
            SELECT sum(bytes_read) FILTER (interface <> 'posix') + sum(bytes_read) FILTER (interface = 'posix'
                AND id NOT IN (SELECT id FROM mpiio)) AS bytes_read FROM record""")
        assert row["bytes_read"] == by_hand[0]["bytes_read"]


def test_logs_without_data_give_a_row(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(LogMaker()))
    with Dataset(tmp_path / "log") as data:
        (row,) = data.metric("headline")
        assert (row["nprocs"], row["bytes_read"], row["bytes_written"], row["io_time"]) == (1, 0, 0, None)
        assert [r["bytes_read"] for r in data.metric("per_process")] == [0, 0]


def test_time_of_programs_one_after_another_is_counted_together(observe: Observe, tmp_path: Path) -> None:
    copy = f"dd if=/dev/zero of={tmp_path}/data bs=100k count=100 conv=fsync 2>&1"
    with Dataset(observe(["sh", "-c", f"{copy}; {copy}; {copy}"]).log) as data:
        (row,) = data.metric("headline")
        (time,) = data.rows("SELECT sum(io_time) AS total FROM process")
        assert row["basis"] == "timeline"
        assert time["total"] * 0.9 < row["io_time"] <= time["total"] * 1.001  # stretches are on a grid
        assert row["bytes_written"] >= 3 * 100 * 102400
        assert row["unseen_written"] is not None


def test_cost_and_averages_are_sums_over_processes(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "imbalanced-io.darshan") as data:
        cost = {row["interface"]: row for row in data.metric("io_cost")}
        (mpiio,) = data.rows("SELECT sum(read_time) AS read, sum(write_time) AS write FROM mpiio")
        assert list(cost) == ["posix", "mpiio", "stdio"]
        assert cost["mpiio"]["read"] == pytest.approx(mpiio["read"] / 496)
        assert cost["mpiio"]["share"] == pytest.approx(
            (cost["mpiio"]["read"] + cost["mpiio"]["write"] + cost["mpiio"]["meta"]) / 1479
        )
        shared = next(row for row in data.metric("per_process") if row["access"] == "shared")
        assert shared["bytes_written"] == pytest.approx(79523844679 / 496, rel=1e-3)


def test_hdf5_and_pnetcdf_are_one_interface_each(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "ior-hdf5.darshan") as data:
        assert {row["interface"] for row in data.metric("io_cost")} >= {"posix", "mpiio", "hdf5"}
