"""Is a lake whole? Every file is there and as long as it was, every row is of a log, no log is there twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from iolens.fleet.tables.delta import File, Table
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.write import connection
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
            lacking = data.query(
                "SELECT count(*) FROM job WHERE log NOT IN (SELECT log FROM module)"
            ).fetchall()
            parts = data.query("SELECT count(*) FROM module WHERE stored > 0").fetchall()
            if parts[0][0] == 0 and lacking[0][0] == 0 and snapshot.files["job"]:
                return
        except duckdb.Error as error:
            yield str(error).splitlines()[0]


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
