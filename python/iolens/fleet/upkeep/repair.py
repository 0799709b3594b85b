"""Repair: damaged files leave the tables, and the logs that they had rows of are read again by the next ingest.

A log that can be had neither at its path nor from an archive keeps what the other tables say of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from iolens.error import IolensError
from iolens.fleet.archive import Source, restore, sources
from iolens.fleet.archive.source import member
from iolens.fleet.tables.access import keep_owner
from iolens.fleet.tables.delta import DAY, File, Table
from iolens.fleet.tables.durable import make_folder, sync
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import BATCH_BITS
from iolens.fleet.tables.write import connection, read_files, write_files
from iolens.fleet.upkeep.incomplete import incomplete
from iolens.fleet.upkeep.verify import damage_of
from iolens.rules.text import agree, counted

__all__ = ["ASIDE", "Repaired", "repair"]

ASIDE = "damaged"
"""The lake's folder for them."""

# What is lost with a file of a table that logs do not give again.
_LOST = {
    "accounting": "import the accounting of these jobs again",
    "archived": "where their logs are; the archives have an index of their own",
    "change": "marks of days",
    "expired": "jobs that retention has removed come back, where their logs are",
    "peak": "measurements of file systems",
    "quarantine": "the next ingest tries these logs again",
}


@dataclass
class Repaired:
    """What a repair did."""

    files: int = 0
    again: int = 0
    """Jobs that the next ingest reads again."""
    restored: int = 0
    """Of these, those whose logs were put back out of archives."""
    lost: list[str] = field(default_factory=list)
    """What could not be had, a line each."""


def repair(lake: Lake) -> Repaired:
    """Takes the damaged files out of the lake's tables, and all else of the logs that can be read again."""
    done = Repaired()
    damaged = {name: _damaged(lake.table(name)) for name in lake.names()}
    for name, files in damaged.items():
        _set_aside(lake, lake.table(name), files)
        done.files += len(files)
        if name in _LOST and files:
            rows = sum(file.rows for file in files)
            done.lost.append(f"{name}: {counted(rows, 'row')} {agree(rows, 'is', 'are')} lost: {_LOST[name]}")
    of_logs = [file for name, files in damaged.items() if name not in _LOST for file in files]
    if of_logs or _batches(lake):
        again = _to_be_had(lake, of_logs, done)
        _without(lake.table("job"), again)
        _without_orphans(lake)
        done.again = len(again) + sum(file.rows for file in damaged.get("job", []))
    return done


def _batches(lake: Lake) -> list[int]:
    """Those of which the lake has only some tables, and all of whose logs are to be read again."""
    with lake.open() as data:
        return sorted(incomplete(data))


def _damaged(table: Table) -> list[File]:
    with connection() as duck:
        return [file for file in table.files() if damage_of(duck, table, file)]


def _set_aside(lake: Lake, table: Table, files: Collection[File]) -> None:
    table.drop(lambda file: file in files)
    for file in files:
        path = table.folder / file.path
        kept = lake.path / ASIDE / table.name / file.path
        if path.exists():
            keep_owner(*reversed(make_folder(kept.parent)))
            path.rename(kept)
            sync(kept.parent)


def _to_be_had(lake: Lake, files: Iterable[File], done: Repaired) -> set[int]:
    """The jobs that a file has rows of, and whose log can be read: that of an archive is back at its place then.

    And those of batches that the lake has in part.
    """
    found: dict[int, Source] = {}
    jobs: set[int] = set()
    batches = ", ".join(map(str, _batches(lake))) or "NULL"
    with lake.open() as data:
        for source in sources(data, f"j.log >> {BATCH_BITS} IN ({batches})"):
            found[source.log] = source
            jobs.add(source.log)
        for file in files:
            bounds = [file.first, file.last, file.day]
            listed = sources(data, f"j.log BETWEEN ? AND ? AND j.{DAY} = ?::DATE", bounds)
            jobs.update(source.log for source in listed)
            listed += sources(data, f"a.log BETWEEN ? AND ? AND a.{DAY} = ?::DATE", bounds, of="archived")
            found.update({source.log: source for source in listed})
    again = set()
    for source in found.values():
        try:
            if not source.at_its_path:
                member(lake, source)
                problems = restore(lake, [source]).problems
                if problems:
                    raise IolensError(problems[0])
                done.restored += 1
            again.add(source.log)
        except IolensError as error:
            done.lost.append(f"job {source.job_id}: some of its rows are lost: {error}")
    return again & jobs


def _without(job: Table, logs: Collection[int]) -> None:
    """Rows of these logs leave ``job``."""
    listed = ", ".join(map(str, sorted(logs))) or "NULL"
    while True:
        old = [f for f in job.files() if any(f.first <= log <= f.last for log in logs)]
        if not old or _rewrite(job, old, f"log NOT IN ({listed})"):
            return


def _without_orphans(lake: Lake) -> None:
    """Rows of no job leave the other tables, but for those of batches that are under way."""
    snapshot = lake.snapshot()
    job = lake.table("job")
    for name, files in snapshot.files.items():
        table = lake.table(name)
        if name == "job" or not table.partitioned:
            continue
        for file in files:
            with connection() as duck:
                known = f"SELECT log FROM {read_files(duck, job, job.files())}" if job.files() else "SELECT 0"
                there = f"log IN ({known})"
                (orphans,) = duck.execute(
                    f"SELECT count(*) FROM {read_files(duck, table, [file])} WHERE NOT {there}"
                ).fetchall()
            if orphans[0]:
                _rewrite(table, [file], there)


def _rewrite(table: Table, old: list[File], where: str) -> bool:
    """The rows for which something holds in place of all; False if another process was first."""
    with connection() as duck:
        query = f"SELECT * FROM {read_files(duck, table, old)} WHERE {where} ORDER BY log"
        new = write_files(duck, query, table, f"w{uuid.uuid4().hex}")
    return table.replace(old, new)
