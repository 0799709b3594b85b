"""Ingest: new logs of an area into a lake, by several processes, restartable at any instant.

A batch is decoded and written by a worker; this process commits it, table by table and ``job`` last. Before that
nothing of it counts, after that all of it does. Another process that ingests at the same time is noticed at
the commit of ``job``, which succeeds only for the version that it was prepared for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain, groupby
from typing import Any, Callable, NamedTuple, Optional

import duckdb
from deltalake.exceptions import DeltaError

from iolens.error import USAGE, IolensError
from iolens.fleet.archive.adopt import adopt, archives_in, groups
from iolens.fleet.ingest.batch import TOO_LARGE, Options, Refused, Written, write_batch
from iolens.fleet.ingest.identity import BELONGS
from iolens.fleet.ingest.ingested import Known
from iolens.fleet.ingest.log_directories import Found, find_logs, packed_logs
from iolens.fleet.ingest.workers import SECONDS, Workers
from iolens.fleet.tables.delta import Conflict, Table
from iolens.fleet.tables.durable import reason
from iolens.fleet.tables.lake import Lake, dropped
from iolens.fleet.tables.pseudonyms import MADE, Pseudonyms
from iolens.fleet.tables.schema import BATCH_BITS
from iolens.fleet.tables.write import plain, quoted
from iolens.metrics.log_tables import LARGE_BYTES

__all__ = ["BATCH_BYTES", "BATCH_LOGS", "Ingest", "New", "Skipped", "Summary"]

New = tuple[Found, Optional[int]]
"""A log that the lake has not, and the log in it that is an older state of the same file."""

BATCH_LOGS = 4096
"""In a batch, at most."""
BATCH_BYTES = 64 << 20
"""Of the logs in a batch, unless it has one only: what bounds a worker's memory."""

_AT_ONCE = 8
"""Tables that are committed at once."""

# Files that are compared with what is known at once.
_CHUNK = 200_000

_DIED = "the process that read it died"

_PARTS = 16
"""Batches that one becomes in which a log ends the process or cannot be read."""

_TRIES = 2
"""Of a log alone, before it is to blame."""

# They last until a mode or an owner is changed.
_DENIED = frozenset({os.strerror(errno.EACCES), os.strerror(errno.EPERM)})

# What logs can raise, and a broken installation does not.
_RAISED = (MemoryError, ArithmeticError, ValueError, LookupError, duckdb.Error)


@dataclass
class Skipped:
    """Files that are no logs, for one reason."""

    reason: str
    files: int
    example: str
    """The path of the first."""


@dataclass
class Summary:
    """What an ingest did."""

    found: int = 0
    known: int = 0
    """Those that the lake had already, as they are."""
    ingested: int = 0
    replaced: int = 0
    """Of the ingested, those that the lake had in an older state."""
    quarantined: int = 0
    deferred: int = 0
    """Left for the next scan: beyond the limit, or still written to."""
    placed: int = 0
    """Jobs whose log is in an archive, which the lake did not know."""
    findings: int = 0
    bytes: int = 0
    unreadable: list[str] = field(default_factory=list)
    """Folders and logs that could not be read, each with the reason."""
    unreadable_before: int = 0
    """Other logs that no permission lets read, as an earlier scan has said."""
    skipped: list[Skipped] = field(default_factory=list)
    """What else lies in the areas, by reason."""


class _Running(NamedTuple):
    """A batch in the hands of a worker."""

    logs: list[New]
    batch: int
    since: float


def _folder(new: New) -> str:
    return new[0].path.rpartition("/")[0]


def _in_turn(new: list[New], most: int) -> list[New]:
    """The first logs of every owner, then further ones, so many at a time: none waits for a user who has a million."""
    seen: Counter[int] = Counter()
    turns: list[list[New]] = []
    for one in new:
        owner = one[0].owner
        turn = seen[owner] // most
        seen[owner] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(one)
    return list(chain.from_iterable(turns))


