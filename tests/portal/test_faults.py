"""A lake that grows, is compacted, damaged or gone while people look at it: clear pages, and never wrong ones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import places
import pytest
from iolens.portal.access.site import Site
from iolens.portal.data.scope import EVERYTHING
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from starlette.testclient import TestClient

Get = Callable[[str], Any]


@pytest.fixture
def own_lake(lake: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "lake"
    shutil.copytree(lake, copy)
    return copy


@pytest.fixture
def snapshots(own_lake: Path) -> Iterator[Snapshots]:
    made = Snapshots(own_lake, refresh=3600)
    made.renew()
    yield made
    made.stop()


@pytest.fixture
def get(site: Site, snapshots: Snapshots) -> Get:
    client = TestClient(
        Portal(site, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    return lambda path: client.get(path, headers={"X-Remote-User": "sam"})


def _first(lake: Path, table: str) -> Path:
    return sorted((lake / table).rglob("*.parquet"))[0]


def _log(snapshots: Snapshots, job: int) -> int:
    with snapshots.current().view(EVERYTHING).session() as data:
        return int(data.rows(f"SELECT log FROM job WHERE job_id = {job}")[0]["log"])


def test_new_jobs_are_shown_when_the_lake_has_grown(
    own_lake: Path, snapshots: Snapshots, get: Get, make_log: Any
) -> None:
    before = snapshots.current()
    snapshots.renew()
    assert snapshots.current() is before, "nothing new, nothing done"
    log = make_log(exe=b"/opt/bin/fresh", job_id=900, uid=1000, start=1_795_000_000, end=1_795_000_010)
    area = own_lake.parent / "more"
    area.mkdir()
    log.rename(area / "zoe_fresh_id900-1_1-1-9_1.darshan")
    ingest = [places.BIN, "fleet", "ingest", area, "--lake", own_lake, "--jobs", "1"]
    subprocess.run(ingest, check=True, capture_output=True)
    assert "<b>9</b> jobs" in get("/jobs?since=").text
    snapshots.renew()
    assert "<b>10</b> jobs" in get("/jobs?since=").text


def test_compaction_takes_files_away_from_under_a_page(
    own_lake: Path, snapshots: Snapshots, get: Get
) -> None:
    log = _log(snapshots, 100)
    compact = [places.BIN, "fleet", "compact", "--lake", own_lake, "--keep", "0"]
    subprocess.run(compact, check=True, capture_output=True)
    answer = get(f"/job/{log}/details")
    assert answer.status_code in (200, 503)
    if answer.status_code == 503:
        assert "The lake cannot be read" in answer.text and str(own_lake) not in answer.text
    snapshots.renew()
    assert snapshots.problem == ""
    assert "/scratch/alice/run/out" in get(f"/job/{log}/details").text
    assert "<b>9</b> jobs" in get("/jobs?since=").text


def test_a_damaged_file_leaves_what_was_read_before(own_lake: Path, snapshots: Snapshots, get: Get) -> None:
    for damaged in ("job", "metric"):
        file = _first(own_lake, damaged)
        kept = file.read_bytes()
        file.write_bytes(kept[: len(kept) // 2])
        (own_lake / damaged / "_delta_log" / "99999999999999999999.json.tmp").touch()
        snapshots._current.signature = None  # type: ignore[union-attr] # as if the lake had grown
        snapshots.renew()
        assert snapshots.problem, damaged
        answer = get("/jobs?since=")
        assert answer.status_code == 200 and "<b>9</b> jobs" in answer.text
        assert "The lake cannot be read now" in answer.text and str(own_lake) not in answer.text
        fresh = Snapshots(own_lake)
        fresh.renew()
        assert not fresh.ready and fresh.problem
        fresh.stop()
        file.write_bytes(kept)
    snapshots.renew()
    assert snapshots.problem == "" and "cannot be read" not in get("/jobs").text


def test_a_page_that_needs_a_missing_file_says_so_and_others_go_on(
    own_lake: Path, snapshots: Snapshots, get: Get
) -> None:
    log = _log(snapshots, 100)
    for file in (own_lake / "posix").rglob("*.parquet"):
        file.unlink()
    answer = get(f"/job/{log}/details")
    assert answer.status_code == 503 and "The lake cannot be read" in answer.text
    assert str(own_lake) not in answer.text
    assert get("/jobs").status_code == 200 and get("/q/top_users").status_code == 200


@pytest.mark.parametrize(
    ("table", "paths"),
    [
        ("posix", ("/job/LOG", "/job/LOG/details", "/job/LOG/tables.csv?table=file-table")),
        ("file_sum", ("/storage", "/q/top_files")),
    ],
)
def test_a_damaged_file_is_a_clear_page(
    table: str, paths: tuple[str, ...], own_lake: Path, snapshots: Snapshots, get: Get
) -> None:
    log = str(_log(snapshots, 100))
    for file in (own_lake / table).rglob("day=*/*.parquet"):
        file.write_bytes(file.read_bytes()[:100])
    for path in paths:
        answer = get(path.replace("LOG", log))
        assert answer.status_code == 503 and "The lake cannot be read" in answer.text, path
        assert str(own_lake) not in answer.text
    assert get("/jobs").status_code == 200


def test_without_a_lake_there_is_a_page_that_says_so(site: Site, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "none")
    snapshots.renew()
    client = TestClient(
        Portal(site, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    answer = client.get("/jobs", headers={"X-Remote-User": "sam"})
    assert answer.status_code == 503 and "no lake here" in answer.text
    assert client.get("/healthy").status_code == 503
    snapshots.stop()
