"""A lake that is lost, or restored from an old back-up, comes back from logs and archives; verify finds what is not."""

from __future__ import annotations

import os
import shutil
from datetime import date
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from here import run_here
from iolens.fleet import Lake
from iolens.fleet.archive import archive, extracted, sources
from iolens.fleet.archive.container import read_index
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.retention import retain
from iolens.fleet.upkeep.verify import verify
from made_area import LOGS, Here, make_large, whole
from made_log import Make
from places import BIN

JOBS = """
    SELECT job_id, path, "user", application, cluster, log_size, log_mtime, digest, "start", run_time, "day"
    FROM job ORDER BY job_id
"""
PLACES = """
    SELECT job_id, archive, place, form, a.log_size, a.log_mtime, a.digest, mode, a."day"
    FROM archived AS a JOIN job USING (log) ORDER BY job_id
"""


def content_of(area: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in area.rglob("*.darshan")}


def packed(lake: Path, to: Path | None = None, before: date = date(2100, 1, 1)) -> int:
    made = Lake(lake)
    done = archive(made, to or made.archives, before=before, program=str(BIN), courtesy=0)
    assert done.problems == []
    return done.logs


def ingested(lake: Path, area: Path, *archives: Path, rules: bool = False) -> Summary:
    options = Options(str(lake), rules=rules, cluster="hopper")
    return Ingest(Lake.create(lake), options, jobs=1, batch_logs=9, pool=Here()).run([area], archives)


def rows(lake: Path, statement: str) -> list[dict[str, Any]]:
    with Lake(lake).open() as data:
        return data.rows(statement)


def every_row_opens(lake: Path, content: dict[str, bytes]) -> None:
    made = Lake(lake)
    with made.open() as data:
        listed = sources(data)
    with extracted(made, listed) as paths:
        assert {Path(path).name: Path(path).read_bytes() for path in paths} == content


def damaged(path: Path) -> None:
    """In its first log."""
    content = bytearray(path.read_bytes())
    content[read_index(path)[0].place + 200] ^= 1
    path.write_bytes(content)


@pytest.fixture
def lake(area: Path, tmp_path: Path) -> Path:
    """Of thirty logs those of the first two days are in archives."""
    made = tmp_path / "ann's lake"
    ingested(made, area)
    assert packed(made, before=date(2023, 11, 16)) == 13
    return made


def test_a_lost_lake_comes_back_from_logs_and_archives(area: Path, lake: Path) -> None:
    jobs, places, content = rows(lake, JOBS), rows(lake, PLACES), content_of(area)
    assert len(places) == 13 and {row["cluster"] for row in jobs} == {"hopper"}
    before = Lake(lake).archives
    assert before == lake.parent / "ann's lake-logs" and len(list(before.rglob("*.zip"))) == 2
    shutil.rmtree(lake)
    words = ("fleet", "ingest", area, "--archives", before, "--lake", lake, "--no-rules", "--jobs", 1)
    done = run_here(*words, "--cluster", "hopper")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{LOGS} logs found, {LOGS} ingested, 0 already in the lake; ")
    assert (rows(lake, JOBS), rows(lake, PLACES)) == (jobs, places)
    whole(lake)
    again = run_here(*words)
    assert f"{LOGS} logs found, 0 ingested, {LOGS} already in the lake; " in again.stdout
    made = Lake(lake)
    with made.open() as data, extracted(made, sources(data, "a.archive IS NOT NULL")) as paths:
        assert len(paths) == 13 and all(Path(path).read_bytes() for path in paths)
    assert packed(lake) == len(content), "the others"
    whole(lake)


def test_users_and_clusters_are_those_of_the_first_ingest(area: Path, lake: Path) -> None:
    """A lake is made anew on a machine that knows no user, with another name of the cluster for what is new."""
    jobs = rows(lake, JOBS)
    assert {row["user"] for row in jobs} == {"dora"}
    packed(lake)
    shutil.rmtree(lake)
    options = Options(str(lake), rules=False, cluster="other")
    made = Ingest(Lake.create(lake), options, jobs=1, pool=Here())
    assert made.run([area], [lake.parent / "ann's lake-logs"]).ingested == LOGS
    assert rows(lake, JOBS) == jobs


