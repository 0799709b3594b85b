"""The lake at its newest readable moment, and views of it for the scopes that ask.

What pages ask most is copied into a few Parquet files, sorted by user, whenever the lake has grown: the rows of one
user are then read in milliseconds. A lake that cannot be read leaves what was read before, and a word about it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb

from iolens.error import USAGE, IolensError
from iolens.fleet.coverage import GROUPS
from iolens.fleet.digest import DAYS, digest
from iolens.fleet.saved_queries import queries, statement
from iolens.fleet.tables.access import writable_by_others
from iolens.fleet.tables.data import LakeData
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.snapshot import Snapshot
from iolens.fleet.tables.write import quoted
from iolens.portal.data.active import Active
from iolens.portal.data.cache import Cache
from iolens.portal.data.scope import EVERYTHING, Scope
from iolens.portal.data.view import (
    COMPARING,
    MOST_MEMORY,
    BoundedTables,
    Gone,
    Session,
    View,
    hold_no_files,
)

__all__ = ["STOP_SECONDS", "PortalSnapshot", "Snapshots", "trusted_lake"]

VIEWS = 64
"""Scopes whose databases are kept."""

FEW_VIEWS = 4
MOST_RESIDENT = 1 << 30
"""Bytes of the server in memory, above which only the last few are."""

MEMORY = "256MB"
"""For a new snapshot: what does not fit goes to temporary files, so that memory does not grow with the jobs."""
_MEMORY_OF_STAFF = "512MB"
_MEMORY_OF_USER = "256MB"
"""Of the database of a user, or of one job."""

JOBS = 16
"""Databases of one job each that are kept."""

FRONT = "front"
"""In place of a named query: those of the first page."""

WARM_FIRST = (FRONT, "job_list", "job_count")
"""Named queries over everything that are asked before the first snapshot is shown: the pages that people come to."""

COVERAGE = "coverage"
"""In place of a named query: the coverage by each of its groups."""

WARM = (
    *(*WARM_FIRST, "top_users", "top_applications", "findings", "drift", "screen", "projects"),
    *("screen_redundant_reads", "screen_metadata", "screen_small_writes", COVERAGE),
    *("top_files", "top_directories", "storage_targets", "file_systems"),
)
"""The same before a newer snapshot is shown, because some read every record; the slowest last."""

WARM_SECONDS = 600.0

REFRESH = 30.0
"""Seconds between two looks whether the lake has grown."""

REST = 3.0
"""So many times as long as the last snapshot took nothing is looked for."""

_BEHIND = 10
"""How much nicer than threads of requests the one is that prepares a snapshot."""

STOP_SECONDS = 5.0
"""In which what was ended must have come to its end."""

_SLACK = 600
"""Seconds that clocks of nodes and scheduler may differ, as for the coverage."""

# A log whose user is not the one that the scheduler charged has no account: no project lead sees it.
_ACCOUNTS = f"""
    SELECT log, arg_max(a.account, a."start") AS account FROM job AS j JOIN accounting AS a USING (job_id)
    WHERE a."user" = j."user" AND coalesce(j.cluster = a.cluster, TRUE)
        AND j."start" BETWEEN a."start" - to_seconds({_SLACK}) AND coalesce(a."end", j."start") + to_seconds({_SLACK})
    GROUP BY log
"""

# Without a scheduler, a log has the first process's number in place of the job's.
_UNSCHEDULED = "SELECT DISTINCT j.log FROM job AS j JOIN process AS p ON p.log = j.log AND p.pid = j.job_id"


def _metrics_asked() -> list[str]:
    """Names of metrics in the texts of named queries, and the one that tells that a log's files were summed up."""
    found = {"used_files"}
    for query in queries().values():
        for listed in re.findall(r"\bname (?:=|IN) \(?((?:'\w+'(?:, )?)+)", query.sql):
            found.update(re.findall(r"'(\w+)'", listed))
    return sorted(found)


def _write(data: LakeData, folder: Path) -> None:
    """The narrow files of a lake that is open."""
    duck = data.connection
    measured, _ = statement("measured")
    data.prepare(measured)
    data.prepare("FROM accounting JOIN process")
    duck.execute(
        f"CREATE TABLE measured_made AS SELECT m.*, a.account, p.log IS NULL AS scheduled FROM ({measured}) AS m "
        f"LEFT JOIN ({_ACCOUNTS}) AS a USING (log) LEFT JOIN ({_UNSCHEDULED}) AS p ON p.log = m.log"
    )
    names = ", ".join(map(quoted, _metrics_asked()))
    for name, query in (
        ("measured", 'SELECT * FROM measured_made ORDER BY "user", "start"'),
        ("metric", f'{_owned("metric")} WHERE name IN ({names}) ORDER BY "user", name, log'),
        ("finding", f'{_owned("finding")} ORDER BY "user", log'),
    ):
        part = folder / f"{name}.parquet"
        duck.execute(f"COPY ({query}) TO {quoted(str(part))} (FORMAT parquet, ROW_GROUP_SIZE 8192)")


