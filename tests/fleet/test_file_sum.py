"""What programs did with each file, stored for sums over all jobs: equal to what the records say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.saved_queries import ask
from iolens.fleet.tables import schema
from iolens.fleet.tables.write import write_files
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.recompute import recompute
from iolens.metrics.tables import DERIVED
from made_area import Here
from made_log import Make
from once import once

NAMES = {1: b"/scratch/ann/a.h5", 2: b"/scratch/ann/sub/b", 3: b"/b", 9: b"/scratch<other files>"}


def make_area(folder: Path) -> Path:
    """Six jobs of two days; file 1 was opened through MPI-IO."""
    folder.mkdir()
    make = Make(folder)
    for job in range(6):
        records = [
            {"id": id, "bytes_written": 10**id * (job + 1), "write_time": 0.5 * id, "writes": 1}
            for id in NAMES
        ]
        start = 1_700_000_000 + 86400 * (job // 3)
        made = make(
            posix=[*records, {"id": 77, "bytes_read": 5, "reads": 1}],
            mpiio=[{"id": 1, "bytes_written": 7, "indep_writes": 1}],
            names=NAMES,
            job_id=job,
            start=start,
            end=start + 5,
        )
        made.rename(folder / f"{'ann' if job % 2 else 'bob'}_solver_id{job}-1_1-1-1-1_1.darshan")
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs, and a lake that has the rows of all."""
    return once(
        tmp_path_factory,
        "file_sum",
        lambda folder: ingest(make_area(folder / "logs"), folder / "lake", True),
    )


@pytest.fixture
def area(made: Path) -> Path:
    return made / "logs"


@pytest.fixture(scope="session")
def whole(made: Path) -> list[Any]:
    return tops(Lake(made / "lake"))


def ingest(area: Path, lake: Path, rules: bool, limit: int | None = None) -> Lake:
    Ingest(Lake.create(lake), Options(str(lake), rules=rules), jobs=1, limit=limit, pool=Here()).run([area])
    return Lake(lake)


ROWS = """
    SELECT job_id, id, directory, mount, single, bytes_read, bytes_written, io_time
    FROM {} JOIN job USING (log) ORDER BY job_id, id
"""


def stored(lake: Lake) -> int:
    return sum(file.rows for file in lake.snapshot().files.get("file_sum", []))


def tops(lake: Lake) -> list[Any]:
    with lake.open() as data:
        return [
            ask(data, name, by="bytes", **more).rows
            for name in ("top_files", "top_directories")
            for more in ({}, {"user": "ann"}, {"rows": 2})
        ] + [ask(data, "file_systems").rows]


def test_rows_are_those_of_the_records(made: Path) -> None:
    lake = Lake(made / "lake")
    with lake.open() as data:
        found = data.query(ROWS.format("file_sum")).fetchall()
        assert found == data.query(ROWS.format(f"({DERIVED['file_sum'][1]})")).fetchall()
        assert found[:5] == [
            (0, 1, "/scratch/ann", "/scratch", True, 0, 7, 0.0),  # through MPI-IO: its own records count
            (0, 2, "/scratch/ann/sub", "/scratch", True, 0, 100, 1.0),
            (0, 3, "", "/", True, 0, 1000, 1.5),
            (0, 9, "", "/", False, 0, 10**9, 4.5),
            (0, 77, None, "", True, 5, 0, 0.0),
        ]
        values = data.query("SELECT DISTINCT value FROM metric WHERE name = 'used_files'").fetchall()
        assert values == [(4.0,)]
    assert stored(lake) == 30


def test_top_files_and_directories(made: Path) -> None:
    with Lake(made / "lake").open() as data:
        rows = ask(data, "top_files", by="bytes").dicts()
        assert [(r["file"], r["jobs"], r["users"], r["bytes_written"]) for r in rows] == [
            ("/b", 6, 2, 21000),
            ("/scratch/ann/sub/b", 6, 2, 2100),
            ("/scratch/ann/a.h5", 6, 2, 42),
            ("<unnamed 77>", 6, 2, 0),
        ]
        rows = ask(data, "top_directories", by="bytes", user="ann").dicts()
        assert [(r["directory"], r["files"], r["bytes_written"]) for r in rows] == [
            ("/", 1, 12000),
            ("/scratch/ann/sub", 1, 1200),
            ("/scratch/ann", 1, 21),
        ]


def test_file_systems(made: Path) -> None:
    """What had no room for a record of its own is somewhere, too."""
    with Lake(made / "lake").open() as data:
        rows = ask(data, "file_systems").dicts()
    assert [
        (r["mount"], r["file_system"], r["jobs"], r["users"], r["files"], r["bytes_written"], r["io_time"])
        for r in rows
    ] == [
        ("/", "ext4", 6, 2, 2, 21 * (10**9 + 10**3), 36.0),
        ("/scratch", "lustre", 6, 2, 2, 21 * 100 + 6 * 7, 6.0),
        ("", "", 6, 2, 1, 0, 0.0),
    ]


def as_older(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows as they were written before files had their mount."""
    known = schema.tables()
    older = tuple(c for c in known["file_sum"] if c.name not in ("mount", "file_system", "osts", "single"))
    with monkeypatch.context() as patch, lake.open() as data:
        patch.setattr("iolens.fleet.tables.lake.tables", lambda: {**known, "file_sum": older})
        table = lake.table("file_sum")
        columns = ", ".join(column.name for column in older)
        query = f"SELECT {columns}, day FROM file_sum WHERE single"
        data.prepare(query)
        new = write_files(data.connection, query, table, "older")
        table.commit(add=new, remove=data.snapshot.files["file_sum"], exact=True)


def test_a_lake_of_a_version_without_mounts(
    area: Path, whole: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are made of the records, beside newer ones, too."""
    lake = ingest(area, tmp_path / "lake", True, limit=3)
    some = tops(lake)
    as_older(lake, monkeypatch)
    assert stored(lake) == 12 and tops(lake) == some
    ingest(area, lake.path, True)
    assert stored(lake) == 27 and tops(lake) == whole
    compact(lake, keep_hours=0)
    assert stored(lake) == 27 and tops(lake) == whole
    recompute(lake)
    assert stored(lake) == 30 and tops(lake) == whole


def test_a_lake_without_them_answers_and_gets_them(area: Path, whole: list[Any], tmp_path: Path) -> None:
    lake = ingest(area, tmp_path / "lake", False)
    assert stored(lake) == 0 and tops(lake) == whole
    recompute(lake)
    assert stored(lake) == 30 and tops(lake) == whole
    recompute(lake)
    assert stored(lake) == 30 and tops(lake) == whole


def test_a_lake_that_has_some_of_them(area: Path, whole: list[Any], tmp_path: Path) -> None:
    ingest(area, tmp_path / "lake", True, limit=3)
    lake = ingest(area, tmp_path / "lake", False)
    assert stored(lake) == 15 and tops(lake) == whole
    compact(lake, keep_hours=0)
    assert stored(lake) == 15 and tops(lake) == whole


def test_a_log_that_is_written_again_replaces_its_rows(tmp_path: Path) -> None:
    area = make_area(tmp_path / "logs")
    lake = ingest(area, tmp_path / "lake", True)
    before = tops(lake)
    log = sorted(area.iterdir())[0]
    log.touch()
    ingest(area, tmp_path / "lake", True)
    assert stored(lake) == 35 and tops(lake) == before
    compact(lake, keep_hours=0)
    assert stored(lake) == 30 and tops(lake) == before
