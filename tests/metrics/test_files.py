"""Categories of files, sizes of accesses and where files are: metrics of the file tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from interfaces import LIBC, RECORDED
from iolens.metrics import Dataset
from iolens.metrics.views import LISTS
from observed import Observe


def table(data: Dataset, metric: str, *columns: str, **where: Any) -> list[Sequence[Any]]:
    """Columns of a metric's rows with these values."""
    rows = [r for r in data.metric(metric) if all(r[k] == v for k, v in where.items())]
    return [tuple(r[c] for c in columns) for r in rows]


# What released tools print, but for "shared", which is the maximum and no sum.
CATEGORIES = {
    "imbalanced-io": {
        "total": (1026, 106730099902, 52938398983),
        "read_only": (12, 852195214, 575999999),
        "write_only": (2, 84608, 24293491975),
        "read_write": (1, 105877820080, 52938398983),
        "unique": (1023, 852195214, 575999999),
        "shared": (3, 105877904688, 52938398983),
    },
    "release-x86_64-3.4.0": {
        "total": (1, 134217728, 67108863),
        "read_write": (1, 134217728, 67108863),
        "shared": (1, 134217728, 67108863),
        "unique": (0, 0, None),
        "part_shared": (0, 0, None),
    },
}


@pytest.mark.parametrize("log", CATEGORIES)
def test_file_categories_are_what_released_tools_count(corpus: Path, log: str) -> None:
    with Dataset(corpus / "logs" / f"{log}.darshan") as data:
        for category, (files, size, offset) in CATEGORIES[log].items():
            assert table(
                data, "file_categories", "files", "bytes", "max_offset", interface="posix", category=category
            ) == [(files, size, offset)], category


def test_files_are_shared_whether_records_were_reduced_or_not(corpus: Path) -> None:
    with Dataset(corpus / "logs" / "hdf5-diagonal-half-ranks-dxt.darshan") as data:
        count = dict(table(data, "file_categories", "category", "files", interface="posix"))
        assert (count["total"], count["unique"], count["shared"]) == (74, 10, 64)
        assert count["part_shared"] == 0  # by all ten, though the log has no record of all ranks together


def test_a_copy_of_a_descriptor_is_no_open(observe: Observe, tmp_path: Path) -> None:
    """Three opens and five copies: Darshan's counter has 8, everything that iolens shows as opens 3."""
    (tmp_path / "a").write_bytes(b"x")
    program = (
        "import os, sys, iolens.live as live; before = live.snapshot(); "
        "fds = [os.open(sys.argv[1], os.O_RDONLY) for _ in range(3)]; "
        "[os.dup(fds[0]) for _ in range(4)]; os.dup2(fds[1], 100); "
        "now = live.snapshot(); "
        "print([c[0] for (m, i), c in now.since(before).items() if now.name(i) == sys.argv[1]])"
    )
    ran = observe([sys.executable, "-c", program, tmp_path / "a"])
    assert ran.done.stdout == b"[3]\n"
    name = str(tmp_path / "a")
    assert (ran.total("POSIX", "OPENS", name), ran.total("POSIX", "DUPS", name)) == (8, 5)
    others = (
        ran.total("POSIX", "OPENS") - 8 - (ran.total("POSIX", "DUPS") - 5) - ran.total("POSIX", "FILENOS")
    )
    with Dataset(ran.log) as data:
        shown = data.rows("SELECT opens FROM file WHERE name = $1", [name])
        assert [row["opens"] for row in shown] == [3]
        assert table(data, "operation_counts", "count", interface="posix", operation="open") == [
            (3 + others,)
        ]
        assert [row["opens"] for row in data.metric("posix_rank_costs")] == [3 + others]
    assert (
        sum(int(row["opens"]) for row in ran.sections["total"] if row["interface"] == "posix") == 3 + others
    )


def test_categories_of_files_made_here(observe: Observe, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"x" * 1000)
    log = observe(
        [
            "python3",
            "-c",
            f"import os; os.chdir({str(tmp_path)!r})\n"
            "for n in 'ab': f = os.open(n, 0); os.read(f, 1000); os.close(f)\n"
            "f = os.open('d', os.O_CREAT | os.O_RDWR); os.write(f, b'y' * 5000); os.pread(f, 100, 0); os.close(f)\n"
            "f = os.open('e', os.O_CREAT | os.O_WRONLY); os.write(f, b'y' * 300); os.close(f)",
        ]
    ).log
    with Dataset(log) as data:
        mine = data.rows(
            "SELECT name, bytes_read, bytes_written FROM file WHERE name LIKE ? AND length(name) = ? ORDER BY name",
            [f"{tmp_path}/_", len(str(tmp_path)) + 2],
        )
        assert [(r["name"][-1], r["bytes_read"], r["bytes_written"]) for r in mine] == [
            ("a", 1000, 0),
            ("b", 1000, 0),
            ("d", 100, 5000),
            ("e", 0, 300),
        ]
        count = dict(table(data, "file_categories", "category", "files", interface="posix"))
        assert (count["read_write"], count["write_only"], count["created"]) == (1, 1, 2)
        assert count["unique"] == count["total"] and count["shared"] == 0
        (size,) = table(
            data,
            "file_categories",
            "bytes",
            "mean_size",
            "max_size",
            interface="posix",
            category="write_only",
        )
        assert size == (300, 300, 300)