class Ingest:
    """One scan of areas into a lake."""

    def __init__(  # noqa: PLR0913
        self,
        lake: Lake,
        options: Options,
        *,
        jobs: int = 0,
        limit: int | None = None,
        batch_logs: int = BATCH_LOGS,
        progress: Callable[[Summary, int], Any] = lambda summary, waiting: None,
        pool: Executor | None = None,
        seconds: float = SECONDS,
    ) -> None:
        """jobs: processes that decode, 0 for one per processor. limit: new logs that are taken, at most.

        pool: what runs them, instead of processes here; BrokenProcessPool is what it raises for one that died.
        seconds: in which a batch must be read.

        progress: is called with the summary so far and the number of logs that wait.
        """
        self.lake = lake
        self.summary = Summary()
        self._options = options
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._limit = limit
        self._batch_logs = min(batch_logs, 1 << BATCH_BITS)
        self._progress = progress
        self._tables: dict[str, Table] = {}
        self._job = self._table("job")
        self._names = Pseudonyms(options.key) if options.key else None
        lake.expect(self._names.mark if self._names else "")
        self._called = self._names.known if self._names else plain
        others = [self._table(name) for name in ("quarantine", "expired", "archived")]
        self._known = Known([self._job, *others], self._called, retried=self._retried())
        self._moved: dict[str, int] = {}
        """Path -> log in the lake: of logs that were elsewhere."""
        self._given = pool
        self._pool = pool or Workers(seconds)
        self._at_once = self._jobs + 1 if pool else self._jobs
        self._seconds = seconds
        self._failed: dict[str, int] = {}
        self._running: dict[Future[Written], _Running] = {}
        self._older: dict[Found, int | None] = {}
        """Of logs in archives, what each replaces of the lake as it was before."""

    def _retried(self) -> str:
        """SQL over rows of ``quarantine``: is the reason one that the options have removed?"""
        small = f"starts_with(reason, {quoted(TOO_LARGE)}) AND log_size <= {self._options.largest}"
        trusted = f"starts_with(reason, {quoted(BELONGS)})" if self._options.trust_names else "FALSE"
        return f"({small}) OR {trusted}"

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = self.lake.table(name)
        return self._tables[name]

    def run(
        self, areas: Iterable[str | os.PathLike[str]], archives: Iterable[str | os.PathLike[str]] = ()
    ) -> Summary:
        """Brings all new logs of the areas into the lake, and before them those of archives that it does not know."""
        try:
            self._unpack(archives)
            left_out = [str(folder) for folder in (self.lake.path, self.lake.archives)]
            self._read(self._new(find_logs(areas, self._unreadable, self._skipped, left_out)))
        except IolensError:
            for future in self._running:
                self._abandon(future)
            raise
        finally:
            self._known.close()
            if not self._given:
                self._pool.shutdown(wait=not self._running, cancel_futures=True)
        return self.summary

    def _unpack(self, folders: Iterable[str | os.PathLike[str]]) -> None:
        """First the jobs of the lake get their places: a log of the same name does not replace what is archived."""
        try:
            archives = archives_in(self.lake, folders, unfinished=True)
            for group in groups(self.lake, archives, self.summary.unreadable):
                self.summary.placed += adopt(self.lake, group)
            for group in groups(self.lake, archives):
                self._known.refresh()
                new = self._new(packed_logs(group))
                self._older = dict(new)
                self._read(new)
                adopt(self.lake, group)
        except (duckdb.IOException, OSError, DeltaError) as error:
            raise self._cannot_write(error) from error
        self._known.refresh()

    def _read(self, logs: Iterable[New]) -> None:
        batches, running = list(self._batches(logs)), self._running
        while batches or running:
            self._fill(batches, running)
            waiting = sum(map(len, batches)) + sum(len(one.logs) for one in running.values())
            self._progress(self.summary, waiting)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                one = running.pop(future)
                self._fill(batches, running)  # it decodes while this process commits
                batches[:0] = self._finish(future, one)

    def _fill(self, batches: list[list[New]], running: dict[Future[Written], _Running]) -> None:
        while batches and len(running) < self._at_once:
            logs = batches.pop(0)
            batch = secrets.randbits(53 - BATCH_BITS)
            future = self._pool.submit(write_batch, self._options, batch, logs)
            running[future] = _Running(logs, batch, time.monotonic())

    def _abandon(self, future: Future[Written]) -> None:
        """Of a batch that is under way when another has failed nothing is left."""
        if not future.cancel():
            with contextlib.suppress(Exception):
                self._discard(future.result())

    def _discard(self, written: Written) -> None:
        for name, files in written.files.items():
            self._table(name).discard(files)

    def _new(self, logs: Iterable[list[Found]]) -> list[New]:
        """logs: those of each folder."""
        new: list[New] = []
        chunk: list[Found] = []
        for folder in chain(logs, [[]]):
            chunk += folder
            if len(chunk) >= _CHUNK or not folder:
                self.summary.found += len(chunk)
                unknown = self._known.unknown(chunk)
                self.summary.known += len(chunk) - len(unknown)
                new += unknown
                chunk.clear()
                if self._limit is not None and len(new) >= self._limit:
                    break
        new = _in_turn(new, self._batch_logs)
        if self._limit is not None and len(new) > self._limit:
            self.summary.deferred += len(new) - self._limit
            del new[self._limit :]
        return new

    def _unreadable(self, path: str, error: OSError) -> None:
        self.summary.unreadable.append(f"{path}: {error.strerror or error}")

    def _skipped(self, path: str, reason: str) -> None:
        for known in self.summary.skipped:
            if known.reason == reason:
                known.files += 1
                return
        self.summary.skipped.append(Skipped(reason, 1, path))

    def _batches(self, logs: Iterable[New]) -> Iterator[list[New]]:
        batch: list[New] = []
        size = 0
        for _, group in groupby(logs, _folder):
            folder = list(group)
            more = sum(new[0].size for new in folder)
            # A folder has the logs of a day, where there are many: a file of each table, then, and not one of each day.
            fits = len(batch) + len(folder) <= self._batch_logs and size + more <= BATCH_BYTES
            if len(batch) >= self._batch_logs // 2 and batch and not fits:
                yield batch
                batch, size = [], 0
            for new in folder:
                full = len(batch) == self._batch_logs or size + new[0].size > BATCH_BYTES
                # A large log is alone: its tables are in a file.
                full = full or new[0].size > LARGE_BYTES or (len(batch) == 1 and size > LARGE_BYTES)
                if batch and full:
                    yield batch
                    batch, size = [], 0
                batch.append(new)
                size += new[0].size
        if batch:
            yield batch

    # ---- one batch ----

    def _finish(self, future: Future[Written], one: _Running) -> list[list[New]]:
        """Commits what came of a batch. What is to be tried again, in batches."""
        try:
            written = future.result()
        except BrokenProcessPool:
            late = not self._given and time.monotonic() - one.since >= self._seconds
            return self._again(one.logs, f"takes more than {self._seconds:g} s" if late else _DIED)
        except (duckdb.IOException, OSError) as error:
            if self._was_dropped(one.batch):
                return [one.logs]
            raise self._cannot_write(error) from error
        except IolensError as error:
            if error.exit_code == USAGE:
                raise
            return self._again(one.logs, error.problem)
        except _RAISED as error:
            text = str(error).partition("\n")[0] or "not enough memory"
            return self._again(one.logs, f"cannot be read: {text}")
        try:
            again = self._commit(written)
            self._remember(written.copies)
            denied = self._denied(written)
            if refused := written.refused + denied:
                self._quarantine(refused)
        except (duckdb.IOException, OSError, DeltaError) as error:
            self._discard(written)
            if self._was_dropped(one.batch):
                return [one.logs]
            raise self._cannot_write(error) from error
        self._count(written, again is None)
        return [again] if again else []

    def _was_dropped(self, batch: int) -> bool:
        """Did compaction take it for one of an ingest that had ended? Then it has removed the files."""
        self._job.refresh()
        return self._job.marked(dropped(batch))

    def _denied(self, written: Written) -> list[Refused]:
        """Logs that may not be read, and that no scan has named yet. The others are taken out of the batch's."""
        denied = [one for one in written.unreadable if one.reason in _DENIED]
        before = self._known.unread([one.found for one in denied])
        self.summary.unreadable_before += len(before)
        written.unreadable = [one for one in written.unreadable if one.found.path not in before]
        return [one for one in denied if one.found.path not in before]

    def _cannot_write(self, error: Exception) -> IolensError:
        return IolensError(
            f"cannot write the lake; what is in it is whole: {reason(error)}", str(self.lake.path)
        )

    def _commit(self, written: Written) -> list[New] | None:
        """None if the batch is in the lake, else what of it is not, after others have brought the rest."""
        again = self._without_copies(written)
        if again is not None:
            self._discard(written)
            return again
        others = {self._table(name): files for name, files in written.files.items() if name != "job"}
        mine = {file.path for files in others.values() for file in files}
        with ThreadPoolExecutor(_AT_ONCE) as threads:  # they wait for the disk
            for done in [threads.submit(table.commit, add=files) for table, files in others.items()]:
                done.result()
        while True:
            self._known.refresh()
            now = self._unknown([found for found, _ in written.logs])
            again = None if now == written.logs else now
            if again is None:
                again = self._without_copies(written)
            if self._job.marked(dropped(written.batch)):
                for table in others:
                    table.drop(lambda file: file.path in mine)
                again = written.logs if again is None else again
            if again is not None:
                return again
            try:
                if written.files.get("job"):
                    self._job.commit(add=written.files["job"], exact=True)
            except Conflict:
                continue
            self._known.refresh()
            break
        return None

    # ---- logs that the lake has under another path ----

    def _unknown(self, listed: list[Found]) -> list[New]:
        unknown = self._known.unknown(listed)
        # Another log of this name, out of an archive too, is a job of its own.
        unknown = [(f, self._older.get(f) if f.packed else older) for f, older in unknown]
        return [(f, self._moved.get(f.path) if older is None else older) for f, older in unknown]

    def _without_copies(self, written: Written) -> list[New] | None:
        """None if no log of the batch is in the lake already; else the others, and those that were moved."""
        same = self._known.same(written.digests)
        twice = [
            (found, older, same[digest])
            for (found, older), digest in zip(written.logs, written.digests)
            if digest in same and (older is None or older != same[digest])
        ]
        if not twice:
            return None
        copies = [f for f, older, log in twice if older is not None or not self._was_moved(f, log)]
        self._remember(copies)
        gone = {found.path for found in copies}
        return self._unknown([found for found, _ in written.logs if found.path not in gone])

    def _was_moved(self, found: Found, log: int | None) -> bool:
        """Is the path gone that the lake has of this log? Then the log replaces itself."""
        place = self._known.place_of(log) if log is not None and self._names is None else None
        if place is None or re.search(MADE, place) or os.path.lexists(place):
            return False
        assert log is not None
        self._moved[found.path] = log
        return True

    def _remember(self, copies: list[Found]) -> None:
        """They are not read again."""
        if copies:
            rows = [(self._called(f.path), f.size, f.mtime, None, None) for f in copies]
            self.lake.append("expired", rows)
            self.summary.known += len(copies)

    def _count(self, written: Written, committed: bool) -> None:
        self.summary.quarantined += len(written.refused)
        self.summary.deferred += len(written.changed)
        self.summary.unreadable += [f"{r.found.path}: {r.reason}" for r in written.unreadable]
        if not committed:
            return
        self.summary.ingested += len(written.logs)
        self.summary.replaced += sum(older is not None for _, older in written.logs)
        self.summary.findings += sum(f.rows for f in written.files.get("finding", ()))
        self.summary.bytes += sum(found.size for found, _ in written.logs)

    def _quarantine(self, refused: Iterable[Refused]) -> None:
        now = datetime.now(timezone.utc)
        rows = [
            (
                self._called(r.found.path),
                r.found.size,
                r.found.mtime,
                r.reason,
                now,
                self._options.cluster or None,
            )
            for r in refused
        ]
        self.lake.append("quarantine", rows)

    def _again(self, logs: list[New], reason: str) -> list[list[New]]:
        """Smaller batches of one that failed. A log that fails alone, twice, goes into quarantine."""
        if len(logs) > 1:
            step = -(-len(logs) // _PARTS)
            return [logs[first : first + step] for first in range(0, len(logs), step)]
        found = logs[0][0]
        self._failed[found.path] = self._failed.get(found.path, 0) + 1
        if self._failed[found.path] < _TRIES:
            return [logs]
        self._quarantine([Refused(found, reason)])
        self.summary.quarantined += 1
        return []
