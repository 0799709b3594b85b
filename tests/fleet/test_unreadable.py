"""Ingest as a user who may not read everything: the rest comes in, and what is missing once it is readable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from iolens.fleet import Lake
from iolens.fleet.upkeep.compact import compact
from made_log import Make

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
IOLENS = Path(sys.executable).parent / "iolens"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may write to."""
    if subprocess.run([*AS_NOBODY, IOLENS, "--version"], check=False, capture_output=True).returncode:
        pytest.skip("iolens lies where others may not read it")
    with tempfile.TemporaryDirectory(prefix="iolens-public-") as place:
        Path(place).chmod(0o777)
        yield Path(place)


def ingest(public: Path) -> tuple[int, dict[str, Any]]:
    command = [*AS_NOBODY, IOLENS, "fleet", "ingest", "logs", "--lake", "lake", "--json", "-j", "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=public, timeout=120)
    assert done.returncode in {0, 4}, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_what_an_earlier_version_put_into_quarantine_is_read_once_it_may_be(public: Path) -> None:
    """Of logs that it might not read it kept the system's reason there, like that of damaged ones."""
    (public / "logs").mkdir()
    damaged = public / "logs" / "damaged.darshan"
    damaged.write_bytes(b"no log")
    log = Make(public)(posix=[{"id": 1, "writes": 1}], job_id=20).rename(public / "logs" / "secret.darshan")
    log.chmod(0o600)
    status = log.stat()
    log.rename(public / "secret")
    assert ingest(public)[1]["quarantined"] == 1
    (public / "secret").rename(log)
    lake = Lake(public / "lake")
    now = datetime.now(timezone.utc)
    lake.append(
        "quarantine",
        [(str(log), status.st_size, status.st_mtime_ns, "Permission denied", now, None)],
    )
    code, done = ingest(public)
    assert (code, done["ingested"], done["known"], done["unreadable"]) == (4, 0, 1, [])
    assert done["unreadable_before"] == 1
    assert quarantine(lake) == [str(damaged), str(log)]

    log.chmod(0o644)
    code, done = ingest(public)
    assert (code, done["ingested"], done["known"], done["unreadable"]) == (0, 1, 1, [])
    compact(lake)
    assert quarantine(lake) == [str(damaged)]
    os.utime(damaged, ns=(1, 1))  # in another state, which is no better
    assert ingest(public)[1]["quarantined"] == 1
    compact(lake)
    assert quarantine(lake) == [str(damaged)] * 2
    assert ingest(public)[1]["known"] == 2


def quarantine(lake: Lake) -> list[str]:
    with lake.open() as data:
        return [row["path"] for row in data.rows("SELECT path FROM quarantine ORDER BY path")]


def test_what_may_not_be_read_is_named_and_taken_later(public: Path) -> None:
    logs = public / "logs"
    folders = {name: logs / name for name in ("open", "closed", "listed")}
    for job, folder in enumerate(folders.values()):
        folder.mkdir(parents=True)
        Make(folder)(posix=[{"id": 1, "writes": 1}], job_id=10 + job)
    secret = Make(public)(posix=[{"id": 1, "writes": 1}], job_id=20).rename(
        folders["open"] / "secret.darshan"
    )
    secret.chmod(0o600)
    folders["closed"].chmod(0o700)
    folders["listed"].chmod(0o744)  # its names may be read, its files not
    listed = next(folders["listed"].glob("*.darshan"))

    code, done = ingest(public)
    assert (code, done["ingested"], done["quarantined"]) == (4, 1, 0)
    unread = [f"{folders['closed']}: Permission denied", f"{listed}: Permission denied"]
    assert sorted(done["unreadable"]) == sorted([*unread, f"{secret}: Permission denied"])
    assert done["unreadable_before"] == 0

    # The log has been named: until it changes, or can be read, it is counted alone.
    code, done = ingest(public)
    assert (code, sorted(done["unreadable"]), done["unreadable_before"]) == (4, sorted(unread), 1)
    with Lake(public / "lake").open() as data:
        rows = data.rows("SELECT path, reason FROM quarantine")
    assert rows == [{"path": str(secret), "reason": "Permission denied"}]
    os.utime(secret, ns=(1, secret.stat().st_mtime_ns + 1))
    assert sorted(ingest(public)[1]["unreadable"]) == sorted([*unread, f"{secret}: Permission denied"])

    secret.chmod(0o644)
    code, done = ingest(public)
    assert (code, done["ingested"], done["known"], sorted(done["unreadable"])) == (4, 1, 1, sorted(unread))
    for folder in folders.values():
        folder.chmod(0o755)
    code, done = ingest(public)
    assert (code, done["ingested"], done["known"], done["unreadable"]) == (0, 2, 2, [])
    with Lake(public / "lake").open() as data:
        assert data.rows("SELECT job_id FROM job ORDER BY 1") == [{"job_id": n} for n in (10, 11, 12, 20)]
    compact(Lake(public / "lake"))
    assert quarantine(Lake(public / "lake")) == []


def test_many_logs_without_permission_are_twenty_lines(public: Path) -> None:
    (public / "logs").mkdir()
    for n in range(30):
        Make(public)(posix=[{"id": 1, "writes": 1}], job_id=n).rename(public / "logs" / f"{n}.darshan")
        (public / "logs" / f"{n}.darshan").chmod(0o600)
    command = [*AS_NOBODY, IOLENS, "fleet", "ingest", "logs", "--lake", "lake", "-j", "1"]
    for lines, last in (
        (21, "0 already in the lake"),
        (0, "0 already in the lake, 30 still without permission"),
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=public, timeout=120)
        assert (done.returncode, done.stderr.count("\n")) == (4, lines)
        assert done.stdout.startswith(f"30 logs found, 0 ingested, {last}; ")