def test_sizes_and_counts_of_accesses(observe: Observe, tmp_path: Path) -> None:
    target = tmp_path / "data"
    log = observe(
        [
            "sh",
            "-c",
            f"dd if=/dev/zero of={target} bs=5000 count=7 2>&1; dd if={target} of=/dev/null bs=50 count=3 2>&1",
        ]
    ).log
    with Dataset(log) as data:
        sizes = {
            (r["direction"], r["label"]): r["count"]
            for r in data.metric("access_sizes")
            if r["interface"] == "posix" and r["count"]
        }
        assert sizes == {("write", "1K-10K"): 7, ("read", "0-100"): 3}
        assert table(data, "common_sizes", "size", "count", "place", interface="posix") == [
            (5000, 7, 1),
            (50, 3, 2),
        ]
        operations = dict(table(data, "operation_counts", "operation", "count", interface="posix"))
        assert (operations["read"], operations["write"]) == (3, 7)
        pattern = {
            r["direction"]: (r["total"], r["sequential"], r["consecutive"])
            for r in data.metric("access_pattern")
        }
        assert pattern == {"read": (3, 2, 2), "write": (7, 6, 6)}


def test_where_files_are(observe: Observe, tmp_path: Path) -> None:
    target = tmp_path / "data"
    log = observe(["dd", "if=/dev/zero", f"of={target}", "bs=5000", "count=7"]).log
    with Dataset(log) as data:
        assert (7 * 5000, 0) in table(data, "file_systems", "bytes_written", "bytes_read")
        category = "/" + target.parts[1]
        assert table(data, "path_categories", "bytes_written", "files_written", category=category) == [
            (35000, 1)
        ]
        # Its standard error is a pipe of the test, which has no record.
        assert table(data, "path_categories", "files_read", category="<STDERR>") == []


def _pydarshans_categories(path: Path) -> dict[str, tuple[int, ...]]:
    darshan = pytest.importorskip("darshan")
    figure = pytest.importorskip("darshan.experimental.plots.data_access_by_filesystem")
    with darshan.DarshanReport(str(path)) as report:
        names = report.data["name_records"]
        modules = [m for m in LIBC if m in report.modules]
        ids = {i for m in modules for i in report.records[m].to_df()["counters"]["id"]}
        names = {i: names[i] for i in ids}
        roots = figure.identify_filesystems(file_id_dict=names, verbose=False)
        columns = []
        for count in (figure.process_byte_counts, figure.process_unique_files):
            columns += figure.unique_fs_rw_counter(
                report=report,
                filesystem_roots=roots,
                file_id_dict=names,
                processing_func=count,
                mod=modules[0],
            )
        return {root: tuple(int(column[root]) for column in columns) for root in roots}


@pytest.mark.parametrize("log", ["example", "sample-badost", "ior-hdf5", "dlio-1", "release-x86_64-3.4.0"])
def test_categories_are_pydarshans(corpus: Path, log: str) -> None:
    path = corpus / "logs" / f"{log}.darshan"
    columns = ("category", "bytes_read", "bytes_written", "files_read", "files_written")
    with Dataset(path) as data:
        ours = {row[0]: row[1:] for row in table(data, "path_categories", *columns)}
    assert ours == _pydarshans_categories(path)


PYDARSHANS_CATEGORIES = {
    "total": [0],
    "read_only": [1],
    "write_only": [2],
    "read_write": [3],
    "unique": [4],
    "shared": [5, 6],
}


@pytest.mark.parametrize("log", ["example", "imbalanced-io", "ior-hdf5", "mpi-io-test-dxt", "dlio-1"])
def test_file_categories_are_pydarshans(corpus: Path, log: str) -> None:
    """Its categories "shared by all" and "shared by some" are our "shared"."""
    darshan = pytest.importorskip("darshan")
    from darshan.backend.cffi_backend import accumulate_records

    path = corpus / "logs" / f"{log}.darshan"
    with Dataset(path) as data, darshan.DarshanReport(str(path)) as report:
        for module, interface in zip(RECORDED, LISTS["recorded_interfaces"]):
            if module not in report.modules:
                continue
            frames = report.records[module].to_df()
            derived = accumulate_records(frames, module, report.metadata["job"]["nprocs"]).derived_metrics
            rows = {
                row["category"]: row
                for row in data.metric("file_categories")
                if row["interface"] == interface
            }
            for category, numbers in PYDARSHANS_CATEGORIES.items():
                theirs = [derived.category_counters[number] for number in numbers]
                moved = sum(c.total_read_volume_bytes + c.total_write_volume_bytes for c in theirs)
                assert rows[category]["files"] == sum(c.count for c in theirs), category
                assert rows[category]["bytes"] == moved, category
