"""A lake of two versions of iolens: what the newer one has added survives the older one's upkeep."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from here import run_here
from iolens.fleet import Lake
from iolens.fleet.tables.delta import DAY, Table
from iolens.fleet.tables.schema import Column, tables
from iolens.fleet.tables.write import connection, read_files, write_files
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.recompute import recompute
from iolens.fleet.upkeep.retention import retain
from made_area import LOGS, fill, whole

NAMES = ("job", "posix", "metric")
ADDED = (Column("novel", "text"), Column("novel_sizes", "long", 0), Column("novel_time", "moment"))
TIME = "'2026-01-01 00:00:00Z'::TIMESTAMPTZ"
SECOND = date(2023, 11, 15)
"""Of four days; one log is of the first."""


def of_newer(lake: Path, name: str) -> Table:
    """The table as a version knows it that has more columns."""
    table = Table(lake, name, (*tables()[name], *ADDED))
    table.refresh()
    return table


def fill_added(lake: Path) -> None:
    """The newer version has written all rows."""
    for name in NAMES:
        table = of_newer(lake, name)
        old = table.files()
        with connection() as duck:
            query = (
                f"SELECT * REPLACE ('text' AS novel, [1, 2] AS novel_sizes, {TIME} AS novel_time) "
                f"FROM {read_files(duck, table, old)} ORDER BY log"
            )
            new = write_files(duck, query, table, "n0")
        assert table.replace(old, new)


def kept(lake: Path, name: str) -> int:
    """Rows with all that the newer version has written."""
    table = of_newer(lake, name)
    with connection() as duck:
        rows = duck.execute(
            f"SELECT count(*) FROM {read_files(duck, table, table.files())} WHERE novel = 'text' "
            f"AND novel_sizes = [1, 2] AND novel_time = {TIME}"
        ).fetchall()
    return int(rows[0][0])


@pytest.fixture
def lake(area: Path, tmp_path: Path) -> Path:
    """Of it twenty logs are the newer version's, ten came later by the older one."""
    later = tmp_path / "later"
    later.mkdir()
    for log in sorted(area.iterdir())[20:]:
        log.rename(later / log.name)
    made = tmp_path / "lake"
    fill(area, made, rules=True)
    fill_added(made)
    for log in later.iterdir():
        log.rename(area / log.name)
    fill(area, made, rules=True)
    return made


def test_compaction_takes_columns_of_a_newer_version_along(lake: Path) -> None:
    before = {name: kept(lake, name) for name in NAMES}
    assert (before["job"], before["posix"]) == (20, 40) and before["metric"] >= 20
    assert compact(Lake(lake), keep_hours=0).made > 0
    assert {name: kept(lake, name) for name in NAMES} == before
    whole(lake)
    again = compact(Lake(lake), keep_hours=0)
    assert (again.merged, again.made, again.removed) == (0, 0, 0), "nothing of them is stale"


def test_a_replaced_log_leaves_the_others_their_columns(area: Path, lake: Path) -> None:
    log = sorted(area.iterdir())[0]
    log.write_bytes(log.read_bytes() + b"\0")
    fill(area, lake, rules=True)
    compact(Lake(lake), keep_hours=0)
    assert (kept(lake, "job"), kept(lake, "posix")) == (19, 38)
    whole(lake)


def test_retention_and_recomputing_leave_columns_of_a_newer_version(lake: Path) -> None:
    retain(Lake(lake), detail=SECOND)
    assert (kept(lake, "job"), kept(lake, "posix")) == (20, 38)
    retain(Lake(lake), jobs=SECOND)
    assert (kept(lake, "job"), kept(lake, "posix")) == (19, 38)
    recompute(Lake(lake))
    assert (kept(lake, "job"), kept(lake, "posix")) == (19, 38)


def test_a_repair_takes_columns_of_a_newer_version_along(area: Path, lake: Path) -> None:
    files = Lake(lake).table("posix").files()
    damaged = next(file for file in files if file.path.startswith(f"{DAY}={SECOND}/n0."))
    (lake / "posix" / damaged.path).write_bytes(b"PAR1")
    before = kept(lake, "job")
    assert run_here("fleet", "verify", "--repair", "--lake", lake).returncode == 0
    gone = before - kept(lake, "job")
    assert 0 < gone <= damaged.rows, "the jobs of the damaged file alone are read again"
    fill(area, lake, rules=True)
    whole(lake)
    assert kept(lake, "job") == before - gone


def test_names_that_this_version_does_not_know_do_not_stay_in_clear(lake: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    words = ("fleet", "retention", "--pseudonyms", "2100-01-01", "--key", key, "--lake", lake)
    done = run_here(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"iolens: {lake}: a newer version of iolens has written job.novel, job.novel_sizes, job.novel_time, "
        "metric.novel, metric.novel_sizes, metric.novel_time, posix.novel, posix.novel_sizes, posix.novel_time, "
        "which may hold names: use that version\n"
    )
    with Lake(lake).open() as data:
        assert data.rows("SELECT count(*) AS n FROM job WHERE path LIKE '/%~%'") == [{"n": 0}]


def test_a_table_that_this_version_does_not_know_keeps_retention_away(lake: Path) -> None:
    Table(lake, "novelty", (Column("log", "long"), Column("text", "text"))).commit()
    done = run_here("fleet", "retention", "--jobs", "2100-01-01", "--lake", lake)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"iolens: {lake}: a newer version of iolens has written novelty: use that version to remove old jobs\n"
    )
    compact(Lake(lake), keep_hours=0)
    with Lake(lake).open() as data:
        assert data.rows("SELECT count(*) AS n FROM job") == [{"n": LOGS}]


def test_a_column_of_an_unknown_type_is_refused_in_a_line(lake: Path) -> None:
    (path,) = (lake / "metric").glob(f"day={SECOND}/n0.*.parquet")
    with connection() as duck:
        duck.execute(f"CREATE TEMP TABLE held AS SELECT *, {{'a': 1}} AS pair FROM read_parquet('{path}')")
        duck.execute(f"COPY held TO '{path}' (FORMAT parquet)")
    done = run_here("fleet", "compact", "--lake", lake)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'iolens: the column "pair" is of a newer version of iolens: use that version\n'