def _write_within(data: LakeData, folder: Path) -> None:
    """The same; of a lake that does not fit with more memory."""
    try:
        _write(data, folder)
    except duckdb.OutOfMemoryException:
        data.connection.execute(f"SET memory_limit = '{MOST_MEMORY}'")
        data.connection.execute("DROP TABLE IF EXISTS measured_made")
        _write(data, folder)


def _owned(table: str) -> str:
    return f'SELECT t.*, m."user", m.account FROM {table} AS t JOIN measured_made AS m USING (log)'


_FOLDER = "iolens-portal-"


def _own_folder() -> tuple[Path, int]:
    """A new folder, and the descriptor that holds its lock for as long as this process lives."""
    made = Path(tempfile.mkdtemp(prefix="iolens-new-"))
    held = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    return made.rename(made.with_name(made.name.replace("iolens-new-", _FOLDER))), held


def _remove_abandoned() -> None:
    """Folders of this user's servers that were killed: no process holds their lock."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(held).st_uid == os.geteuid():
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


@dataclass
class OneLog:
    """The database of one log, and the lock of the request that asks it: its connection is one."""

    view: View
    asking: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class PortalSnapshot:
    """The lake at one moment, and the views that are open."""

    lake: Lake
    of_lake: Snapshot
    folder: Path
    signature: object
    made: datetime
    active: Active
    logs: int = 0
    prepared: bool = False
    """Has all been asked that staff will ask?"""
    _views: Cache[Scope, View] = field(default_factory=Cache)
    _jobs: Cache[tuple[Scope, int], OneLog] = field(default_factory=Cache)
    _all: Cache[Scope, View] = field(default_factory=Cache)

    def view(self, scope: Scope) -> View:
        """The database of a scope; the ones used last are kept, that of staff always."""

        def make() -> View:
            tables = BoundedTables(self.lake, self.of_lake, scope, self.folder)
            return View(tables, self.active, _MEMORY_OF_STAFF if scope.everything else _MEMORY_OF_USER)

        # Each is closed when the last request lets go of it; what all hold is bounded by the server's memory.
        kept = self._all if scope.everything else self._views
        return kept.get(scope, make, VIEWS if resident() < MOST_RESIDENT else FEW_VIEWS)

    def fresh(self, scope: Scope, memory: str) -> View:
        """A database of one's own over all that the scope has, for a viewer's SQL."""
        tables = BoundedTables(self.lake, self.of_lake, scope, self.folder, whole=True)
        return View(tables, self.active, memory=memory)

    @contextlib.contextmanager
    def of_log(self, scope: Scope, log: int) -> Iterator[View]:
        """A database of one log, empty if it is not in the scope; one request has it at a time.

        Cache for a while, because a page of a job is followed by its details and tables.
        """

        def make() -> OneLog:
            tables = BoundedTables(self.lake, self.of_lake, scope, self.folder, log=log)
            return OneLog(View(tables, self.active, _MEMORY_OF_USER))

        found = self._jobs.get((scope, log), make, JOBS)
        with found.asking:
            yield found.view

    def warm(self, names: Sequence[str] = WARM) -> None:
        """Runs the queries of staff's pages ahead; what fails here fails again on its page, which shows it."""
        for name in names:
            with (
                contextlib.suppress(IolensError, duckdb.Error),
                self.view(EVERYTHING).session(WARM_SECONDS) as data,
            ):
                _warm(data, name)
        self.prepared = self.prepared or names == WARM

    def follow(self, before: PortalSnapshot) -> None:
        """Asks what people asked of the snapshot before, so that all of them need not wait for the newer one at once.

        What fails here fails again on its page.
        """
        by = time.monotonic() + WARM_SECONDS
        for scope, view in before._views.newest():
            with (
                contextlib.suppress(IolensError, duckdb.Error),
                self.view(scope).session(WARM_SECONDS) as data,
            ):
                for name, values in view.asked():
                    if time.monotonic() > by or resident() > MOST_RESIDENT:
                        return
                    data.ask(name, **values)

    def forget(self) -> None:
        """Databases that no request has in hand are closed."""
        for kept in (self._views, self._all, self._jobs):
            kept.clear()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _warm(data: Session, name: str) -> None:
    """As pages ask it: for the last days with jobs, then for all."""
    week = data.week()
    if name == COVERAGE:
        for by in GROUPS:
            data.coverage(by, None, None, "")
    elif name == FRONT:
        if week:
            digest(data.ask, date.fromisoformat(week) + timedelta(days=DAYS - 1))
    else:
        order = {"by": "time_lost"} if name == "job_list" else {}
        if name not in COMPARING and "since" in statement(name)[1]:
            data.ask(name, since=week, **order)
        data.ask(name, **order)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Snapshots:
    """Keeps the current snapshot; a thread of its own looks for a newer one."""

    def __init__(self, lake: Path, refresh: float = REFRESH, memory: str = MEMORY) -> None:
        self.path = lake
        self.problem = ""
        """Why the lake cannot be read now, "" if it can."""
        self._memory = memory
        self._refresh = refresh
        _remove_abandoned()
        self._held: int | None
        self.root, self._held = _own_folder()
        self.active = Active()
        self._current: PortalSnapshot | None = None
        self._watching = threading.Thread(target=self._watch, name="lake", daemon=True)
        self._building = threading.Lock()
        self._wake = threading.Event()
        self.ended = False
        """Is the portal being stopped?"""
        self._old: list[PortalSnapshot] = []

    def start(self) -> None:
        self.renew()
        self._watching.start()

    def stop(self) -> bool:
        """Whatever looks for a newer snapshot is ended first. Has it come to its end?"""
        self.ended = True
        self._wake.set()
        by = time.monotonic() + STOP_SECONDS
        while self._watching.is_alive() and time.monotonic() < by:
            self.active.end()
            self._watching.join(0.05)
        shutil.rmtree(self.root, ignore_errors=True)
        held, self._held = self._held, None
        if held is not None:
            os.close(held)
        return not self._watching.is_alive()

    @property
    def prepared(self) -> bool:
        """Has all been asked before that staff will ask?"""
        return self._current is not None and self._current.prepared

    @property
    def ready(self) -> bool:
        """Is there anything to show?"""
        return self._current is not None

    def current(self) -> PortalSnapshot:
        """Raises Gone if nothing of the lake could be read yet."""
        if self._current is None:
            raise Gone(self.problem or "the lake is being read: try again in a moment")
        return self._current

    def look_again(self) -> None:
        """A file was not there: there may be a newer snapshot."""
        self._wake.set()

    def _watch(self) -> None:
        # What is prepared gives way to who asks: on Linux a thread has a priority of its own, which DuckDB's inherit.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BEHIND)
        if self._current is not None:
            self._current.warm()
        took = 0.0
        while not self.ended:
            # A lake that grows all the time is not read all the time.
            self._wake.wait(max(self._refresh, REST * took))
            if self._wake.is_set():
                self._wake.clear()
                time.sleep(0.2)
            if not self.ended:
                began = time.monotonic()
                self.renew()
                took = time.monotonic() - began

    def renew(self) -> None:
        """A new snapshot, if the lake has another version than the one that is shown."""
        with self._building:
            try:
                signature = _signature(self.path)
                if self._current is not None and signature == self._current.signature:
                    self.problem = ""
                    return
                snapshot = self._build(signature)
            except (IolensError, duckdb.Error, OSError) as error:
                self.problem = _told(error)
                return
            if self._current is None:
                snapshot.warm(WARM_FIRST)
            else:
                snapshot.warm()
                snapshot.follow(self._current)
            before, self._current, self.problem = self._current, snapshot, ""
            if before is not None:
                before.forget()
                self._old.append(before)
            while len(self._old) > 1:  # requests that began with it have ended
                self._old.pop(0).remove()

    def _build(self, signature: object) -> PortalSnapshot:
        lake = trusted_lake(self.path)
        folder = Path(tempfile.mkdtemp(dir=self.root))
        try:
            of_lake = lake.snapshot()
            data = LakeData(lake, of_lake, memory=self._memory)
            hold_no_files(data.connection)
            data.connection.execute("SET threads = 1")  # each holds pieces of what is sorted
            self.active.add(data)
            try:
                _write_within(data, folder)
                counted = data.connection.execute("SELECT count(*) FROM measured_made").fetchone()
            finally:
                data.close()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        logs = counted[0] if counted else 0
        now = datetime.now(timezone.utc)
        return PortalSnapshot(lake, of_lake, folder, signature, now, self.active, logs)


def trusted_lake(path: Path) -> Lake:
    """Raises IolensError if users other than its owner can write the lake: they could show anything to anyone."""
    lake = Lake(path)
    if (open_part := writable_by_others(path)) is not None:
        name = "" if open_part == path else f"{open_part.relative_to(path)}: "
        raise IolensError(
            f"{name}other users can write the lake: chmod -R go-w {path}", str(path), exit_code=USAGE
        )
    return lake


def _told(error: BaseException) -> str:
    if isinstance(error, IolensError):
        return error.problem
    return re.sub(r"/\S*/", "", str(error).splitlines()[0])[:300] if str(error) else type(error).__name__


def _newest(folder: Path) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from (e.name for e in entries if e.name.endswith(".json"))


def _signature(lake: Path) -> object:
    """Changes with every commit: the newest entry in the log of each table."""
    Lake(lake)
    with os.scandir(lake) as entries:
        tables = sorted(entry.name for entry in entries if entry.is_dir())
    return tuple((name, max(_newest(lake / name / "_delta_log"), default="")) for name in tables)
