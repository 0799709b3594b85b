"""Retention: what a lake forgets with time. First the detail of jobs, then the jobs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from iolens.error import USAGE, IolensError
from iolens.fleet.tables.delta import Table
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.write import connection, read_files

__all__ = ["AGGREGATES", "retain"]

AGGREGATES = ("job", "metric", "finding", "archived")
"""Tables with a few rows per job; all others that have days are detail."""


def retain(lake: Lake, *, detail: date | None = None, jobs: date | None = None) -> dict[str, int]:
    """Removes what is of days before these: detail of the tables of records, jobs of all. Table -> rows removed.

    A log whose job is removed is not ingested again. Raises IolensError if a newer version has added tables.
    """
    if newer := [name for name in lake.newer() if "." not in name]:
        raise IolensError(
            f"a newer version of iolens has written {', '.join(newer)}: use that version to remove old jobs",
            str(lake.path),
            exit_code=USAGE,
        )
    removed: dict[str, int] = {}
    names = [name for name in lake.names() if name not in AGGREGATES]
    for name in [*names, *(n for n in reversed(AGGREGATES) if n in lake.names())]:
        before = max(filter(None, (jobs, None if name in AGGREGATES else detail)), default=None)
        table = lake.table(name)
        if before is None or not table.partitioned:
            continue
        if name == "job":
            _remember(lake, table, before)
        rows = _forget(table, str(before))
        if rows:
            removed[name] = rows
    return removed


def _forget(table: Table, before: str) -> int:
    return table.drop(lambda file: file.day is not None and file.day < before)


def _remember(lake: Lake, job: Table, before: date) -> None:
    """Their paths, so that the next ingest leaves them alone; twice is as good as once."""
    old = [f for f in job.files() if f.day is not None and f.day < str(before)]
    if old:
        with connection() as duck:
            rows: Iterable[tuple[object, ...]] = duck.execute(
                f"SELECT path, log_size, log_mtime, NULL, digest FROM {read_files(duck, job, old)}"
            ).fetchall()
        lake.append("expired", list(rows))
