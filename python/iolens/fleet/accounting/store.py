"""Accounted jobs into a lake: what is new, or told otherwise than before."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any

from iolens.error import UNREADABLE, USAGE, IolensError
from iolens.fleet.accounting import AccountedJob, Reading, read_jobs

if TYPE_CHECKING:
    from iolens.fleet.tables.lake import Lake

__all__ = ["Stored", "store"]

_ROWS = 100_000
_START = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIMES = ("submit", "start", "end")
_COLUMNS = ", ".join(f'epoch("{name}")' if name in _TIMES else f'"{name}"' for name in AccountedJob._fields)


@dataclass
class Stored:
    """What became of a file of accounting."""

    jobs: int = 0
    """Runs of jobs in it."""
    added: int = 0
    """Of these, those that the lake did not have, or had otherwise (as running, perhaps)."""
    first: float | None = None
    last: float | None = None
    """When the first and the last of them started; seconds since 1970."""
    left_out: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    problems: list[str] = field(default_factory=list)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else _START + timedelta(seconds=seconds)


def _known(lake: Lake, jobs: list[AccountedJob]) -> set[int]:
    """What the lake has of these jobs' time, a number for each row."""
    first, last = min(job.start for job in jobs), max(job.start for job in jobs)
    found: set[int] = set()
    with lake.open() as data:
        rows = data.query(
            f'SELECT {_COLUMNS} FROM accounting WHERE epoch("start") BETWEEN {first!r} AND {last!r}'
        )
        while some := rows.fetchmany(_ROWS):
            found.update(map(hash, some))
    return found


def _row(job: AccountedJob, told: datetime, source: str) -> tuple[Any, ...]:
    times = {name: _moment(getattr(job, name)) for name in _TIMES}
    return (*job._replace(**times), told, source)  # type: ignore[arg-type]


def _marked(jobs: Iterator[AccountedJob], observed: Collection[int]) -> Iterator[AccountedJob]:
    for job in jobs:
        yield job._replace(observed=True) if job.job_id in observed else job


def store(lake: Lake, reading: Reading, observed: Collection[int] = ()) -> Stored:
    """Reads a file and adds its jobs to the lake's table ``accounting``; what is there already is not added again.

    observed: numbers of jobs that ran under iolens, for accounting that does not tell. Killed at any moment, a second
    call adds the rest. Raises IolensError if the file is no accounting, or no line of it can be read.
    """
    if lake.settings.get("pseudonyms"):
        raise IolensError(
            "a lake with pseudonyms takes no accounting: it would hold users' names",
            str(lake.path),
            exit_code=USAGE,
        )
    jobs = _marked(read_jobs(reading), observed)
    stored = Stored()
    told = datetime.now(timezone.utc)
    while some := list(islice(jobs, _ROWS)):
        known = _known(lake, some)
        new = [job for job in dict.fromkeys(some) if hash(tuple(job)) not in known]
        if new:
            lake.append("accounting", [_row(job, told, reading.path) for job in new])
        stored.jobs += len(some)
        stored.added += len(new)
        starts = [job.start for job in some]
        stored.first = min(starts + ([] if stored.first is None else [stored.first]))
        stored.last = max(starts + ([] if stored.last is None else [stored.last]))
    stored.left_out, stored.damaged, stored.problems = (
        dict(reading.left_out),
        reading.damaged,
        reading.problems,
    )
    if not stored.jobs and stored.damaged:
        raise IolensError(
            f"no line can be read, the first: {stored.problems[0].split(': ', 1)[1]}",
            reading.path,
            exit_code=UNREADABLE,
        )
    return stored
