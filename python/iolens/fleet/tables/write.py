"""Parquet files of a table, written by DuckDB: to be committed, or left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable

from iolens.fleet.tables.access import keep_owner
from iolens.fleet.tables.delta import DAY, File, Table
from iolens.fleet.tables.durable import Syncing, reason, sync
from iolens.fleet.tables.schema import Column
from iolens.metrics.engine import connect as connect_engine
from iolens.metrics.literal import quoted

__all__ = [
    "arrow",
    "connect",
    "connection",
    "folders_of",
    "listed",
    "plain",
    "quoted",
    "read_files",
    "write_files",
]

_ARROW = {
    "long": DataType.int64(),
    "double": DataType.float64(),
    "string": DataType.utf8(),
    "boolean": DataType.bool(),
    "date": DataType.date32(),
    "timestamp": DataType.timestamp("us", tz="UTC"),
}
_FULL = {os.strerror(code): code for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}
"""What a write may end with that is no fault of the lake's files."""

_EPOCH = date(1970, 1, 1)
_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory of its own."""
    return _quiet(connect_engine())


@contextlib.contextmanager
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB for a moment. All of a process share one database: to make another costs 18 ms, each time.

    Statements read and write files here; what else they make is temporary.
    """
    pid = os.getpid()
    with _making:
        if pid not in _shared:
            _shared[pid] = connect_engine()
        duck = _shared[pid].cursor()
    try:
        yield _quiet(duck)
    finally:
        duck.close()


_shared: dict[int, duckdb.DuckDBPyConnection] = {}
"""By process: what a forked child has of its parent's database has no threads, and is left alone."""
_making = threading.Lock()


def _unlocked() -> None:
    global _making  # noqa: PLW0603
    _making = threading.Lock()


os.register_at_fork(after_in_child=_unlocked)


def _quiet(duck: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Without its bar, which a slow machine would have among a command's answers; times are UTC."""
    with contextlib.suppress(duckdb.InvalidInputException):
        duck.execute("SET enable_progress_bar = false")
    duck.execute("SET TimeZone = 'UTC'")
    return duck


def listed(paths: Sequence[str]) -> str:
    """Paths as a list in SQL."""
    return f"[{', '.join(map(quoted, paths))}]"


def plain(text: str) -> str:
    """A path as a table can have it: bytes that are not UTF-8 as ``\\xNN``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _array(values: Sequence[Any], kind: str) -> Array:
    if kind == "date":
        days = [None if v is None else (v - _EPOCH).days for v in values]
        return Array(days, DataType.int32()).cast(_ARROW[kind])
    if kind == "timestamp":
        times = [None if v is None else (v - _START) // timedelta(microseconds=1) for v in values]
        return Array(times, DataType.int64()).cast(_ARROW[kind])
    if kind == "string":
        values = [None if v is None else plain(str(v)) for v in values]
    return Array(values, _ARROW[kind])


def arrow(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> ArrowTable:
    """Rows as Arrow's table, in the stored form of the columns: days as dates, times with their zone."""
    return ArrowTable.from_pydict(
        {column.name: _array([row[n] for row in rows], column.delta) for n, column in enumerate(columns)}
    )


def read_files(duck: duckdb.DuckDBPyConnection, table: Table, files: Sequence[File]) -> str:
    """SQL for the stored rows of files, whatever version wrote them: null where it had no such column.

    Columns of a newer version are among them, and from now on among those of the table: what is written in place of
    these files has them, too.
    """
    paths = [table.path(f) for f in files]
    options = "union_by_name = true, hive_partitioning = false"
    if table.partitioned:
        options = f"union_by_name = true, hive_partitioning = true, hive_types = {{'{DAY}': DATE}}"
    source = f"read_parquet({listed(paths)}, {options})"
    there = {row[0]: row[1] for row in duck.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    table.take_along(there)
    chosen = [f'"{c.name}"' if c.name in there else f'NULL::{c.stored} AS "{c.name}"' for c in table.columns]
    return f"(SELECT {', '.join([*chosen, *([DAY] if table.partitioned else [])])} FROM {source})"


def write_files(  # noqa: PLR0913
    duck: duckdb.DuckDBPyConnection,
    query: str,
    table: Table,
    token: str,
    day: date | None = None,
    *,
    syncing: Syncing | None = None,
) -> list[File]:
    """The rows of a query as files whose names begin with the token, one per day; none if there are no rows.

    They are on disk, if no syncing is given that ends later. What fails leaves no file.

    day: of all rows, which then have no such column: DuckDB copies what it has to divide.
    """
    try:
        files = _copied(duck, query, table, token, day)
        paths = [table.path(file) for file in files]
        lake = table.folder.parent
        keep_owner(*sorted(folders_of(paths, lake) - {lake}), *paths)
        if syncing:
            syncing.begin(paths)
        else:
            sync(*paths, *folders_of(paths, lake))
    except BaseException as error:
        folder = f"{DAY}={day}" if day else "**"
        for path in table.folder.glob(f"{folder}/{token}.{table.fingerprint}*.parquet"):
            path.unlink(missing_ok=True)
        if isinstance(error, duckdb.IOException) and reason(error) in _FULL:
            raise OSError(_FULL[reason(error)], reason(error), os.fspath(table.folder)) from error
        raise
    return files


def folders_of(paths: Iterable[str], lake: Path) -> set[Path]:
    """Those that have the names of files, up to the lake."""
    return {folder for path in paths for folder in Path(path).parents if lake in (folder, *folder.parents)}


def _copied(
    duck: duckdb.DuckDBPyConnection, query: str, table: Table, token: str, day: date | None
) -> list[File]:
    table.folder.mkdir(parents=True, exist_ok=True)
    keep_owner(table.folder)
    name = f"{token}.{table.fingerprint}"
    options = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, RETURN_STATS true"
    if day:
        folder = table.folder / f"{DAY}={day}"
        folder.mkdir(exist_ok=True)
        keep_owner(folder)
        target = f"{folder}/{name}-0.parquet"
    elif table.partitioned:
        target = f"{table.folder}"
        options += f", PARTITION_BY ({DAY}), FILENAME_PATTERN '{name}-{{i}}', OVERWRITE_OR_IGNORE true"
    else:
        target = f"{table.folder}/{name}.parquet"
    written = duck.execute(f"COPY ({query}) TO {quoted(target)} ({options})").fetchall()
    files = []
    for path, rows, size, _, statistics, keys, *_ in written:  # DuckDB 2 tells one thing more
        if not rows:
            os.unlink(path)  # noqa: PTH108
            continue
        of_log = statistics.get('"log"') or {}
        files.append(
            File(
                path=os.path.relpath(path, table.folder),
                size=size,
                rows=rows,
                first=int(of_log.get("min", 0)),
                last=int(of_log.get("max", 0)),
                day=str(day) if day else keys[DAY] if table.partitioned else None,
            )
        )
    return files
