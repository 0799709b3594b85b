"""A lake of nine jobs with known counters: what named queries say of it is known to the byte."""

from __future__ import annotations

import calendar
import subprocess
from pathlib import Path
from typing import Any

import places
import pytest
from made_log import Make
from once import once

MIB, GIB = 1 << 20, 1 << 30
START = calendar.timegm((2026, 11, 1, 10, 30, 0))
DAY = 86400


class Area:
    """Logs by Darshan's names, which tell the user."""

    def __init__(self, folder: Path) -> None:
        self.make, self.folder = Make(folder), folder / "logs"
        self.folder.mkdir()

    def add(self, user: str, exe: str, job: int, day: int, seconds: int, **more: Any) -> Path:
        start = START + day * DAY
        log = self.make(exe=exe.encode(), job_id=job, uid=1000, start=start, end=start + seconds, **more)
        return log.rename(
            self.folder / f"{user}_{Path(exe.rsplit(maxsplit=1)[-1]).name}_id{job}-1_11-1-{job}_1.darshan"
        )


def _simulation(area: Area, run: int) -> None:
    """4 ranks write one file in 1,000 small pieces; the last run takes five times as long in I/O."""
    slow = 10.0 if run == 5 else 2.0
    record = {"id": 11, "rank": -1, "opens": 4, "writes": 1000, "bytes_written": (run + 1) * MIB}
    record |= {"size_write": [1000, *[0] * 9], "max_byte_written": MIB - 1}
    record |= {"write_time": 4 * slow, "slowest_rank_time": slow, "slowest_rank": 1}
    names = {11: b"/scratch/alice/run/out"}
    area.add("alice", "/opt/bin/sim", 100 + run, run, 100, nprocs=4, posix=[record], names=names)


def make_area(folder: Path) -> Path:
    """The logs: six runs of alice's sim, two of bob's train.py, one of carol's meta."""
    area = Area(folder)
    for run in range(6):
        _simulation(area, run)
    for run in range(2):
        record = {
            "id": 22,
            "rank": -1,
            "opens": 2,
            "reads": 5 << 10,
            "bytes_read": 5 * GIB,
            "max_byte_read": GIB - 1,
        }
        record |= {"size_read": [0, 0, 0, 0, 5 << 10, *[0] * 5], "access": [MIB, 0, 0, 0]}
        record |= {"access_count": [5 << 10, 0, 0, 0], "read_time": 60.0, "slowest_rank_time": 30.0}
        area.add(
            "bob",
            "python3 train.py",
            200 + run,
            run,
            60,
            nprocs=2,
            posix=[record],
            names={22: b"/data/set/all"},
        )
    record = {
        "id": 33,
        "rank": -1,
        "opens": 192,
        "stats": 1000,
        "meta_time": 192 * 31.0,
        "slowest_rank_time": 31.0,
    }
    area.add("carol", "meta", 300, 8, 600, nprocs=192, posix=[record], names={33: b"/home/carol/f"})
    return area.folder


def small_lake(places: pytest.TempPathFactory) -> Path:
    """The lake of these logs, made once: what changes it takes a copy."""
    return once(places, "small_lake", make_lake) / "lake"


def make_lake(folder: Path) -> Path:
    """The same, in this folder."""
    lake = folder / "lake"
    command = [
        places.BIN,
        "fleet",
        "ingest",
        make_area(folder),
        "--lake",
        lake,
        "--jobs",
        "1",
        "--cluster",
        "hopper",
    ]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return lake
