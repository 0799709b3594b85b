"""Pseudonyms for what is old: the names of days before a date become keyed hashes, in a lake that has names.

Day by day, the table ``job`` last: as long as a log of a day has its path in clear there, the day is done again, and
what is a pseudonym already stays. How ingest knows the logs is written down before.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import date, datetime, timezone
from typing import Any

import duckdb

from iolens.fleet.ingest.identity import hashed_path
from iolens.fleet.tables.delta import File, Table
from iolens.fleet.tables.durable import settle
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.pseudonyms import MADE, Pseudonyms, columns_of
from iolens.fleet.tables.write import connection, listed, read_files, write_files

__all__ = ["age"]

# Tables without days: what tells how old a row is.
_DATED = {
    "quarantine": "first_seen",
    "expired": "to_timestamp(log_mtime / 1e9)",
    "accounting": 'coalesce("end", "start", submit, told)',
}
_ACCOUNTING = ("user", "account", "name", "source")


def age(lake: Lake, before: date, key: bytes, *, keep_hours: int = 24) -> int:
    """Names of what is of days before this become pseudonyms; how many logs these were.

    keep_hours: how long files with the names stay for queries that have begun. A run after that removes them. Raises
    IolensError for another key than the lake's, and for a lake with what a newer version has added.
    """
    names = Pseudonyms(key)
    lake.use_later_pseudonyms(names.mark)
    logs = sum(_day(lake, day, names) for day in _days(lake, before))
    for name in _DATED:
        _undated(lake, name, before, names)
    settle(lake.path)
    for name in lake.names():
        lake.table(name).remove_old(keep_hours)
    return logs


_CLEAR = f"NOT regexp_matches(coalesce(path, \"user\", ''), '{MADE}')"


def _days(lake: Lake, before: date) -> list[str]:
    """Those with names in clear."""
    job = lake.table("job")
    old = [f for f in job.files() if f.day is not None and f.day < str(before)]
    with connection() as duck:
        return sorted(
            {
                str(f.day)
                for f in old
                if duck.execute(
                    f"SELECT 1 FROM read_parquet({listed([job.path(f)])}) WHERE {_CLEAR} LIMIT 1"
                ).fetchall()
            }
        )


def _day(lake: Lake, day: str, names: Pseudonyms) -> int:
    logs = _in_clear(lake.table("job"), day, "log", _CLEAR)
    # Restored, a log that was rewritten has the size that it has in its archive.
    archived = _in_clear(
        lake.table("archived"), day, "NULL", f"form <> 'as is' AND NOT regexp_matches(path, '{MADE}')"
    )
    lake.append("expired", [(hashed_path(path), *rest, None) for path, *rest in [*logs, *archived]])
    for name in [*(n for n in lake.names() if n != "job"), "job"]:
        table = lake.table(name)
        if table.partitioned:
            _replace(table, day, names)
    return len(logs)


def _in_clear(table: Table, day: str, log: str, where: str) -> list[tuple[Any, ...]]:
    files = [table.path(f) for f in table.files() if f.day == day]
    if not files:
        return []
    with connection() as duck:
        source = f"read_parquet({listed(files)}, hive_partitioning = false)"
        return duck.execute(
            f"SELECT path, log_size, log_mtime, {log} FROM {source} WHERE path IS NOT NULL AND {where}"
        ).fetchall()


def _replace(table: Table, day: str, names: Pseudonyms) -> None:
    """Other files with the same rows and without the names."""
    while True:
        old = [f for f in table.files() if f.day == day]
        changes = _changes(table.name)
        if not old or not changes:
            return
        with connection() as duck:
            duck.execute(f"CREATE TEMP TABLE held AS SELECT * FROM {read_files(duck, table, old)}")
            for change in changes:
                change(names, duck)
            order = " ORDER BY log" if table.partitioned else ""
            new = write_files(duck, f"SELECT * FROM held{order}", table, f"p{uuid.uuid4().hex}")
        if table.replace(old, new):
            return


def _undated(lake: Lake, name: str, before: date, names: Pseudonyms) -> None:
    if name not in lake.names():
        return
    table = lake.table(name)
    moment = datetime(before.year, before.month, before.day, tzinfo=timezone.utc)
    old = f"{_DATED[name]} < TIMESTAMPTZ '{moment.isoformat()}'"
    columns = _ACCOUNTING if name == "accounting" else ("path",)
    clear = " OR ".join(f"NOT regexp_matches(\"{c}\", '{MADE}|^#')" for c in columns)
    wanted = f"{old} AND ({clear})"

    def holding(files: Iterable[File]) -> list[File]:
        with connection() as duck:
            return [
                f
                for f in files
                if duck.execute(
                    f"SELECT 1 FROM {read_files(duck, table, [f])} WHERE {wanted} LIMIT 1"
                ).fetchall()
            ]

    while found := holding(table.files()):
        with connection() as duck:
            duck.execute(f"CREATE TEMP TABLE held AS SELECT * FROM {read_files(duck, table, found)}")
            for column in columns:
                names.replace_texts(
                    duck,
                    "held",
                    column,
                    names.name if name == "accounting" else hashed_path,
                    f" AND {wanted}",
                )
            new = write_files(duck, "SELECT * FROM held", table, f"p{uuid.uuid4().hex}")
        table.replace(found, new)


def _changes(name: str) -> list[Any]:
    """What is done to the rows of a table with days."""
    numbers, texts, kept = columns_of(name)
    clear = f" AND {_CLEAR}" if name == "job" else ""
    done: list[Any] = [
        lambda names, duck, c=column: names.replace_numbers(duck, "held", c, clear) for column in numbers
    ]
    for column, kind in texts.items():
        done.append(
            lambda names, duck, c=column, k=kind: names.replace_texts(
                duck, "held", c, names.path if k == "path" else names.name, kept
            )
        )
    if name == "finding":
        done.append(_without_message)
    return done


def _without_message(names: Pseudonyms, duck: duckdb.DuckDBPyConnection) -> None:
    """A message names files; the title is the rule's. ``recompute`` writes messages with pseudonyms."""
    duck.execute("UPDATE held SET message = title")
