"""One batch of logs: decoded, judged and written as files of the lake's tables, in a process of its own.

Nothing it writes counts before the batch is committed: a process that dies here leaves files that no commit names.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from arro3.core import Table as ArrowTable

from iolens import __version__
from iolens.error import IolensError
from iolens.fleet.archive.container import read_member
from iolens.fleet.ingest.identity import (
    Contradiction,
    application_of,
    job_of,
    named_user,
    owning_user,
)
from iolens.fleet.ingest.log_directories import Found, Packed
from iolens.fleet.ingest.rows import Implausible, Rows
from iolens.fleet.log_area import open_below, refusal
from iolens.fleet.tables.delta import DAY, File, Table
from iolens.fleet.tables.durable import Syncing
from iolens.fleet.tables.pseudonyms import Pseudonyms
from iolens.fleet.tables.schema import BATCH_BITS, Column, tables
from iolens.fleet.tables.write import arrow, connection, folders_of, write_files
from iolens.log import Log
from iolens.metrics import SECTIONS, Dataset, metrics
from iolens.metrics.engine import register
from iolens.metrics.log_tables import LogTables
from iolens.rules import Catalog, Rule, find, load
from iolens.rules.text import write

__all__ = [
    "LARGEST",
    "TOO_LARGE",
    "Options",
    "Refused",
    "Written",
    "findings_of",
    "metrics_of",
    "remove_files",
    "rule_version",
    "write_batch",
]


_AT_ONCE = 4 << 20
"""Logs with fewer bytes are held in memory while their batch is written."""

LARGEST = 1 << 30
"""Bytes of a log, at most, unless the site says otherwise."""

TOO_LARGE = "is larger than "
"""How the reason for a larger one begins."""

_SETTLED = 60
"""Seconds since a file got another name: what writes a log gives it one for a moment."""


@dataclass(frozen=True)
class Options:
    """What is the same for all batches of an ingest."""

    lake: str
    cluster: str = ""
    rules: bool = True
    directories: tuple[str, ...] = ()
    """Rules of the site."""
    thresholds: tuple[tuple[str, float], ...] = ()
    """Of rules, RULE.NAME and value, instead of their own."""
    memory: str = "2GB"
    """Of DuckDB for a batch in memory."""
    key: bytes = b""
    """Of pseudonyms; empty for names as they are."""
    trust_names: bool = False
    """Does the name of a log say whose it is, whatever the owner of the file?"""
    largest: int = LARGEST
    """Bytes of a log that is read."""


@dataclass(frozen=True)
class Refused:
    """A log that cannot be read, and why."""

    found: Found
    reason: str


@dataclass
class Written:
    """What a batch left in the lake's folders."""

    batch: int
    logs: list[tuple[Found, int | None]] = field(default_factory=list)
    """Those that are in it, with the log that each replaces."""
    digests: list[str] = field(default_factory=list)
    """Of each."""
    copies: list[Found] = field(default_factory=list)
    """They have the bytes of another log."""
    files: dict[str, list[File]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    """What is in them is wrong: until they change, they are not read again."""
    unreadable: list[Refused] = field(default_factory=list)
    """The file system did not let them be read: the next scan tries again."""
    changed: list[Found] = field(default_factory=list)
    """They were written to while they were read: the next scan finds them again."""


class _Sound(NamedTuple):
    """A log that goes into the batch."""

    found: Found
    older: int | None
    digest: str
    log: Log
    user: str


def _digest(found: Found, log: BinaryIO, first: bytes) -> str | None:
    """Of the log's bytes; None if it is not the file that was found any more."""
    hash = hashlib.blake2b(first, digest_size=16)
    left = found.size - len(first)
    while left > 0 and (piece := log.read(min(left, 1 << 20))):
        hash.update(piece)
        left -= len(piece)
    status = os.fstat(log.fileno())
    same = (status.st_size, status.st_mtime_ns) == (found.size, found.mtime)
    return hash.hexdigest() if same else None


class _Unfit(Exception):
    """A file that is not read: why."""


class _Areas:
    """Descriptors of the folders that the site has named."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def __enter__(self) -> _Areas:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._open.values():
            os.close(fd)

    def open(self, found: Found) -> int:
        """Descriptor of a log."""
        area = found.area or os.path.dirname(found.path)  # noqa: PTH120
        if area not in self._open:
            self._open[area] = os.open(area, os.O_PATH | os.O_DIRECTORY)
        return open_below(self._open[area], found.path[len(area) :].lstrip("/"))


def _check(found: Found, status: os.stat_result, options: Options) -> None:
    """Raises _Unfit for what no log is, or another user's file; of a descriptor: names can change."""
    if kind := refusal(status.st_mode):
        raise _Unfit(f"is {kind}, not a file")
    if status.st_size > options.largest:
        raise _Unfit(f"{TOO_LARGE}{write(options.largest, 'bytes')}")
    if status.st_nlink > 1 and not found.trusted:
        if time.time() - status.st_ctime < _SETTLED:
            raise FileNotFoundError  # as one that is being written: the next scan finds it again
        raise _Unfit("has another name elsewhere: it may be another user's file")


def _open(found: Found, areas: _Areas, options: Options) -> tuple[Log, str | None, int]:
    """A log, the digest of its bytes if it is as it was found, and its owner.

    What is read is what was checked: one descriptor, and of a log that is not large its bytes, read once and for all.
    """
    if found.packed:
        return _unpacked(found.packed)
    if found.refusal:
        raise _Unfit(f"is {found.refusal}, not a file")
    with os.fdopen(areas.open(found), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        _check(found, status, options)
        first = file.read(min(found.size, _AT_ONCE)) or b""
        digest = _digest(found, file, first)
        whole = digest is not None and len(first) == found.size
        return Log(first if whole else f"/proc/self/fd/{file.fileno()}"), digest, status.st_uid


def _unpacked(packed: Packed) -> tuple[Log, str, int]:
    """The same out of an archive, with the digest that the log had when it was ingested first."""
    entry = packed.entry
    with open(packed.archive, "rb") as file:  # noqa: PTH123
        try:
            found = read_member(file, entry.place, entry.digest)
        except IolensError as error:  # the archive may be mended: that is not for quarantine
            raise OSError(errno.EIO, f"{error.problem} ({packed.archive})") from error
    return Log(found.content), entry.original, found.owner[0] if found.owner else 0


def _user(found: Found, owner: int, log: Log, options: Options) -> str:
    """Raises Contradiction. Root, and the user that ingests, keep logs of others in folders of their own.

    Of a log in an archive it was decided when it was ingested first; an index that does not say has no contradictions.
    """
    if found.packed and found.packed.entry.user:
        return found.packed.entry.user
    kept = found.trusted and owner in (0, os.geteuid())
    if kept or options.trust_names:
        return named_user(found.path, log.job.uid, log.job.exe)
    try:
        return owning_user(found.path, owner, log.job.uid)
    except Contradiction:
        if found.packed:
            return named_user(found.path, log.job.uid, log.job.exe)
        raise


def _check_start(log: Log) -> None:
    """Raises _Unfit for a job that is to come: no night would archive or remove it, and it stood above all others."""
    day = log.job.start.date()
    if day > (datetime.now(timezone.utc) + timedelta(days=1)).date():
        raise _Unfit(f"starts on {day}, which is still to come")


def _sound(listed: Sequence[tuple[Found, int | None]], written: Written, options: Options) -> list[_Sound]:
    """The logs that have a job, in order of their days; of the others it is noted what is wrong."""
    good: dict[str, _Sound] = {}
    with _Areas() as areas:
        for found, older in listed:
            try:
                log, digest, owner = _open(found, areas, options)
                user = _user(found, owner, log, options)
                _check_start(log)
            except IolensError as error:
                where = "" if error.offset is None else f" (at byte {error.offset})"
                written.refused.append(Refused(found, error.problem + where))
            except (_Unfit, Contradiction) as error:
                written.refused.append(Refused(found, str(error)))
            except FileNotFoundError:
                written.changed.append(found)
            except OSError as error:
                written.unreadable.append(Refused(found, error.strerror or str(error)))
            else:
                if digest is None:
                    written.changed.append(found)
                elif digest in good:
                    written.copies.append(found)
                else:
                    good[digest] = _Sound(found, older, digest, log, user)
    return sorted(good.values(), key=lambda one: one.log.job.start.date())


def write_batch(options: Options, batch: int, listed: Sequence[tuple[Found, int | None]]) -> Written:
    """Writes the files of all tables. batch: its number, of which no other batch has numbers of logs.

    listed: logs, each with the log in the lake that was read from an older state of this file.
    """
    written = Written(batch)
    with Syncing() as syncing:
        try:
            good = _write(options, _sound(listed, written, options), written, syncing)
            _sync(options, written, syncing)
        except BaseException:
            remove_files(options, written)
            raise
    written.logs = [(one.found, one.older) for one in good]
    written.digests = [one.digest for one in good]
    return written


def _write(options: Options, good: list[_Sound], written: Written, syncing: Syncing) -> list[_Sound]:
    """The logs that are in the files."""
    streamed = not options.key  # pseudonyms are put into tables
    while good:
        # Of a large log the tables are in a file, unless it has pseudonyms: nothing of that may touch a disk.
        large = None if len(good) == 1 and not options.key else False
        base = LogTables([one.found.path for one in good], [one.log for one in good], threads=1, large=large)
        try:
            with Dataset(
                base, memory="" if base.large else options.memory, every_column=not streamed
            ) as data:
                _Batch(data, base, options, written, good, syncing).write(streamed)
            break
        except Implausible:
            streamed = False
        except IolensError as error:  # one of them is too large, or has lost what it had a moment ago
            bad = next((one for one in good if one.found.path == error.path), None)
            if bad is None:
                raise
            written.refused.append(Refused(bad.found, error.problem))
            good.remove(bad)
        syncing.end()
        remove_files(options, written)
    return good


def _sync(options: Options, written: Written, syncing: Syncing) -> None:
    lake = Path(options.lake)
    paths = [f"{lake}/{name}/{file.path}" for name, files in written.files.items() for file in files]
    syncing.begin(folders_of(paths, lake))
    syncing.end()


def remove_files(options: Options, written: Written) -> None:
    """Nothing of the batch is left."""
    for name, files in written.files.items():
        for file in files:
            Path(options.lake, name, file.path).unlink(missing_ok=True)
    written.files.clear()


class _Batch:
    """A batch while it is written."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        data: Dataset,
        base: LogTables,
        options: Options,
        written: Written,
        good: Sequence[_Sound],
        syncing: Syncing,
    ) -> None:
        self._data = data
        self._syncing = syncing
        self._base = base
        self._options = options
        self._good = good
        self._files = written.files
        self._first = written.batch << BATCH_BITS
        self._token = f"{written.batch:x}"

    def write(self, streamed: bool) -> None:
        """Files of all tables. streamed: records go from the logs into files. Raises Implausible."""
        duck = self._data.connection
        duck.execute("SET threads = 1")
        catalog = None
        if self._options.rules:
            catalog = load(self._options.directories).with_thresholds(dict(self._options.thresholds))
            # A table that was loaded without a column that a rule names is loaded again.
            self._data.expect(rule.statement for rule in catalog.rules.values())
        if self._options.key:
            duck.execute("SET temp_directory = ''")
        filled = [name for name in tables() if name in self._base.tables and self._base.filled(name)]
        loaded = filled if not streamed else [name for name in filled if name in SECTIONS]
        for name in loaded:
            self._data.query(f"SELECT 1 FROM {name} LIMIT 0")
        asked = "SELECT coalesce(\"start\"::DATE, DATE '1970-01-01') FROM job ORDER BY log"
        days = [day for (day,) in self._data.query(asked).fetchall()]
        rows = Rows(self._data, self._base, self._first, days, self._syncing)
        for name in filled:
            if name not in loaded:
                self._files[name] = rows.stream(name, self._table(name), self._token)
        given = _told(self._data, self._options, self._good, [*self._data.problems, *rows.problems])
        if self._options.key:
            Pseudonyms(self._options.key).apply(duck, filled)
        for name in loaded:
            self._files[name] = rows.copy(name, self._table(name), self._token)
        register(duck, "told", given)
        self._data.query("SELECT 1 FROM job LIMIT 0")
        whole = "(SELECT * REPLACE (coalesce(its_job, job_id) AS job_id) FROM job JOIN told USING (log))"
        self._files["job"] = rows.copy(whole, self._table("job"), self._token)
        duck.unregister("told")
        if catalog:
            self._data.query("SELECT 1 FROM file_sum LIMIT 0")
            self._files["file_sum"] = rows.copy("file_sum", self._table("file_sum"), self._token)
            self._judge(days, catalog)
        for name in [name for name, files in self._files.items() if not files]:
            del self._files[name]

    def _judge(self, days: Sequence[date], catalog: Catalog) -> None:
        own = {"metric": metrics_of(self._data), "finding": findings_of(self._data, catalog)}
        for name, rows in own.items():
            table = self._table(name)
            with connection() as apart:  # rules of a site have sealed the data
                numbered = [(self._first + row[0], *row[1:], days[row[0]]) for row in rows]
                register(apart, "given", arrow(numbered, [*table.columns, _DAY]))
                query = "SELECT * FROM given"
                self._files[name] = write_files(apart, query, table, self._token, syncing=self._syncing)

    def _table(self, name: str) -> Table:
        return Table(Path(self._options.lake), name, tables()[name])


_DAY = Column(DAY, "date")


def _told(
    data: Dataset, options: Options, good: Sequence[_Sound], problems: Iterable[IolensError]
) -> ArrowTable:
    """What a log does not say of itself."""
    now = datetime.now(timezone.utc)
    named = Pseudonyms(options.key).name if options.key else str
    hosts = dict(data.query("SELECT log, any_value(host ORDER BY rank) FROM process GROUP BY log").fetchall())
    wrong: dict[str, str] = {}
    for problem in problems:
        wrong.setdefault(str(problem.path), problem.problem)
    rows = [
        (
            log,
            *(one.found.size, one.found.mtime, one.digest),
            *(named(one.user), named(application_of(exe))),
            *(named(host) if (host := hosts.get(log)) else None, _cluster(one.found, options), now),
            *(wrong.get(one.found.path), one.older, job_of(one.found.path, version or "")),
        )
        for (log, exe, version), one in zip(
            data.query("SELECT log, exe, format FROM job_of ORDER BY log").fetchall(), good
        )
    ]
    columns = {c.name: c for c in tables()["job"]}
    return arrow(rows, [*(columns[name] for name in _TOLD), Column("its_job", "long")])


def _cluster(found: Found, options: Options) -> str | None:
    """A log in an archive has the one with which it was ingested."""
    return (found.packed and found.packed.entry.cluster) or options.cluster or None


_TOLD = "log log_size log_mtime digest user application host cluster ingested problem replaces".split()


def metrics_of(data: Dataset) -> list[tuple[Any, ...]]:
    """Of those that are one number per log, as rows of the table ``metric``."""
    return [
        (row["log"], name, None if row["value"] is None else float(row["value"]), __version__)
        for name, metric in metrics().items()
        if metric.layout == "value"
        for row in data.metric(name)
    ]


def findings_of(data: Dataset, catalog: Catalog) -> list[tuple[Any, ...]]:
    """What rules find, as rows of the table ``finding``."""
    versions = {id: rule_version(rule) for id, rule in catalog.rules.items()}
    return [
        (
            *(f.log, f.rule, versions[f.rule], f.title, f.topic, f.severity, f.time_lost, f.share),
            *(f.gain or (None, None)),
            *(f.confidence, f.message),
        )
        for f in find(data, catalog=catalog, evidence=False)
    ]


def rule_version(rule: Rule) -> str:
    """Changes with everything that can change what the rule finds."""
    return hashlib.blake2b(repr(replace(rule, path="")).encode(), digest_size=6).hexdigest()
