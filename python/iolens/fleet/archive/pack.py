"""From the log area into archives: packed, read back, committed in the lake, and only then removed.

An archive has the name of an unfinished one until its logs are gone from the log area. The next process finishes an
abandoned one if the lake knows its logs, and otherwise removes it. Two that pack the same day meet at the commit,
which succeeds only for the version that was read.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import time
import zipfile
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Callable, NamedTuple

import duckdb
from deltalake.exceptions import DeltaError

from iolens.error import USAGE, IolensError
from iolens.fleet.archive.container import Writer, digest_of, read_index, read_member
from iolens.fleet.archive.form import AS_IS, best_form
from iolens.fleet.archive.source import PART, Source, add_places, mark_of, named, sources, take_back
from iolens.fleet.log_area import open_directory, open_log, stat_log
from iolens.fleet.tables.access import keep_owner, like_lake
from iolens.fleet.tables.durable import make_folder, reason, settle, sync
from iolens.fleet.tables.lake import Lake

__all__ = ["Archived", "archive", "locked"]

LOGS = 100_000
"""In an archive, at most: of a day with more there are several."""

COURTESY = 3600
"""Seconds that an unfinished archive which the lake does not know is left alone, where files cannot be locked."""


@dataclass
class Archived:
    """What an archiver did."""

    archives: int = 0
    logs: int = 0
    bytes: int = 0
    """Of these logs."""
    packed: int = 0
    """Bytes of their archives."""
    rewritten: int = 0
    """Logs that are smaller in another form."""
    removed: int = 0
    """Logs taken out of the log area, of archives that others had begun too."""
    changed: int = 0
    """Written to since they were ingested: the next ingest is first."""
    missing: int = 0
    """Neither at their path nor in an archive."""
    problems: list[str] = field(default_factory=list)


class _Packed(NamedTuple):
    """A log in an archive, as a row of the table ``archived`` needs it."""

    source: Source
    place: int
    size: int
    form: str
    digest: str
    mode: int


def archive(  # noqa: PLR0913
    lake: Lake,
    to: Path,
    *,
    before: date,
    since: date | None = None,
    program: str,
    courtesy: float = COURTESY,
    progress: Callable[[str], Any] = lambda day: None,
) -> Archived:
    """Packs the logs of jobs that started before a day (UTC) into archives below a folder.

    program: the native iolens, which rewrites logs. courtesy: see ``COURTESY``.
    """
    if lake.settings.get("pseudonyms"):
        raise IolensError(
            "the lake has pseudonyms and does not know where its logs are", str(lake.path), exit_code=USAGE
        )
    run = _Run(lake, to, program, courtesy)
    run.finish_others()
    for day in run.days(since, before):
        progress(day)
        run.pack_day(day)
    return run.done


class _Run:
    def __init__(self, lake: Lake, to: Path, program: str, courtesy: float) -> None:
        self.lake = lake
        self.to = to
        self.program = program
        self.courtesy = courtesy
        self.done = Archived()
        self.mark = mark_of(lake)
        self._missing: set[int] = set()
        self._changed: set[int] = set()

    # ---- what is to be packed ----

    def days(self, since: date | None, before: date) -> list[str]:
        """Those with logs that are in no archive, by the numbers of rows alone."""
        rows: dict[str, dict[str, int]] = {"job": {}, "archived": {}}
        for name, counted in rows.items():
            for file in self.lake.table(name).files():
                if file.day and str(since or "") <= file.day < str(before):
                    counted[file.day] = counted.get(file.day, 0) + file.rows
        return sorted(day for day, jobs in rows["job"].items() if jobs > rows["archived"].get(day, 0))

    def pack_day(self, day: str) -> None:
        """Until nothing is left to do; another archiver may be doing the same."""
        one = date.fromisoformat(day)
        while True:
            with self.lake.open(since=one, until=one) as data:
                waiting = sources(data, "a.archive IS NULL AND j.digest IS NOT NULL")
            waiting.sort(key=lambda log: (log.cluster, log.path))
            parts = [
                logs[first : first + LOGS]
                for logs in (list(group) for _, group in groupby(waiting, key=lambda log: log.cluster))
                for first in range(0, len(logs), LOGS)
            ]
            if all(self._pack(day, logs) for logs in parts):
                return

    # ---- one archive ----

    def _pack(self, day: str, logs: list[Source]) -> bool:
        """False if another archiver has packed some of them meanwhile."""
        there = [log for log in logs if self._is_there(log)]
        if not there:
            return True
        folder = self.to / (re.sub(r"[^\w.-]", "_", there[0].cluster).lstrip(".") or "logs") / day[:4]
        final = folder / f"{day}.{secrets.token_hex(4)}.zip"
        try:
            like_lake(self.lake.path, *make_folder(folder))
            writer = Writer(final.with_name(f"{final.name}.{self.mark}{PART}"))
            keep_owner(writer.path)
        except OSError as error:
            raise _cannot_write(final, error) from error
        with contextlib.closing(writer.file):
            packed = self._fill_or_abandon(writer, there)
            if not packed:
                return True
            # From here on an error leaves the archive where it is: the lake may know it.
            try:
                size = writer.path.stat().st_size
                if not self._commit(day, final, packed):
                    writer.abandon()
                    return False
            except (duckdb.IOException, OSError, DeltaError) as error:
                raise _cannot_write(self.lake.path, error) from error
            self._count(packed, size)
            self._empty([one.source for one in packed], final, writer.path)
        return True

    def _is_there(self, log: Source) -> bool:
        try:
            status = stat_log(log.path)
        except FileNotFoundError:
            self._missing.add(log.log)
            self.done.missing = len(self._missing)
            return False
        except (OSError, ValueError) as error:
            self.done.problems.append(f"{log.path}: {getattr(error, 'strerror', None) or error}")
            return False
        if (status.st_size, status.st_mtime_ns) != (log.log_size, log.log_mtime):
            self._changed.add(log.log)
            self.done.changed = len(self._changed)
            return False
        return True

    def _fill_or_abandon(self, writer: Writer, logs: list[Source]) -> list[_Packed]:
        """The logs that are in it, on disk and read back; if there are none, there is no archive."""
        packed: list[_Packed] = []
        try:
            packed = self._fill(writer, logs)
        except OSError as error:
            raise _cannot_write(writer.path, error) from error
        finally:
            if not packed:
                writer.abandon()
        return packed

    def _fill(self, writer: Writer, logs: list[Source]) -> list[_Packed]:
        with contextlib.suppress(OSError):  # a file system without locks: ``courtesy`` is all there is
            fcntl.flock(writer.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        packed = []
        for log in logs:
            try:
                with os.fdopen(open_log(log.path)[0], "rb") as file:
                    content, status = log.read(file), os.fstat(file.fileno())
                    form = best_form(file.fileno(), content, self.program)
            except OSError as error:
                self.done.problems.append(f"{log.path}: {error.strerror}")
                continue
            except IolensError as error:
                self.done.problems.append(f"{error}; it stays")
                continue
            known = (len(content), log.original, log.job_id, log.user, log.cluster)
            place = writer.add(log.path, form.content, status, form=form.name, known=known)
            digest = digest_of(form.content)
            packed.append(_Packed(log, place, len(form.content), form.name, digest, status.st_mode & 0o7777))
        if packed:
            writer.close()
            _read_back(writer.path, packed)
            sync(writer.path.parent)
        return packed

    def _commit(self, day: str, final: Path, packed: list[_Packed]) -> bool:
        """Says in the lake where the logs are; False if it says so already."""
        name = named(self.lake, final)
        rows = [
            (
                *(p.source.log, p.source.path, p.size, p.source.log_mtime),
                *(name, p.place, p.form, p.digest, p.mode, date.fromisoformat(day)),
            )
            for p in packed
        ]
        return add_places(self.lake, rows)

    def _count(self, packed: list[_Packed], size: int) -> None:
        self.done.archives += 1
        self.done.logs += len(packed)
        self.done.bytes += sum(p.source.log_size for p in packed)
        self.done.packed += size
        self.done.rewritten += sum(p.form != AS_IS for p in packed)

    # ---- what the lake knows to be in an archive ----

    def _empty(self, logs: list[Source], final: Path, part: Path) -> None:
        """Removes logs from the log area; the archive then takes its name."""
        # Of the rows of these jobs too, which an ingest may be about to sync, or an archiver that was ended.
        settle(self.lake.path)
        settle(part.parent)
        failed = 0
        newer: set[int] = set()
        for log in logs:
            try:
                if _remove(log):
                    self.done.removed += 1
                else:
                    newer.add(log.log)
            except FileNotFoundError:
                pass
            except OSError as error:
                failed += 1
                if failed == 1:
                    self.done.problems.append(
                        f"{log.path}: is archived, and cannot be removed: {error.strerror}"
                    )
        if newer:  # they were written to while they were packed: the lake then replaces their jobs, as ever
            old = [(p.path, p.log_size, p.log_mtime, None, p.original) for p in logs if p.log in newer]
            self.lake.append("expired", old)
            take_back(self.lake, newer, final.name[:10])
        if not failed:
            part.replace(final)
            sync(final.parent)

    def finish_others(self) -> None:
        """What archivers have left that were ended."""
        before = self.lake.path / "logs"  # where earlier versions had them
        for part in sorted(p for to in {self.to, before} for p in to.glob(f"*/*/*.{self.mark}{PART}")):
            try:
                with part.open("rb") as file:
                    if locked(file):
                        continue
                    self._finish(part, file)
            except FileNotFoundError:  # another archiver has
                continue

    def _finish(self, part: Path, file: BinaryIO) -> None:
        final = part.with_name(part.name[: -len(f".{self.mark}{PART}")])
        name = named(self.lake, final)
        day = date.fromisoformat(final.name[:10])
        with self.lake.open(since=day, until=day) as data:
            known = sources(data, "a.archive = ?", [name])
        if not known:
            if time.time() - os.fstat(file.fileno()).st_mtime >= self.courtesy:
                _leave(part, final)
            return
        sound = []
        for log in known:
            try:
                if log.at_its_path:
                    read_member(file, log.place, log.digest)
                sound.append(log)
            except IolensError as error:
                self.done.problems.append(f"{error}: {log.path} stays")
        if len(sound) == len(known):
            self._empty(sound, final, part)


def _remove(log: Source) -> bool:
    """Was the log at its path, and is it gone now? Out of the folder that was looked at, whatever its name leads to."""
    folder, _, name = log.path.rpartition("/")
    fd = open_directory(folder)
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        same = (status.st_size, status.st_mtime_ns) == (log.log_size, log.log_mtime)
        if same and stat.S_ISREG(status.st_mode):
            os.unlink(name, dir_fd=fd)
            return True
        return False
    finally:
        os.close(fd)


def _leave(part: Path, final: Path) -> None:
    """Removes an archive that the lake does not know, unless it has the only copy of a log: the lake may be older."""
    try:
        entries = read_index(part)
    except IolensError:  # it was never finished, and no log was removed
        entries = []
    if all(os.path.lexists(entry.path) for entry in entries):
        part.unlink(missing_ok=True)
    else:
        part.replace(final)
        sync(final.parent)


def _cannot_write(path: Path, error: Exception) -> IolensError:
    return IolensError(f"cannot write the archive; no log of it was removed: {reason(error)}", str(path))


def _read_back(path: Path, packed: list[_Packed]) -> None:
    """Raises IolensError if the archive on disk is not what was written: each log, and the directory."""
    with path.open("rb") as file:
        for one in packed:
            read_member(file, one.place, one.digest)
        with zipfile.ZipFile(file) as container:
            places = [info.header_offset for info in container.infolist()]
    if places[: len(packed)] != [one.place for one in packed]:
        raise IolensError("the archive on disk is not as it was written: no log was removed", str(path))


def locked(file: BinaryIO) -> bool:
    """Does a process work on it?"""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
