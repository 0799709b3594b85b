"""A loss of power at any moment: no job leaves the lake, no log leaves both the area and the archives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from iolens.fleet import Lake
from iolens.fleet.archive import extracted, sources
from iolens.fleet.upkeep.verify import verify
from made_area import fill, make_area, whole
from power_cut import Disk

IOLENS = Path(sys.executable).parent / "iolens"
LOGS = 6

# What runs one after the other, and how many jobs are in the lake then.
INGEST = ("ingest", "AREA", "--lake", "LAKE", "--jobs", "1", "--no-rules")
NIGHTS = {
    "first ingest": (("ingest", "AREA/dora_zephyr_id0-1_1-1-1-1_1.darshan", *INGEST[2:]), 1),
    "ingest": (INGEST, LOGS),
    "compact": (("compact", "--lake", "LAKE", "--keep", "0"), LOGS),
    "archive": (("archive", "--lake", "LAKE", "--to", "AREA/../kept"), LOGS),
    "restore": (("restore", "--lake", "LAKE", "--since", "2000-01-01"), LOGS),
}
RETENTION = ("retention", "--lake", "LAKE", "--jobs", "2023-11-15")
LATER = 5
"""Jobs that started on that day or later."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an area of six logs of three days."""
    place = tmp_path / "disk"
    place.mkdir()
    make_area(place / "logs")
    for log in (place / "logs").iterdir():
        job = int(log.name.partition("_id")[2].partition("-")[0])
        if job not in (0, 1, 2, 12, 13, 14):
            log.unlink()
    return place


def command(place: Path, words: tuple[str, ...]) -> list[str]:
    at = {"AREA": str(place / "logs"), "LAKE": str(place / "lake")}
    return [
        str(IOLENS),
        "fleet",
        *(word.replace("AREA", at["AREA"]).replace("LAKE", at["LAKE"]) for word in words),
    ]


def jobs(lake: Path) -> int:
    if not (lake / "lake.json").exists():
        return 0
    with Lake(lake).open() as data:
        return int(data.rows("SELECT count(*) AS n FROM job")[0]["n"])


def nothing_is_lost(place: Path, before: int, content: dict[str, bytes]) -> None:
    """What was in the lake is; after the next ingest all is, and every row has its log, byte by byte."""
    lake = place / "lake"
    if before or (lake / "lake.json").exists():
        assert list(verify(Lake(lake))) == []
    assert jobs(lake) >= before
    fill(place / "logs", lake)
    whole(lake, LOGS)
    made = Lake(lake)
    with made.open() as data:
        rows = sources(data)
    with extracted(made, rows) as paths:
        assert {Path(path).name: Path(path).read_bytes() for path in paths} == content


@pytest.mark.parametrize("cuts", [4, 10_000], ids=["some", "every"])
def test_no_job_and_no_log_is_lost_by_a_power_cut(cuts: int, place: Path) -> None:
    """At calls of every command, by the least that file systems promise."""
    content = {path.name: path.read_bytes() for path in (place / "logs").iterdir()}
    disk = Disk(place, place.with_name("held"))
    moments = {night: disk.run(command(place, words)) for night, (words, _) in NIGHTS.items()}
    before, checked = 0, 0
    for night, (_, after) in NIGHTS.items():
        for state in disk.states(moments[night], cuts):
            try:
                nothing_is_lost(place, before, content)
            except Exception as error:
                raise AssertionError(f"{night}, {state}") from error
            checked += 1
        before = after
    assert checked > 2 * len(NIGHTS)


@pytest.mark.parametrize("cuts", [4, 10_000], ids=["some", "every"])
def test_jobs_that_retention_removes_stay_or_do_not_come_back(cuts: int, place: Path) -> None:
    disk = Disk(place, place.with_name("held"))
    disk.run(command(place, INGEST))
    for state in disk.states(disk.run(command(place, RETENTION)), cuts):
        there = jobs(place / "lake")
        assert there in (LOGS, LATER), state
        assert list(verify(Lake(place / "lake"))) == [], state
        fill(place / "logs", place / "lake")
        assert jobs(place / "lake") == there, state