def test_a_rewritten_log_comes_back_as_the_log_that_it_was(tmp_path: Path) -> None:
    area, lake = tmp_path / "large", tmp_path / "lake"
    make_large(area)
    ingested(lake, area)
    assert packed(lake) == 1
    jobs, places, writes = (
        rows(lake, JOBS),
        rows(lake, PLACES),
        rows(lake, "SELECT sum(writes) AS n FROM posix"),
    )
    assert places[0]["form"] == "bzip2" and places[0]["log_size"] < jobs[0]["log_size"]
    shutil.rmtree(lake)
    assert ingested(lake, area, tmp_path / "lake-logs").ingested == 1
    assert (rows(lake, JOBS), rows(lake, PLACES)) == (jobs, places)
    assert rows(lake, "SELECT sum(writes) AS n FROM posix") == writes


def test_a_name_that_was_used_again_is_two_jobs_again(area: Path, lake: Path) -> None:
    log = next(area.glob("*_id20-*"))
    old = log.read_bytes()
    packed(lake)
    log.write_bytes(old + b"\0")
    ingested(lake, area)
    packed(lake)
    log.write_bytes(old + b"\0\0")
    ingested(lake, area)
    jobs = rows(lake, JOBS)
    assert len(jobs) == LOGS + 2 and sum(row["job_id"] == 20 for row in jobs) == 3
    shutil.rmtree(lake)
    assert ingested(lake, area, lake.parent / "ann's lake-logs").ingested == LOGS + 2
    key = lambda row: row["log_size"]  # noqa: E731
    assert sorted(rows(lake, JOBS), key=key) == sorted(jobs, key=key)
    assert rows(lake, "SELECT count(*) AS n FROM archived") == [{"n": LOGS + 1}]


def test_an_older_back_up_gets_its_jobs_back_from_newer_archives(area: Path, tmp_path: Path) -> None:
    lake, copy, later = tmp_path / "lake", tmp_path / "copy", tmp_path / "later"
    later.mkdir()
    for log in sorted(area.iterdir())[20:]:
        log.rename(later / log.name)
    ingested(lake, area)
    shutil.copytree(lake, copy)
    for log in later.iterdir():
        log.rename(area / log.name)
    ingested(lake, area)
    content = content_of(area)
    assert packed(lake) == LOGS and not content_of(area)
    jobs, places = rows(lake, JOBS), rows(lake, PLACES)
    shutil.rmtree(lake)
    shutil.copytree(copy, lake)
    found = list(verify(Lake(lake)))
    assert len(found) == 2 and all("of no job: `iolens fleet ingest --archives " in line for line in found)
    done = ingested(lake, area, tmp_path / "lake-logs")
    assert (done.ingested, done.placed, done.known, done.replaced) == (10, 20, 20, 0)
    assert (rows(lake, JOBS), rows(lake, PLACES)) == (jobs, places)
    every_row_opens(lake, content)
    whole(lake)
    again = ingested(lake, area, tmp_path / "lake-logs")
    assert (again.ingested, again.placed) == (0, 0)


def test_a_log_that_was_written_again_replaces_its_job_in_an_older_back_up(
    area: Path, tmp_path: Path
) -> None:
    lake, copy = tmp_path / "lake", tmp_path / "copy"
    ingested(lake, area)
    shutil.copytree(lake, copy)
    log = next(area.glob("*_id20-*"))
    log.write_bytes(log.read_bytes() + b"\0")
    ingested(lake, area)
    packed(lake)
    jobs = rows(lake, JOBS)
    shutil.rmtree(lake)
    shutil.copytree(copy, lake)
    done = ingested(lake, area, tmp_path / "lake-logs")
    assert (done.ingested, done.placed, done.replaced) == (1, LOGS - 1, 1)
    assert rows(lake, JOBS) == jobs
    whole(lake)


