"""Where the log of a row is: at its path, or in an archive, or in both."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from iolens.error import IolensError
from iolens.fleet.archive.container import Member, digest_of, read_member
from iolens.fleet.log_area import open_log, stat_log
from iolens.fleet.tables.data import LakeData
from iolens.fleet.tables.delta import DAY, Conflict
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import Column
from iolens.fleet.tables.write import arrow, connection, listed, read_files, write_files
from iolens.metrics.engine import register

__all__ = [
    "Source",
    "add_places",
    "archived_before",
    "extracted",
    "file_of",
    "mark_of",
    "member",
    "named",
    "opened",
    "part_of",
    "sources",
    "take_back",
]

PART = ".part"


class Source(NamedTuple):
    """A row of ``job``, and where its log is."""

    log: int
    job_id: int
    user: str
    application: str
    start: datetime | None
    path: str
    log_size: int
    log_mtime: int
    original: str
    """Digest of the log as it was ingested, "" of rows that are of no log."""
    cluster: str
    archive: str | None
    """The archive as the lake names it, None if there is none."""
    place: int
    """Byte in the archive."""
    form: str
    packed_size: int
    """Bytes of the log as the archive has it."""
    digest: str
    mode: int

    @property
    def at_its_path(self) -> bool:
        """Is it there as it was ingested, or as the archive has it?"""
        try:
            status = stat_log(self.path)
        except (OSError, ValueError):
            return False
        return status.st_mtime_ns == self.log_mtime and status.st_size in (self.log_size, self.packed_size)

    def read(self, file: BinaryIO) -> bytes:
        """The log at its path, which is open. Raises IolensError if it is another one than was ingested."""
        content = file.read(max(self.log_size, self.packed_size) + 1)
        if self.original and digest_of(content) not in (self.original, self.digest):
            raise IolensError("not the log that was ingested: ingest it again", self.path)
        return content


_COLUMNS = """j.log, coalesce(j.job_id, 0), coalesce(j."user", ''), coalesce(j.application, ''), j."start",
    coalesce(j.path, ''), coalesce(j.log_size, -1), coalesce(j.log_mtime, -1), coalesce(j.digest, ''),
    coalesce(j.cluster, ''), a.archive, coalesce(a.place, 0), coalesce(a.form, ''), coalesce(a.log_size, -1),
    coalesce(a.digest, ''), coalesce(a.mode, 0)"""


def sources(
    data: LakeData, where: str = "TRUE", parameters: Iterable[object] = (), *, of: str = "job"
) -> list[Source]:
    """The rows of ``job`` for which a condition holds, in order of their start. The condition calls the table ``j``.

    of: "archived" for rows that ``archived`` alone has.
    """
    columns, joined = _COLUMNS, "job AS j LEFT JOIN archived AS a USING (log)"
    if of == "archived":
        columns = (
            _COLUMNS.replace("j.log,", "a.log,")
            .replace("j.path", "a.path")
            .replace("j.log_mtime", "a.log_mtime")
        )
        joined = "archived AS a ANTI JOIN job AS x USING (log) LEFT JOIN (FROM job LIMIT 0) AS j USING (log)"
    rows = data.query(
        f'SELECT {columns} FROM {joined} WHERE {where} ORDER BY j."start", 1', list(parameters)
    ).fetchall()
    return [Source(*row) for row in rows]


def file_of(lake: Lake, archive: str) -> Path:
    """Archives below the lake are named from there, so that both can be moved together."""
    return lake.path / archive


def named(lake: Lake, archive: Path) -> str:
    """An archive as the lake names it."""
    folder = lake.path.resolve()
    path = archive.parent.resolve() / archive.name
    return str(path.relative_to(folder) if folder in path.parents else path)


def add_places(lake: Lake, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Says in the lake where logs are; False if it says so of one of them already.

    rows: of ``archived``, each with its day.
    """
    table = lake.table("archived")
    with connection() as duck:
        register(duck, "given", arrow(rows, [*table.columns, Column(DAY, "date")]))
        files = write_files(duck, "SELECT * FROM given", table, f"a{secrets.token_hex(16)}")
    ours, days = {row[0] for row in rows}, {str(row[-1]) for row in rows}
    while True:
        table.refresh()
        there = [table.path(f) for f in table.files() if f.day in days]
        if ours & _logs_in(there):
            table.discard(files)
            return False
        with contextlib.suppress(Conflict):
            table.commit(add=files, exact=True)
            return True


