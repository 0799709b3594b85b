"""Layers of a file, layouts and storage targets, imbalance, what a log lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.rules import find
from made_log import Make

MIB = 1 << 20


def test_targets_of_overloaded_servers_stand_out(make_log: Make) -> None:
    """6,144 ranks with a file each on one of 96 targets; the servers of 48-55 and 88-95 have twice as many targets."""
    slow = {*range(48, 56), *range(88, 96)}
    records = [
        {"id": 1 + r, "rank": r, "bytes_written": MIB, "write_time": 20.0 if r % 96 in slow else 10.0 + r % 7}
        for r in range(6144)
    ]
    log = make_log(posix=records, layouts={1 + r: (MIB, [r % 96]) for r in range(6144)}, nprocs=6144)
    with Dataset(log) as data:
        data.servers((ost, f"oss{ost // 8 if ost in slow else 100 + ost // 4}") for ost in range(96))
        rows = data.metric("ost_occupancy")
        assert [(row["ranks"], row["files"], row["bytes"]) for row in rows] == [(64, 64, 64 * MIB)] * 96
        assert {row["ost"] for row in rows if row["slow"]} == slow
        by_server = data.rows(
            "SELECT oss, count(*) AS n FROM metric.ost_occupancy GROUP BY oss ORDER BY n DESC"
        )
        assert [row["n"] for row in by_server] == [8, 8] + [4] * 20


def test_a_slow_target_of_a_released_log(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "sample-badost.darshan") as data:
        rows = data.metric("ost_occupancy")
        assert sum(row["files"] for row in rows) == 2048
        slowest = max(rows, key=lambda row: row["median"])
        assert (
            slowest["slow"] and slowest["median"] > 3 * sorted(row["median"] for row in rows)[len(rows) // 2]
        )


def test_targets_of_two_file_systems_are_apart(make_log: Make) -> None:
    """Both have a target 0; only that of /work is slower than its like."""
    names = {1 + i: (b"/scratch/%d" if i < 8 else b"/work/%d") % i for i in range(16)}
    records = [
        {"id": 1 + i, "rank": i, "bytes_written": MIB, "write_time": 9.0 if i == 8 else 3.0 if i > 8 else 1.0}
        for i in range(16)
    ]
    layouts = {1 + i: (MIB, [i % 8]) for i in range(16)}
    mounts = (("ext4", "/"), ("lustre", "/scratch"), ("lustre", "/work"))
    log = make_log(posix=records, layouts=layouts, names=names, mounts=mounts, nprocs=16)
    with Dataset(log) as data:
        rows = data.metric("ost_occupancy")
        assert [(row["volume"], row["ost"], row["files"]) for row in rows] == [
            (volume, ost, 1) for volume in ("/scratch", "/work") for ost in range(8)
        ]
        assert [(row["volume"], row["ost"]) for row in rows if row["slow"]] == [("/work", 0)]
        (slow,) = [finding for finding in find(data) if finding.rule == "slow_servers"]
        assert "On 1 of 8 storage targets (OST 0), a byte takes" in slow.message


def test_bytes_are_divided_among_stripes(make_log: Make) -> None:
    log = make_log(
        posix=[{"id": 7, "rank": -1, "bytes_read": 900, "slowest_rank_time": 2.0}],
        layouts={7: (MIB, [3, 5, 8])},
        nprocs=12,
    )
    with Dataset(log) as data:
        rows = data.metric("ost_occupancy")
        assert [(row["ost"], row["bytes"], row["ranks"], row["median"]) for row in rows] == [
            (3, 300, 12, 2.0),
            (5, 300, 12, 2.0),
            (8, 300, 12, 2.0),
        ]


def test_accesses_are_compared_with_stripes(make_log: Make) -> None:
    posix = [
        {
            "id": i,
            "rank": -1,
            "writes": 9,
            "access": [size, 0, 0, 0],
            "access_count": [9, 0, 0, 0],
            "file_not_aligned": n,
        }
        for i, size, n in ((1, 4 * MIB, 0), (2, MIB // 4, 7), (3, 47008, 9))
    ]
    names = {1: b"/lus/whole", 2: b"/lus/part", 3: b"/lus/odd"}
    with Dataset(make_log(posix=posix, layouts={i: (MIB, [0]) for i in names}, names=names)) as data:
        rows = {
            r["name"]: (r["access_size"], r["fits"], r["unaligned"]) for r in data.metric("stripe_mismatch")
        }
        assert rows == {
            "/lus/whole": (4 * MIB, True, 0),
            "/lus/part": (MIB // 4, True, 7),
            "/lus/odd": (47008, False, 9),
        }
        (row,) = data.metric("alignment")
        assert (row["accesses"], row["file_unaligned"]) == (27, 16)
        assert row["file_share"] == pytest.approx(16 / 27)


def test_layers_of_a_file(make_log: Make) -> None:
    """HDF5 writes 1000 bytes, MPI-IO 1100 with its metadata, POSIX reads and writes whole blocks of two aggregators."""
    log = make_log(
        posix=[
            {
                "id": 1,
                "rank": r,
                "bytes_read": 500,
                "bytes_written": 1500,
                "reads": 1,
                "writes": 3,
                "write_time": 1.0,
            }
            for r in (0, 4)
        ]
        + [{"id": 1, "rank": 1, "opens": 1}],
        mpiio=[{"id": 1, "rank": -1, "bytes_written": 1100, "coll_writes": 8, "write_time": 8.0}],
        h5d=[{"id": 9, "rank": -1, "file_rec_id": 1, "bytes_written": 1000, "writes": 4, "write_time": 9.0}],
        names={1: b"/out.h5", 9: b"/out.h5:/density"},
        nprocs=8,
    )
    with Dataset(log) as data:
        (row,) = data.metric("layers")
        assert (row["name"], row["hdf5_bytes"], row["mpiio_bytes"], row["posix_bytes"]) == (
            "/out.h5",
            1000,
            1100,
            4000,
        )
        assert (row["amplification"], row["operations_ratio"], row["posix_ranks"]) == (4.0, 2.0, 2)
        assert row["outside_posix"] == pytest.approx(1 - 2.0 / 8.0)
        (dataset,) = data.metric("datasets")
        assert (dataset["name"], dataset["file"], dataset["bytes_written"]) == ("/density", "/out.h5", 1000)
        assert (dataset["ranks"], dataset["collective"]) == (8, 0)


def test_imbalance_of_shared_files(make_log: Make) -> None:
    """One file reduced in the log, the other with a record per rank: the same numbers."""
    times = [1.0, 2.0, 3.0, 6.0]
    mean = sum(times) / 4
    variance = sum((t - mean) ** 2 for t in times) / 4
    reduced = {"id": 1, "rank": -1, "bytes_read": 1000, "read_time": 12.0, "variance_rank_time": variance}
    reduced |= {"fastest_rank": 0, "fastest_rank_time": 1.0, "fastest_rank_bytes": 100}
    reduced |= {
        "slowest_rank": 3,
        "slowest_rank_time": 6.0,
        "slowest_rank_bytes": 400,
        "variance_rank_bytes": 12500,
    }
    single = [{"id": 2, "rank": r, "bytes_read": 100 * (r + 1), "read_time": t} for r, t in enumerate(times)]
    log = make_log(posix=[reduced, *single], nprocs=4, names={1: b"/a", 2: b"/b"})
    with Dataset(log) as data:
        rows = {row.pop("name"): row for row in data.metric("shared_files")}
        for column in (
            "ranks",
            "fastest_rank",
            "fastest_bytes",
            "slowest_rank",
            "slowest_bytes",
            "sd_time",
            "sd_bytes",
        ):
            assert rows["/a"][column] == pytest.approx(rows["/b"][column]), column
        for row in data.metric("imbalance"):
            assert row["time_imbalance"] == pytest.approx(5 / 6)
            assert row["bytes_imbalance"] == pytest.approx(0.75)
            assert row["time_lost"] == pytest.approx(3.0)


def test_what_a_partial_log_lacks(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "imbalanced-io.darshan") as data:
        (row,) = data.metric("missing")
        assert (row["what"], row["kind"]) == ("posix", "incomplete")
        assert row["lost_bytes"] == 26585453164 - 84608


def test_what_an_empty_log_lacks(make_log: Make) -> None:
    with Dataset(make_log(start=5, end=5)) as data:
        assert {(row["what"], row["kind"]) for row in data.metric("missing")} >= {("records", "none")}