def test_archives_that_were_moved_are_found_where_they_are(area: Path, lake: Path, tmp_path: Path) -> None:
    content = content_of(area)
    packed(lake)
    shutil.move(Lake(lake).archives, tmp_path / "elsewhere")
    found = list(verify(Lake(lake)))
    assert len(found) == 4 and all(": the archive is not there; " in line for line in found)
    done = ingested(lake, area, tmp_path / "elsewhere")
    assert (done.ingested, done.placed) == (0, LOGS)
    assert len(content) == 17
    made = Lake(lake)
    with made.open() as data, extracted(made, sources(data)) as paths:
        assert content.items() <= {Path(p).name: Path(p).read_bytes() for p in paths}.items()
    whole(lake)


def test_an_archiver_that_was_ended_leaves_logs_to_a_new_lake(area: Path, lake: Path) -> None:
    """Its archive was complete, and the logs removed, but not all: it has its unfinished name."""
    content = content_of(area)
    packed(lake)
    (last,) = Lake(lake).archives.rglob("2023-11-17.*.zip")
    left = last.with_name(f"{last.name}.12345678.part")
    last.rename(left)
    (left.parent / "2023-11-18.aaaaaaaa.zip.12345678.part").write_bytes(b"PK\3\4 and no more")
    shutil.rmtree(lake)
    assert ingested(lake, area, lake.parent / "ann's lake-logs").ingested == LOGS
    assert last.exists() and not left.exists()
    whole(lake)
    assert len(content) == 17


def test_an_unfinished_archive_with_the_only_copies_is_not_removed(area: Path, tmp_path: Path) -> None:
    """The lake is a copy from before the archiver's commit."""
    lake, copy = tmp_path / "lake", tmp_path / "copy"
    ingested(lake, area)
    shutil.copytree(lake, copy)
    packed(lake)
    mark = str(Lake(lake).table("job").delta.metadata().id)[:8]  # type: ignore[union-attr]
    for path in list(Lake(lake).archives.rglob("*.zip")):
        path.rename(path.with_name(f"{path.name}.{mark}.part"))
    shutil.rmtree(lake)
    shutil.copytree(copy, lake)
    packed(lake)
    assert len(list(Lake(lake).archives.rglob("*.zip"))) == 4
    assert ingested(lake, area, Lake(lake).archives).placed == LOGS
    whole(lake)


def test_retention_is_not_undone(area: Path, lake: Path) -> None:
    packed(lake)
    retain(Lake(lake), jobs=date(2023, 11, 16))
    assert list(verify(Lake(lake))) == [], "archives keep logs of jobs that retention has removed"
    done = ingested(lake, area, Lake(lake).archives)
    assert (done.ingested, done.known) == (0, LOGS)
    assert len(rows(lake, JOBS)) == LOGS - 13


@pytest.mark.skipif(os.geteuid() != 0, reason="needs other users")
def test_archives_that_others_can_write_are_left_out(area: Path, lake: Path) -> None:
    one, two = sorted(Lake(lake).archives.rglob("*.zip"))
    os.chown(one, 65534, 65534)
    two.chmod(0o666)
    shutil.rmtree(lake)
    done = ingested(lake, area, lake.parent / "ann's lake-logs")
    assert done.ingested == 17
    assert done.unreadable == [
        f"{one}: belongs to another user than the lake: its logs are left out",
        f"{two}: other users can write it: its logs are left out",
    ]


def test_of_a_damaged_archive_the_other_logs_come_back(area: Path, lake: Path) -> None:
    packed(lake)
    path = sorted(Lake(lake).archives.rglob("2023-11-16.*.zip"))[0]
    damaged(path)
    gone = read_index(path)[0]
    (line,) = verify(Lake(lake))
    assert line == f"{path}: 1 log damaged, such as {gone.path}"
    shutil.rmtree(lake)
    done = ingested(lake, area, path.parents[2])
    assert done.ingested == LOGS - 1 and done.quarantined == 0
    assert len(done.unreadable) == 1 and done.unreadable[0].startswith(f"{gone.path}: the log in the archive")
    (line,) = verify(Lake(lake))
    assert line == (
        f"{path}: 1 log of no job: "
        f"`iolens fleet ingest --archives {quote(str(path))} --lake {quote(str(lake))}` brings them"
    )
    path.write_bytes(path.read_bytes()[:-100])
    (line,) = [found for found in verify(Lake(lake)) if "index" in found]
    assert line == f"{path}: the archive has no index that can be read"