def take_back(lake: Lake, logs: Collection[int], day: str) -> None:
    """The lake says no more where these logs of a day are."""
    table = lake.table("archived")
    among = f"({', '.join(map(str, sorted(logs)))})"
    while True:
        table.refresh()
        old = [f for f in table.files() if f.day == day and any(f.first <= n <= f.last for n in logs)]
        if not old:
            return
        with connection() as duck:
            rest = f"SELECT * FROM {read_files(duck, table, old)} WHERE log NOT IN {among}"
            files = write_files(duck, rest, table, f"a{secrets.token_hex(16)}")
        if sum(f.rows for f in files) == sum(f.rows for f in old):
            table.discard(files)
            return
        try:
            table.commit(add=files, remove=old, exact=True)
            return
        except Conflict:
            table.discard(files)


def _logs_in(paths: list[str]) -> set[int]:
    if not paths:
        return set()
    with connection() as duck:
        rows = duck.execute(
            f"SELECT log FROM read_parquet({listed(paths)}, hive_partitioning = false)"
        ).fetchall()
    return {log for (log,) in rows}


def archived_before(lake: Lake, day: date) -> tuple[int, int]:
    """Logs of days before this that are in archives, and these archives: those that are there."""
    table = lake.table("archived")
    old = [f for f in table.files() if f.day is not None and f.day < str(day)]
    if not old:
        return 0, 0
    with connection() as duck:
        counted = f"SELECT archive, count(*) FROM {read_files(duck, table, old)} GROUP BY archive"
        there = [n for archive, n in duck.execute(counted).fetchall() if file_of(lake, archive).exists()]
    return sum(there), len(there)


def mark_of(lake: Lake) -> str:
    """Tells this lake's unfinished archives from those of others."""
    delta = lake.table("job").delta
    return "none" if delta is None else str(delta.metadata().id)[:8]


def part_of(lake: Lake, archive: str) -> Path:
    """The name that an archive has until its logs are removed."""
    final = file_of(lake, archive)
    return final.with_name(f"{final.name}.{mark_of(lake)}{PART}")


def opened(lake: Lake, archive: str) -> BinaryIO:
    """An archive, under its name or the one that it has until the logs are removed."""
    final = file_of(lake, archive)
    for path in (final, part_of(lake, archive), final):
        with contextlib.suppress(FileNotFoundError):
            return path.open("rb")
    raise IolensError("the archive is not there", str(final))


def member(lake: Lake, source: Source) -> Member:
    """The log out of its archive. Raises IolensError."""
    if source.archive is None:
        raise IolensError("the log was removed, and no archive has it", source.path)
    with opened(lake, source.archive) as file:
        try:
            return read_member(file, source.place, source.digest)
        except IolensError as error:
            raise IolensError(f"{error.problem}: {source.path}", error.path, error.offset) from error


@contextlib.contextmanager
def extracted(lake: Lake, wanted: Iterable[Source]) -> Iterator[list[str]]:
    """Paths of logs: their own, or those of copies, which are gone at the end.

    A copy is read of a log in an archive, and of one that a user can exchange between a look at it and its reading.
    """
    with tempfile.TemporaryDirectory(prefix="iolens-") as folder:
        yield [_path_or_copy(lake, source, Path(folder, str(number))) for number, source in enumerate(wanted)]


def _path_or_copy(lake: Lake, source: Source, folder: Path) -> str:
    mode = source.mode
    if source.at_its_path:
        try:
            fd, kept = open_log(source.path)
        except OSError as error:
            raise IolensError(error.strerror or str(error), source.path) from error
        with os.fdopen(fd, "rb") as file:
            if kept:
                return source.path
            content, mode = source.read(file), os.fstat(fd).st_mode & 0o777
    else:
        content = member(lake, source).content
    copy = folder / Path(source.path).name
    folder.mkdir()
    copy.write_bytes(content)
    copy.chmod(mode or 0o400)  # what is made of it has the readers that the log had
    return str(copy)
