"""What `iolens peak` measured on a site's file systems: in the lake once, and next to jobs and storage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from here import run_here
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.saved_queries import ask
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from jobs import Job, MiB
from made_area import Here
from starlette.testclient import TestClient


def peak(day: str, read: float, **more: Any) -> str:
    found = {"mount": "/scratch", "type": "nfs", "class": "nfs", "host": "n1", "past_page_cache": True}
    return json.dumps(
        {**found, "time": f"{day}T04:00:00Z", "read_rate": read, "write_rate": 4.0 * MiB, **more}
    )


def mark(lake: Path, text: str, *options: str, code: int = 0) -> Any:
    file = lake.parent / "peak.json"
    file.write_text(text)
    done = run_here("fleet", "mark", "--peak", file, "--lake", lake, *options)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Of one job that reads 10 MiB in 2 s and writes 1 MiB in 1 s below /scratch."""
    area = tmp_path / "logs"
    area.mkdir()
    job = Job(nprocs=1, mounts=[("nfs", "/scratch")], run_time=10)
    job.posix("/scratch/some/file", 0, read={MiB: 10}, write={MiB: 1}, read_time=2.0, write_time=1.0)
    job.section("process", {"rank": 0, "pid": 1, "ended": "exit", "host": "n7", "io_time": 3.0})
    job.save(area / "root_job_id4711_1.darshan")
    options = Options(str(tmp_path / "lake"), cluster="hopper")
    done = Ingest(Lake.create(options.lake), options, jobs=1, batch_logs=9, pool=Here()).run([area])
    assert done.ingested == 1
    return tmp_path / "lake"


def test_a_measurement_is_in_the_lake_once(lake: Path) -> None:
    two = f"{peak('2026-11-01', 10.0 * MiB)}\n{peak('2026-11-02', 0, past_page_cache=False)}"
    assert mark(lake, two, "--cluster", "hopper").stdout == "2 measurements, 2 new\n"
    assert mark(lake, two).stdout == "2 measurements, 0 new\n"
    with Lake(lake).open() as data:
        rows = ask(data, "peaks", cluster="hopper").dicts()
        assert ask(data, "peaks", cluster="other").rows == []
    assert [(str(r["measured"]), r["read_rate"], r["write_rate"], r["past_page_cache"]) for r in rows] == [
        ("2026-11-02 04:00:00", None, 4 * MiB, False),
        ("2026-11-01 04:00:00", 10 * MiB, 4 * MiB, True),
    ]


@pytest.mark.parametrize(
    "text",
    ["[1]", "{", peak("2026-11-31", 1), peak("x", 1), peak("2026-11-01", -1), peak("2026-11-01", 1, mount=7),
     peak("2026-11-01", float("inf")), peak("2026-11-01", 1, time="2026-11-01"), f"{peak('2026-11-01', 1)} x"],
)  # fmt: skip
def test_what_is_no_measurement_is_one_line_and_nothing_is_kept(lake: Path, text: str) -> None:
    wrong = mark(lake, text, code=3).stderr
    assert wrong == f"iolens: {lake.parent}/peak.json: expected the output of iolens peak --json or --save\n"
    with Lake(lake).open() as data:
        assert ask(data, "peaks").rows == []


def test_a_mark_is_a_day_or_measurements(lake: Path) -> None:
    for words, problem in (
        ([], "DAY and TEXT, or --peak FILE, must be given"),
        (["2026-11-01"], "DAY and TEXT, or --peak FILE, must be given"),
        (["2026-11-01", "x", "--peak", "/dev/null"], "DAY and TEXT do not go with --peak"),
        (["2026-11-01", "x", "--cluster", "hopper"], "--cluster goes with --peak"),
    ):
        done = run_here("fleet", "mark", *words, "--lake", lake)
        assert done.returncode == 2 and problem in done.stderr, words


def test_a_job_is_compared_with_the_last_measurement_before_it(lake: Path, site: Site) -> None:
    with Lake(lake).open() as data:
        ((log, end),) = data.query('SELECT log, "end" FROM job').fetchall()
    before, after = f"{end:%Y-%m-%d}", f"{end.year + 1}-01-01"
    assert before != after
    measured = [
        peak(f"{end.year - 2}-01-01", 99.0 * MiB),
        peak(f"{end.year - 1}-01-01", 10.0 * MiB),
        peak(after, 77.0 * MiB),
        peak(f"{end.year - 1}-06-01", 55.0 * MiB, type="lustre"),
        peak(f"{end.year - 1}-07-01", 33.0 * MiB, mount="/home"),
    ]
    snapshots = Snapshots(lake, refresh=3600)
    snapshots.renew()
    client = TestClient(
        Portal(site, snapshots).app(), base_url="https://portal.example.org", client=("10.0.0.1", 1)
    )
    root = {"X-Remote-User": "root"}
    assert "measured peak" not in client.get(f"/job/{log}/details", headers=root).text
    assert "What file systems could do" not in client.get("/storage", headers=root).text
    mark(lake, "\n".join(measured), "--cluster", "hopper")
    snapshots.renew()
    rows = client.get(f"/job/{log}/tables.csv?table=peaks", headers=root).text.splitlines()
    day = f"{end.year - 1}-01-01"
    assert rows[1:] == [
        f"/scratch,read,{5.0 * MiB},{10.0 * MiB},0.5,{day}",
        f"/scratch,write,{1.0 * MiB},{4.0 * MiB},0.25,{day}",
    ]
    assert "Compared with a measured peak" in client.get(f"/job/{log}/details", headers=root).text
    storage = client.get("/storage?since=", headers=root).text
    assert "What file systems could do" in storage and "/home" in storage and "10 MiB/s" in storage
    snapshots.stop()