def test_a_lake_with_pseudonyms_takes_no_archives(area: Path, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"0123456789abcdef")
    words = ("fleet", "ingest", "--archives", area, "--lake", tmp_path / "new", "--pseudonymize")
    done = run_here(*words, tmp_path / "key")
    assert done.returncode == 2
    assert done.stderr == "iolens: --archives: a lake with pseudonyms has no archives\n"
    done = run_here("fleet", "ingest", "--lake", lake)
    assert done.returncode == 2
    assert done.stderr == "iolens: fleet ingest: LOGS... is missing: see iolens fleet ingest --help\n"


# ---- copies that were made during an ingest ----


@pytest.fixture
def torn(area: Path, tmp_path: Path) -> Path:
    """Twenty logs, and ten of which the copy has some tables."""
    lake, later = tmp_path / "lake", tmp_path / "later"
    later.mkdir()
    for log in sorted(area.iterdir())[20:]:
        log.rename(later / log.name)
    ingested(lake, area, rules=True)
    shutil.copytree(lake, tmp_path / "before")
    for log in later.iterdir():
        log.rename(area / log.name)
    ingested(lake, area, rules=True)
    return lake


def taken_back(lake: Path, *tables: str) -> None:
    for name in tables:
        shutil.rmtree(lake / name)
        if (lake.parent / "before" / name).is_dir():
            shutil.copytree(lake.parent / "before" / name, lake / name)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (("posix",), "rows in posix: "),
        (("module", "posix"), "rows in module: "),
        (("module", "posix", "metric", "mount", "metadata"), "rows in module: "),
    ],
)
def test_batches_in_part_are_found_and_read_again(
    area: Path, torn: Path, tables: tuple[str, ...], said: str
) -> None:
    assert list(verify(Lake(torn))) == []
    taken_back(torn, *tables)
    (line,) = verify(Lake(torn))
    assert line.startswith("job: 2 batches of logs without ") and said in line
    done = run_here("fleet", "verify", "--repair", "--lake", torn)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == "no file is damaged; the next ingest reads 10 logs again, 0 restored from archives\n"
    )
    assert len(rows(torn, JOBS)) == 20
    ingested(torn, area, rules=True)
    whole(torn)
    compact(Lake(torn), keep_hours=0)
    whole(torn)


def test_jobs_without_findings_are_found_where_rules_ran(area: Path, torn: Path) -> None:
    taken_back(torn, "metric", "finding", "file_sum")
    assert list(verify(Lake(torn))) == [
        "metric: 10 jobs without metrics and findings: `iolens fleet recompute` adds them"
    ]
    assert run_here("fleet", "recompute", "--lake", torn).returncode == 0
    assert list(verify(Lake(torn))) == []


def test_logs_without_modules_and_days_without_detail_lack_nothing(
    area: Path, make_log: Make, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    ingested(lake, area, rules=True)
    nothing = make_log(job_id=99, start=1_700_200_000, end=1_700_200_001)
    nothing.rename(area / "dora_nothing_id99-1.darshan")
    ingested(lake, area, rules=True)
    assert len(rows(lake, JOBS)) == LOGS + 1
    assert list(verify(Lake(lake))) == []
    retain(Lake(lake), detail=date(2023, 11, 16))
    assert list(verify(Lake(lake))) == []
    late = make_log(posix=[{"id": 1, "writes": 1}], job_id=98, start=1_700_010_000, end=1_700_010_001)
    late.rename(area / "dora_late_id98-1.darshan")
    ingested(lake, area, rules=True)
    assert list(verify(Lake(lake))) == []


def test_an_archive_that_is_not_there_is_named(area: Path, lake: Path) -> None:
    nowhere = lake.parent / "nowhere.zip"
    assert ingested(lake, area, nowhere).unreadable == [f"{nowhere}: No such file or directory"]
