"""What an ingest finds in folders: logs of every Darshan by name, others by content, and what it says of the rest."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import struct
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from here import run_here
from iolens import schemas
from jsonschema import Draft202012Validator
from made_log import Make
from synthetic import OLD, old_log

HEAD = "JobID|JobIDRaw|User|Account|State|Start|End|AllocCPUS|Comment"
ENDINGS = {".darshan.gz": gzip.compress, ".darshan.bz2": bz2.compress}


def run(*args: object, given: str = "") -> str:
    done = run_here("fleet", *args, given=given)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return str(done.stdout)


def ingest(area: Path, lake: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("ingest", area, "--lake", lake, "--no-rules", "-j", 1, "--json"))
    assert not list(Draft202012Validator(schemas.load("ingest")).iter_errors(found))
    return found


def old_job(version: str, job: int) -> bytes:
    """A log of a job; those of 1.x do not have its number."""
    order = OLD[version][0][0]
    plain = old_log(version, order, job, len)
    return plain if version < "2" else plain[:48] + struct.pack(f"{order}q", job) + plain[56:]


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """A hundred logs of all old versions, compressed in both ways, on the days of their jobs."""
    for job in range(100, 200):
        version, ending = list(OLD)[job % len(OLD)], list(ENDINGS)[job % 2]
        day = tmp_path / "logs" / "2012" / str(job % 12 + 1) / str(job % 28 + 1)
        day.mkdir(parents=True, exist_ok=True)
        log = day / f"user{job % 5}_solver_id{job}_2-1-60000-{job}_1{ending}"
        log.write_bytes(ENDINGS[ending](old_job(version, job)))
    return tmp_path / "logs"


def test_a_hundred_old_logs_and_their_coverage(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    found = ingest(area, lake)
    assert (found["found"], found["ingested"], found["quarantined"], found["skipped"]) == (100, 100, 0, [])
    assert ingest(area, lake)["known"] == 100
    jobs = [f"{job}|{job}|user{job % 5}|m1|COMPLETED|1000|1100|10|" for job in range(100, 240)]
    run("accounting", "-", "--lake", lake, given="\n".join([HEAD, *jobs, ""]))
    covered = json.loads(run("coverage", "--lake", lake, "--json"))
    assert (covered["total"]["jobs"], covered["total"]["jobs_logged"]) == (140, 100)
    assert covered["unmatched"]["unknown"] == 0
    by_user = json.loads(run("coverage", "--lake", lake, "--json", "--by", "user"))
    assert [(row["key"], row["jobs"], row["jobs_logged"]) for row in by_user["groups"]] == [
        (f"user{n}", 28, 20) for n in range(5)
    ]


def test_logs_of_other_names_are_found_by_content_and_the_rest_is_counted(
    tmp_path: Path, make_log: Make
) -> None:
    area, lake = tmp_path / "logs", tmp_path / "logs" / "lake"
    area.mkdir()
    new = make_log(posix=[{"id": 1, "writes": 1}]).read_bytes()
    logs = {
        "renamed": new,
        "copy.darshan.1": new,
        "plain.2x": old_job("2.06", 1),
        "old.gz": gzip.compress(old_job("1.24", 2)),
        "old.bz2": bz2.compress(old_job("2.00", 3)),
    }
    others = {
        "README": b"3.41 is the version of these logs\n",
        "empty": b"",
        "numbers.gz": gzip.compress(bytes(100)),
        "cut.bz2": bz2.compress(bytes(100))[:20],
        "not.gz": b"\x1f\x8bno gzip",
    }
    for name, content in {**logs, **others, "job.darshan_partial": new}.items():
        (area / name).write_bytes(content)
    os.mkfifo(area / "pipe")
    (area / "elsewhere").symlink_to(tmp_path / "nowhere")
    (area / "folder").symlink_to(tmp_path)

    done = ingest(area, lake)
    assert (done["found"], done["ingested"], done["quarantined"]) == (
        len(logs),
        len(logs) - 1,
        0,
    )  # one is a copy
    assert {row["reason"]: row["files"] for row in done["skipped"]} == {
        "no log": len(others),
        "log of a job that runs or was killed": 1,
        "pipe": 1,
        "link": 2,
    }
    assert Path(next(r["example"] for r in done["skipped"] if r["reason"] == "no log")).name in others
    text = run("ingest", area, "--lake", lake, "--no-rules", "-j", 1)
    assert f"5 files skipped: no log, such as {area}/" in text and "5 already in the lake" in text


def test_a_watching_ingest_says_each_scan_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    waits = iter([None])

    def wait(seconds: float) -> None:
        assert seconds == 300
        if next(waits, 0) is not None:
            sys.exit(0)

    monkeypatch.setattr("iolens.cli.fleet.ingest.time", SimpleNamespace(sleep=wait, monotonic=time.monotonic))
    lake = tmp_path / "lake"
    scans = run("ingest", tmp_path / "logs", "--lake", lake, "--watch", "5m", "--json", "-j", 1).splitlines()
    assert [json.loads(scan)["found"] for scan in scans] == [0, 0]
