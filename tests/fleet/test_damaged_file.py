"""A file of a lake that is damaged: each command says which, in one line, and exits 3."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest
from here import run_here
from iolens.fleet import Lake
from iolens.fleet.archive import archive
from made_area import LOGS, fill
from made_area import whole as is_whole
from places import BIN
from small_lake import small_lake

pytest.importorskip("deltalake")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.mark.parametrize(
    "words", [("compact",), ("top", "users"), ("retention", "--jobs", "2026-11-03"), ("screen",)]
)
def test_a_damaged_file_is_named(words: tuple[str, ...], whole: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(whole, lake)
    for table in ("job", "metric"):
        for file in (lake / table).rglob("day=*/*.parquet"):
            file.write_bytes(file.read_bytes()[:100])
    done = run_here("fleet", *words, "--lake", lake)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("iolens: a file of the lake cannot be read: ") and ".parquet" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def damage(lake: Path, table: str) -> int:
    """Of the second of the days the file of a table; how many rows it had."""
    file = sorted(Lake(lake).table(table).files(), key=lambda f: str(f.day))[1]
    (lake / table / file.path).write_bytes(b"PAR1")
    return file.rows


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("table", ["posix", "job"])
def test_a_damaged_file_is_repaired_from_the_logs(
    table: str, archived: bool, area: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    fill(area, lake)
    if archived:
        archive(Lake(lake), lake / "logs", before=date(2100, 1, 1), program=str(BIN), courtesy=0)
    damage(lake, table)
    assert run_here("fleet", "verify", "--lake", lake).stdout.startswith(f"{table}/day=2023-11-15/")
    done = run_here("fleet", "verify", "--repair", "--lake", lake)
    put_back = 12 if archived else 0
    assert (done.returncode, done.stderr, done.stdout) == (
        0,
        "",
        f"1 file set aside in {lake}/damaged; the next ingest reads 12 logs again, {put_back} restored from archives\n",
    )
    assert len(list((lake / "damaged" / table).rglob("*.parquet"))) == 1
    with Lake(lake).open() as data:
        assert data.rows("SELECT count(*) AS n FROM posix") == [{"n": 2 * (LOGS - 12)}]
    fill(area, lake)
    is_whole(lake)
    assert run_here("fleet", "verify", "--repair", "--lake", lake).stdout == "no file is damaged\n"


def test_a_repair_names_the_jobs_whose_logs_are_gone(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    fill(area, lake)
    damage(lake, "posix")
    gone = next(area.glob("*_id3-*"))
    gone.unlink()
    done = run_here("fleet", "verify", "--repair", "--lake", lake)
    assert done.returncode == 4 and "reads 11 logs again" in done.stdout
    assert done.stderr == (
        f"iolens: job 3: some of its rows are lost: {gone}: the log was removed, and no archive has it\n"
    )
    fill(area, lake)
    with Lake(lake).open() as data:
        assert data.rows("SELECT count(*) AS n FROM job") == [{"n": LOGS}]
        assert data.rows("SELECT count(*) AS n FROM posix") == [{"n": 2 * (LOGS - 1)}]
