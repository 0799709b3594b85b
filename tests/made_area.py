"""Thirty logs of four days, and the lake that is made of them: what is in it is known."""

from __future__ import annotations

import random
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Callable

from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.upkeep.verify import verify
from made_log import Make

LOGS = 30


class Here(Executor):
    """Decodes in this process what an ingest gives to its workers: to start one takes a second."""

    def submit(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(function(*values, **named))
        except Exception as error:
            done.set_exception(error)
        return done


def make_area(folder: Path) -> Path:
    """Job n reads and writes two files; dora ran them all, in two hours each."""
    folder.mkdir()
    make = Make(folder)
    for job in range(LOGS):
        names = {job + 1: f"/scratch/ann/secret{job}.h5".encode(), 999: b"/home/bob/notes"}
        records = [{"id": number, "writes": 1, "bytes_written": 100} for number in names]
        start = 1_700_000_000 + job * 7200
        made = make(
            posix=records,
            names=names,
            job_id=job,
            uid=4242,
            start=start,
            end=start + 5,
            exe=b"/apps/zephyr --with carol",
        )
        made.rename(folder / f"dora_zephyr_id{job}-1_1-1-1-1_1.darshan")
    return folder


def make_large(folder: Path) -> Path:
    """A log with many records, which is smaller with bzip2, alone in a new folder."""
    folder.mkdir()
    chance = random.Random(3)
    names = {number: b"/scratch/run/file%d" % number for number in range(1, 3001)}
    records = [
        {
            "id": n,
            "writes": chance.randrange(9),
            "bytes_written": chance.randrange(1 << 20),
            "write_time": chance.random(),
        }
        for n in names
    ]
    start = 1_700_000_000
    return Make(folder)(posix=records, names=names, start=start, end=start + 9, job_id=5)


def fill(area: Path, lake: Path, rules: bool = False, logs: int = 100) -> None:
    """Ingests the area."""
    Ingest(Lake.create(lake), Options(str(lake), rules=rules), jobs=1, batch_logs=logs, pool=Here()).run(
        [area]
    )


def whole(lake: Path, logs: int = LOGS) -> None:
    """Every log of the area is in the lake, once."""
    found = list(verify(Lake(lake)))
    assert found == [], found
    with Lake(lake).open() as data:
        assert data.rows("SELECT count(*) AS n, count(DISTINCT job_id) AS jobs FROM job") == [
            {"n": logs, "jobs": logs}
        ]
        assert data.rows("SELECT count(*) AS n, sum(writes)::BIGINT AS writes FROM posix") == [
            {"n": 2 * logs, "writes": 2 * logs}
        ]
