"""Archives that a lake does not know: it was lost, is an older copy, or they were moved.

Their index says what is in them. A job of the lake gets its place in the archive; logs of no job are ingested out of
it, and get theirs then.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from iolens.error import IolensError
from iolens.fleet.archive.container import Entry, read_index
from iolens.fleet.archive.pack import locked
from iolens.fleet.archive.source import PART, add_places, file_of, named, part_of, take_back
from iolens.fleet.tables.access import only_owner_writes
from iolens.fleet.tables.delta import DAY, Table
from iolens.fleet.tables.durable import sync
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import Column
from iolens.fleet.tables.write import arrow, connection, plain, read_files
from iolens.metrics.engine import register

__all__ = ["Indexed", "adopt", "archives_in", "groups", "known_archives", "of_no_job"]

_AT_ONCE = 50_000
"""Logs of archives that are looked at together."""

_UNFINISHED = re.compile(rf"(?P<final>.+\.zip)\.[^.]+{re.escape(PART)}")
_GIVEN = (
    Column("number", "long"),
    Column("digest", "text"),
    Column("path", "text"),
    Column("mtime", "long"),
)


class Indexed(NamedTuple):
    """An archive, and what is in it."""

    path: Path
    entries: list[Entry]

    @property
    def day(self) -> str:
        """Of all jobs in it, "" if its name does not say."""
        found = re.match(r"\d{4}-\d\d-\d\d\.", self.path.name)
        return found[0][:-1] if found else ""


def archives_in(
    lake: Lake, folders: Iterable[str | os.PathLike[str]], *, unfinished: bool = False
) -> list[Path]:
    """Archives below folders, or files.

    unfinished: also those that an archiver has left when it ended, and the lake does not know; they get their names.
    """
    found, known = [], known_archives(lake)
    for folder in map(Path, folders):
        listed = sorted(folder.rglob("*.zip*")) if folder.is_dir() else [folder]
        for path in listed:
            left = _UNFINISHED.fullmatch(path.name)
            if path is folder or path.suffix == ".zip":
                found.append(path)
            elif unfinished and left and named(lake, final := path.with_name(left["final"])) not in known:
                if not _is_complete(path):
                    continue
                found.append(path.replace(final))
                sync(path.parent)
    return found


def known_archives(lake: Lake) -> set[str]:
    """By their names in the lake."""
    table = lake.table("archived")
    if not (files := table.files()):
        return set()
    with connection() as duck:
        asked = f"SELECT DISTINCT archive FROM {read_files(duck, table, files)}"
        return {archive for (archive,) in duck.execute(asked).fetchall()}


def _is_complete(path: Path) -> bool:
    """Was it written to its end, and does no process work on it? Of all others the logs are where they were."""
    try:
        with path.open("rb") as file:
            return not locked(file) and bool(read_index(path))
    except (OSError, IolensError):
        return False


def groups(lake: Lake, paths: Iterable[Path], problems: list[str] | None = None) -> Iterator[list[Indexed]]:
    """Archives with their logs, some at a time. problems: takes a line for each that cannot be read."""
    group: list[Indexed] = []
    for path in paths:
        try:
            _check(lake, path)
            group.append(Indexed(path, read_index(path)))
        except IolensError as error:
            if problems is not None:
                problems.append(str(error))
        if sum(len(one.entries) for one in group) >= _AT_ONCE:
            yield group
            group = []
    if group:
        yield group


def _check(lake: Lake, path: Path) -> None:
    """Raises IolensError for what another user may have written: an archive says whose its logs are."""
    try:
        status = path.lstat()
        owner = lake.path.stat().st_uid
    except OSError as error:
        raise IolensError(error.strerror or str(error), str(path)) from error
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in {0, os.geteuid(), owner}:
        raise IolensError("belongs to another user than the lake: its logs are left out", str(path))
    if not only_owner_writes(status):
        raise IolensError("other users can write it: its logs are left out", str(path))


# ---- which jobs they are of ----


def _files(lake: Lake, name: str, group: Sequence[Indexed]) -> tuple[Table, list[Any]]:
    table, days = lake.table(name), {one.day for one in group}
    return table, [f for f in table.files() if "" in days or f.day in days]


def _register(duck: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    rows = [(n, e.original, plain(e.path), e.mtime) for n, e in enumerate(entries)]
    register(duck, "given", arrow(rows, _GIVEN))


def adopt(lake: Lake, group: Sequence[Indexed]) -> int:
    """Jobs of the lake that are in no archive, or in one that is not there, get their place; how many."""
    while rows := _to_be_placed(lake, group):
        before: dict[str, set[int]] = {}
        for row, archive in rows:
            if archive is not None:
                before.setdefault(str(row[-1]), set()).add(row[0])
        for day, logs in before.items():
            take_back(lake, logs, day)
        if add_places(lake, [row for row, _ in rows]):
            break
    return len(rows)


def _to_be_placed(lake: Lake, group: Sequence[Indexed]) -> list[tuple[tuple[Any, ...], str | None]]:
    """Rows of ``archived``, each with the archive that is not there and that the lake has until now, if any."""
    places = [(named(lake, one.path), entry) for one in group for entry in one.entries]
    job, jobs = _files(lake, "job", group)
    if not jobs or not places:
        return []
    archived, known = _files(lake, "archived", group)
    expired = lake.table("expired")
    none = "(SELECT NULL::BIGINT AS log, NULL AS archive, NULL::VARCHAR AS digest LIMIT 0)"
    with connection() as duck:
        _register(duck, [entry for _, entry in places])
        there = read_files(duck, archived, known) if known else none
        gone_by = read_files(duck, expired, files) if (files := expired.files()) else none
        found = duck.execute(f"""
            SELECT j.log, j.path, j.log_mtime, j.{DAY}, max(given.number), max(a.archive)
            FROM given JOIN {read_files(duck, job, jobs)} AS j ON j.digest = given.digest
            LEFT JOIN {there} AS a ON a.log = j.log
            WHERE j.digest NOT IN (SELECT digest FROM {gone_by} WHERE digest IS NOT NULL)
            GROUP BY ALL ORDER BY j.log
        """).fetchall()
    dead = set(lake.snapshot().dead)
    gone = {archive: not _is_there(lake, archive) for *_, archive in found if archive is not None}
    rows: list[tuple[tuple[Any, ...], str | None]] = []
    for log, path, mtime, day, number, archive in found:
        if log not in dead and gone.get(archive, True):
            name, e = places[number]
            rows.append(((log, path, e.size, mtime, name, e.place, e.form, e.digest, e.mode, day), archive))
    return rows


def _is_there(lake: Lake, archive: str) -> bool:
    return file_of(lake, archive).exists() or part_of(lake, archive).exists()


def of_no_job(lake: Lake, one: Indexed) -> list[Entry]:
    """Logs of an archive that the lake has no job of, and never had."""
    selects = []
    with connection() as duck:
        _register(duck, one.entries)
        for name, condition in (
            ("job", "x.digest = given.digest"),
            ("expired", "x.digest = given.digest"),
            ("expired", "x.path = given.path AND x.log_mtime = given.mtime"),
        ):
            table = lake.table(name)
            if files := [f for f in table.files() if f.day is None or not one.day or f.day == one.day]:
                source = read_files(duck, table, files)
                selects.append(f"SELECT given.number FROM given JOIN {source} AS x ON {condition}")
        known = {n for (n,) in duck.execute(" UNION ".join(selects)).fetchall()} if selects else set()
    return [entry for number, entry in enumerate(one.entries) if number not in known]
