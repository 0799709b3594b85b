"""One batch of logs: decoded, judged and written as files of the lake's tables, in a process of its own.

Nothing it writes counts before the batch is committed: a process that dies here leaves files that nobody knows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from arro3.core import Table as ArrowTable

from iolens import __version__
from iolens.error import IolensError
from iolens.fleet.areas import Found
from iolens.fleet.delta import DAY, File, Table
from iolens.fleet.identity import application_of, user_of
from iolens.fleet.pseudonyms import Pseudonyms
from iolens.fleet.schema import BATCH_BITS, Column, tables
from iolens.fleet.write import arrow, connection, write_files
from iolens.log import Log
from iolens.log import open as open_log
from iolens.metrics import Dataset, metrics
from iolens.metrics.log_tables import LogTables
from iolens.rules import Catalog, Rule, find, load

__all__ = ["Options", "Refused", "Written", "findings_of", "metrics_of", "rule_version", "write_batch"]


@dataclass(frozen=True)
class Options:
    """What is the same for all batches of an ingest."""

    lake: str
    cluster: str = ""
    rules: bool = True
    directories: tuple[str, ...] = ()
    """Rules of the site."""
    memory: str = "2GB"
    key: bytes = b""
    """Of pseudonyms; empty for names as they are."""


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
    files: dict[str, list[File]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    changed: list[Found] = field(default_factory=list)
    """They were written to while they were read: the next scan finds them again."""


class _Sound(NamedTuple):
    """A log that goes into the batch."""

    found: Found
    older: int | None
    digest: str
    log: Log


def _digest(found: Found) -> str | None:
    """Of the log's bytes; None if it is not the file that was found any more."""
    with open(found.path, "rb", buffering=0) as log:  # noqa: PTH123
        hash = hashlib.blake2b(digest_size=16)
        while piece := log.read(1 << 20):
            hash.update(piece)
        status = os.fstat(log.fileno())
    same = (status.st_size, status.st_mtime_ns) == (found.size, found.mtime)
    return hash.hexdigest() if same else None


def _sound(listed: Sequence[tuple[Found, int | None]], written: Written) -> list[_Sound]:
    """The logs that have a job; of the others it is noted what is wrong."""
    good = []
    for found, older in listed:
        try:
            log = open_log(found.path)
            _ = log.job
            digest = _digest(found)
        except IolensError as error:
            where = "" if error.offset is None else f" (at byte {error.offset})"
            written.refused.append(Refused(found, error.problem + where))
        except FileNotFoundError:
            written.changed.append(found)
        except OSError as error:
            written.refused.append(Refused(found, error.strerror or str(error)))
        else:
            if digest is None:
                written.changed.append(found)
            else:
                good.append(_Sound(found, older, digest, log))
    return good


def write_batch(options: Options, batch: int, listed: Sequence[tuple[Found, int | None]]) -> Written:
    """Writes the files of all tables. batch: its number, of which no other batch has numbers of logs.

    listed: logs, each with the log in the lake that was read from an older state of this file.
    """
    written = Written(batch)
    good = _sound(listed, written)
    while good:
        base = LogTables([one.found.path for one in good], [one.log for one in good], threads=1)
        base.large = False  # in memory, whatever it is: nothing of a log with pseudonyms may touch a disk
        try:
            with Dataset(base, memory=options.memory, every_column=True) as data:
                _write(data, base, options, written, good)
            break
        except IolensError as error:  # one of them is too large, or has lost what it had a moment ago
            bad = next((one for one in good if one.found.path == error.path), None)
            if bad is None:
                raise
            written.refused.append(Refused(bad.found, error.problem))
            good.remove(bad)
            written.files.clear()
    written.logs = [(one.found, one.older) for one in good]
    return written


def _write(
    data: Dataset,
    base: LogTables,
    options: Options,
    written: Written,
    good: Sequence[_Sound],
) -> None:
    first = written.batch << BATCH_BITS
    token = f"{written.batch:x}"
    data.connection.execute("SET threads = 1")
    if options.key:
        data.connection.execute("SET temp_directory = ''")
    filled = [name for name in tables() if name in base.tables and base.filled(name)]
    for name in filled:
        data.query(f"SELECT 1 FROM {name} LIMIT 0")
    duck = data.connection
    given = _told(data, options, good)
    if options.key:
        Pseudonyms(options.key).apply(duck, filled)
    duck.register("told", given)
    data.query(
        f"CREATE TEMP TABLE numbered AS SELECT log, {first} + log AS lake_log, "
        f"coalesce(\"start\"::DATE, DATE '1970-01-01') AS {DAY} FROM job"
    )
    for name in [*filled, "job"]:
        table = Table(Path(options.lake), name, tables()[name])
        source = "(SELECT * FROM job JOIN told USING (log))" if name == "job" else name
        chosen = ", ".join(_stored(c) if c.name != "log" else "lake_log AS log" for c in table.columns)
        query = f"SELECT {chosen}, {DAY} FROM {source} JOIN numbered USING (log)"
        written.files[name] = write_files(duck, query, table, token)
    duck.unregister("told")
    days = dict(duck.execute(f"SELECT log, {DAY} FROM numbered").fetchall())
    own = {}
    if options.rules:
        own = {"metric": metrics_of(data), "finding": findings_of(data, load(options.directories))}
    for name, rows in own.items():
        table = Table(Path(options.lake), name, tables()[name])
        with connection() as apart:  # rules of a site have sealed the data
            given = arrow([(first + row[0], *row[1:], days[row[0]]) for row in rows], [*table.columns, _DAY])
            apart.register("given", given)
            written.files[name] = write_files(apart, "SELECT * FROM given", table, token)
    written.files = {name: files for name, files in written.files.items() if files}


_DAY = Column(DAY, "date")


def _stored(column: Column) -> str:
    return f'{column.to_stored} AS "{column.name}"'


def _told(data: Dataset, options: Options, good: Sequence[_Sound]) -> ArrowTable:
    """What a log does not say of itself."""
    now = datetime.now(timezone.utc)
    named = Pseudonyms(options.key).name if options.key else str
    hosts = dict(data.query("SELECT log, any_value(host ORDER BY rank) FROM process GROUP BY log").fetchall())
    wrong: dict[str, str] = {}
    for problem in data.problems:
        wrong.setdefault(str(problem.path), problem.problem)
    rows = [
        (
            log,
            *(found.size, found.mtime, digest),
            *(named(user_of(found.path, uid, exe)), named(application_of(exe))),
            *(named(host) if (host := hosts.get(log)) else None, options.cluster or None, now),
            *(wrong.get(found.path), older),
        )
        for (log, uid, exe), (found, older, digest, _) in zip(
            data.query("SELECT log, uid, exe FROM job_of ORDER BY log").fetchall(), good
        )
    ]
    columns = {c.name: c for c in tables()["job"]}
    return arrow(rows, [columns[name] for name in _TOLD])


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
