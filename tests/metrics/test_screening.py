"""The metrics that pick jobs out of many: re-reading, metadata, small writes to shared files."""

from __future__ import annotations

from pathlib import Path

import pytest
from iolens.metrics import Dataset
from made_log import Make

TIB = 1 << 40
MIB = 1 << 20


def test_released_logs_are_judged_as_published(corpus: Path) -> None:
    logs = ["imbalanced-io", "skew-app", "hdf5-diagonal-half-ranks-dxt"]
    with Dataset([corpus / "logs" / f"{log}.darshan" for log in logs]) as data:
        assert [row["value"] for row in data.metric("redundant_reads")] == [1025628, 0, 2364849]
        posix = [row["interface"] == "posix" for row in data.metric("io_cost")]
        assert any(posix)
        assert [row["matches"] for row in data.metric("metadata_ratio")] == [False, False, False]
        assert [row["notice"] for row in data.metric("small_shared_writes")] == [False, False, False]
        files = data.metric("redundant_files")
        assert [len([f for f in files if f["log"] == n]) for n in range(3)] == [1, 0, 20]
        assert sum(f["excess"] for f in files if f["log"] == 2) == 2364849


def test_the_published_job_that_read_a_database_again(make_log: Make) -> None:
    """548.6 TiB of at most 1.2 TiB: 457 times; a database of 253.4 MiB read for 4.0 TiB: 16,550 times."""
    sizes = {1: (548.6 * TIB, 1.2 * TIB), 2: (4.0 * TIB, 253.4 * MIB)}
    records = [
        {"id": id, "rank": -1, "bytes_read": round(moved), "max_byte_read": round(size) - 1}
        for id, (moved, size) in sizes.items()
    ]
    with Dataset(make_log(posix=records, nprocs=6138, names={1: b"/data/big", 2: b"/data/db"})) as data:
        assert [(f["name"], round(f["factor"])) for f in data.metric("redundant_files")] == [
            ("/data/big", 457),
            ("/data/db", 16552),
        ]
        assert data.value("redundant_reads") == pytest.approx(547.4 * TIB + 4.0 * TIB - 253.4 * MIB)


@pytest.mark.parametrize(
    ("nprocs", "meta", "read", "matches"),
    [
        (192, 192 * 31.0, 0.0, True),
        (191, 191 * 31.0, 0.0, False),  # too few processes
        (192, 192 * 29.0, 0.0, False),  # too little time
        (192, 192 * 31.0, 192 * 94.0, False),  # too small a part
        (192, 192 * 31.0, 192 * 92.0, True),
    ],
)
def test_metadata_counts_only_where_it_is_much_of_much(
    make_log: Make, nprocs: int, meta: float, read: float, matches: bool
) -> None:
    log = make_log(posix=[{"id": 1, "rank": -1, "meta_time": meta, "read_time": read}], nprocs=nprocs)
    with Dataset(log) as data:
        (row,) = data.metric("metadata_ratio")
        assert row["value"] == pytest.approx(meta / (meta + read))
        assert row["matches"] is matches


def test_metadata_of_mpi_io_counts_where_a_file_was_opened_through_it(make_log: Make) -> None:
    log = make_log(
        posix=[{"id": 1, "rank": -1, "meta_time": 9.0}, {"id": 2, "rank": -1, "meta_time": 1.0}],
        mpiio=[{"id": 1, "rank": -1, "meta_time": 1.0, "write_time": 2.0}],
    )
    with Dataset(log) as data:
        assert data.value("metadata_ratio") == pytest.approx(2 / 4)


def small_writes(make_log: Make, count: int, **more: object) -> Path:
    sizes = [count, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    return make_log(posix=[{"id": 1, "rank": -1, "writes": count, "size_write": sizes}], **more)


def test_small_writes_to_shared_files(make_log: Make) -> None:
    counts = [999_999, 1_000_000, 100_000_000, 5_700_000_000]
    with Dataset([small_writes(make_log, count) for count in counts]) as data:
        rows = data.metric("small_shared_writes")
        assert [row["value"] for row in rows] == counts
        assert [row["notice"] for row in rows] == [False, True, True, True]
        assert [row["matches"] for row in rows] == [False, False, True, True]


def test_collective_writes_are_not_small_ones(make_log: Make) -> None:
    log = small_writes(make_log, 2_000_000, mpiio=[{"id": 1, "rank": -1, "coll_writes": 10}])
    with Dataset(log) as data:
        assert data.value("small_shared_writes") == 0


def test_blocks_of_a_mebibyte_are_not_small(make_log: Make) -> None:
    """They are counted in the class up to 1 MiB."""
    record = {"id": 1, "rank": -1, "size_write": [0, 0, 0, 0, 5_000_000, 0, 0, 0, 0, 0]}
    record |= {"access": [MIB, 0, 0, 0], "access_count": [4_999_000, 0, 0, 0]}
    with Dataset(make_log(posix=[record])) as data:
        assert data.value("small_shared_writes") == 1000


def test_files_of_one_rank_are_not_shared(make_log: Make) -> None:
    record = {"size_write": [2_000_000, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
    with Dataset(
        make_log(nprocs=2, posix=[{"id": 1, "rank": 0, **record}, {"id": 2, "rank": 1, **record}])
    ) as data:
        assert data.value("small_shared_writes") == 0
    with Dataset(
        make_log(nprocs=2, posix=[{"id": 1, "rank": 0, **record}, {"id": 1, "rank": 1, **record}])
    ) as data:
        assert data.value("small_shared_writes") == 4_000_000
