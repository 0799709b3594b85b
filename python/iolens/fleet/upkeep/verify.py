"""Is a lake whole? Every file is there and as long as it was, every row is of a log, no log is there twice.

And every job has all of its rows, and its log where the lake says that it is in an archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import BinaryIO

import duckdb

from iolens.error import IolensError
from iolens.fleet.archive.adopt import archives_in, groups, of_no_job
from iolens.fleet.archive.container import read_member
from iolens.fleet.archive.source import file_of, opened
from iolens.fleet.tables.delta import File, Table
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.write import connection
from iolens.fleet.upkeep.incomplete import incomplete, without_metrics
from iolens.metrics.literal import quoted
from iolens.rules.text import agree, counted

__all__ = ["damage_of", "verify"]


def verify(lake: Lake) -> Iterator[str]:
    """A line for everything that is wrong."""
    sound = True
    for name in lake.names():
        table = lake.table(name)
        with connection() as duck:
            for file in table.files():
                if damage := damage_of(duck, table, file):
                    yield f"{table.name}/{file.path}: {damage}"
                    sound = False
    if sound:
        yield from _rows(lake)
        yield from _archives(lake)


def _rows(lake: Lake) -> Iterator[str]:
    snapshot = lake.snapshot()
    with lake.open() as data:
        try:
            for path, logs in data.query(  # a name may be used again once its log is in an archive
                "SELECT path, count(*) FROM job WHERE log NOT IN (SELECT log FROM archived) "
                "GROUP BY path HAVING count(*) > 1 ORDER BY path"
            ).fetchall():
                yield f"job: {path} is there {counted(logs, 'time')}"
            for log, times in data.query(
                "SELECT log, count(*) FROM job GROUP BY log HAVING count(*) > 1 ORDER BY log"
            ).fetchall():
                yield f"job: log {log} is there {counted(times, 'time')}"
            for name in snapshot.files:
                if name == "job" or not any(c.name == "log" for c in lake.table(name).columns):
                    continue
                (rows,) = data.query(
                    f"SELECT count(*) FROM {name} WHERE log NOT IN (SELECT log FROM job)"
                ).fetchall()
                if rows[0]:
                    yield f"{name}: {counted(rows[0], 'row')} {agree(rows[0], 'is', 'are')} of no log"
            if batches := incomplete(data):
                tables = ", ".join(sorted(set(batches.values())))
                yield (
                    f"job: {counted(len(batches), 'batch')} of logs without rows in {tables}: the lake was copied "
                    "during an ingest; --repair has them read again"
                )
            elif jobs := without_metrics(data):
                yield (
                    f"metric: {counted(jobs, 'job')} without metrics and findings: "
                    "`iolens fleet recompute` adds them"
                )
        except duckdb.Error as error:
            yield str(error).splitlines()[0]


# ---- archives ----


def _archives(lake: Lake) -> Iterator[str]:
    """Those that the lake names, log by log, and what else lies where they are."""
    folders, told = {lake.archives, lake.path / "logs"}, set()
    with lake.open() as data:
        rows = data.query(
            "SELECT archive, path, place, digest FROM archived ORDER BY archive, place"
        ).fetchall()
    for archive, logs in groupby(rows, key=lambda row: str(row[0])):
        path = file_of(lake, archive)
        folders.add(path.parent.parent.parent)
        if damage := _damage_of(lake, archive, [(log, place, digest) for _, log, place, digest in logs]):
            told.add(path.resolve())
            yield f"{path}: {damage}"
    paths = archives_in(lake, sorted({folder.resolve() for folder in folders if folder.is_dir()}))
    problems: list[str] = []
    for group in groups(lake, [path for path in paths if path not in told], problems):
        for one in group:
            if strangers := len(of_no_job(lake, one)):
                words = f"--archives {quote(str(one.path))} --lake {quote(str(lake.path))}"
                yield (
                    f"{one.path}: {counted(strangers, 'log')} of no job: `iolens fleet ingest {words}` brings them"
                )
    yield from problems


def _damage_of(lake: Lake, archive: str, logs: list[tuple[str, int, str]]) -> str | None:
    try:
        with opened(lake, archive) as file:
            damaged = [path for path, place, digest in logs if not _is_sound(file, place, digest)]
    except (IolensError, OSError) as error:
        reason = error.problem if isinstance(error, IolensError) else error.strerror
        return f"{reason}; {counted(len(logs), 'job')} {agree(len(logs), 'has its log', 'have their logs')} in it"
    return f"{counted(len(damaged), 'log')} damaged, such as {damaged[0]}" if damaged else None


def _is_sound(file: BinaryIO, place: int, digest: str) -> bool:
    try:
        read_member(file, place, digest)
    except IolensError:
        return False
    return True


def damage_of(duck: duckdb.DuckDBPyConnection, table: Table, file: File) -> str | None:
    """What is wrong with a file; None if it is whole."""
    path = Path(table.path(file))
    try:
        size = path.stat().st_size
    except OSError as error:
        return str(error.strerror)
    if size != file.size:
        return f"has {counted(size, 'byte')}, not {file.size}"
    try:
        (found,) = duck.execute(
            f"SELECT count(*), count(COLUMNS(*)) FROM read_parquet({quoted(str(path))})"
        ).fetchall()
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return f"has {counted(found[0], 'row')}, not {file.rows}" if found[0] != file.rows else None
