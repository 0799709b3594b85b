"""One log: its job, names, modules, and a table for each of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from html import escape
from types import TracebackType
from typing import Union

from iolens.error import USAGE, IolensError
from iolens.log import _native
from iolens.log.modules import KNOWN
from iolens.log.table import BATCH_ROWS, Table, TableSpec
from iolens.log.unknown import unknown
from iolens.shown import clean

__all__ = ["Job", "Log", "Module", "Mount", "Names", "TrailerSections", "module_spec", "open"]

Path = Union[str, "os.PathLike[str]"]

_COMPRESSIONS = ("zlib", "bzip2", "none")
_OTHER_TABLES = ("job", "mounts", "metadata", "modules", "names")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# Every module of the schema under its key and under Darshan's name: (id, columns can be had, kind of table).
_MODULES = {
    word.lower(): (m.id, m.version > 0, m.kind) for m in KNOWN for word in (m.darshan, m.key or m.darshan)
}


@dataclass(frozen=True)
class Job:
    """What ran. Times are in UTC; an end of None means that it is not known (still running, or killed)."""

    uid: int
    start: datetime
    """To the microsecond; start_ns has all there is."""
    end: datetime | None
    start_ns: int
    """Nanoseconds since 1970; before format 3.41 whole seconds."""
    end_ns: int | None
    nprocs: int
    id: int
    exe: str
    """Command line."""
    metadata: dict[str, str]
    """Notes of the runtime: ``lib_ver``, hints."""
    run_time: float
    """Seconds from start to end, as Darshan's tools count them; 0 if unknown."""


@dataclass(frozen=True)
class Mount:
    """A mounted file system of the node."""

    point: str
    file_system: str


@dataclass(frozen=True)
class Module:
    """An instrumented interface that the log has something of."""

    key: str
    """Name of its table; Darshan's name in small letters if iolens does not decode it."""
    darshan: str
    id: int
    """In a 3.41 log."""
    version: int
    """Of its records."""
    partial: bool
    """Records are missing: the memory for them was used up."""
    stored: int
    """Bytes in the log."""
    decoded: bool
    """There is a table of it."""


class Names(Mapping[int, str]):
    """Record ids and their names, read on first use; also a table with the columns ``id`` and ``name``.

    Bytes that are not UTF-8 become surrogates, as in file names (``os.fsencode`` gives them back).
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    @cached_property
    def _state(self) -> tuple[int, Exception | None]:
        return self._log.native.names()

    @property
    def error(self) -> Exception | None:
        """What is wrong with the table of names, None if it is sound. Names before the damage are there."""
        return self._state[1]

    def __len__(self) -> int:
        return self._state[0]

    def __getitem__(self, id: int) -> str:
        name = self.get(id)
        if name is None:
            raise KeyError(id)
        return name

    def get(self, id: int, default: str | None = None) -> str | None:  # type: ignore[override]
        _ = self._state
        name = self._log.native.name(id) if 0 <= id < 1 << 64 else None
        return default if name is None else name

    def __contains__(self, id: object) -> bool:
        return isinstance(id, int) and self.get(id) is not None

    def __iter__(self) -> Iterator[int]:
        """Ids in ascending order."""
        return (self._log.native.name_at(i)[0] for i in range(len(self)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._log.table("names").__arrow_c_stream__(requested_schema)


class TrailerSections(Mapping[str, Table]):
    """What iolens knows beyond Darshan's format: tables by name, none in logs of other writers."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: rows for name, rows, _ in self._log.native.sections()}

    def __getitem__(self, section: str) -> Table:
        if section not in self._rows:
            raise unknown("section", section, self._rows)
        return Table(self._log.open_stream, TableSpec("section", section=section))

    def __contains__(self, section: object) -> bool:
        return section in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _moment(ns: int, path: str | None) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=ns // 1000)
    except OverflowError as error:
        raise IolensError("the time of the job is not a date", path) from error


def module_spec(
    name: str,
    names: bool,
    mounts: bool,
    columns: Iterable[str] | None,
    batch_rows: int,
) -> TableSpec:
    """The table of a module by its key or Darshan's name, or one of job, mounts, metadata, modules, names."""
    chosen = None if columns is None else tuple(columns)
    if name in _OTHER_TABLES:
        return TableSpec(name, columns=chosen, batch_rows=batch_rows)
    if name.lower() not in _MODULES:
        raise unknown("table", name, (*(key for key in _MODULES if key != "null"), *_OTHER_TABLES))
    number, decoded, kind = _MODULES[name.lower()]
    if not decoded:
        raise IolensError(f"records of {name} are not decoded by this version", exit_code=USAGE)
    plain = kind == "records"
    return TableSpec(kind, number, None, names and plain, mounts and plain, chosen, batch_rows)


class Log:
    """An open log. Everything is read when it is asked for, and nothing twice.

    ``log["posix"]`` is the table of a module: one row per record, in the order of the log, with the columns

    * ``id`` (uint64), ``rank`` (int64, -1 = of all ranks together),
    * one per counter (int64, uint64 or double), with its unit, role and meaning in the field's metadata; null
      where the log's version has no such counter, or where it could not be measured,
    * size classes and most frequent values as lists of fixed size.

    ``log["heatmap"]`` has one row per interface, rank and bin, ``log["dxt_posix"]`` one per access. A module that
    the log has no data of gives no rows. What is read of a table outlives the log. Raises IolensError if the file is
    no readable log.
    """

    def __init__(self, source: Path | bytes) -> None:
        if isinstance(source, bytes):
            self.path: str | None = None
            self._native: _native.Log | None = _native.Log(b"", source)
        else:
            self.path = os.fspath(source)
            self._native = _native.Log(os.fsencode(self.path))

    @property
    def native(self) -> _native.Log:
        """The extension's object."""
        if self._native is None:
            raise ValueError("log is closed")
        return self._native

    def close(self) -> None:
        self._native = None

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """What notebooks show: the job and the modules. No records are read."""
        job = self.job
        facts = [
            ("program", job.exe),
            ("processes", f"{job.nprocs:,}"),
            ("start", f"{job.start:%Y-%m-%d %H:%M:%S} UTC"),
            ("run time", f"{job.run_time:,.6g} s" if job.run_time else "unknown"),
            ("format", self.version),
            *(
                (module.key, f"{module.stored:,} bytes stored" + (", incomplete" if module.partial else ""))
                for module in self.modules.values()
            ),
        ]
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(clean(value))}</td></tr>" for name, value in facts
        )
        return f"<p>{escape(clean(repr(self)))}</p><table>{rows}</table>"

    def __repr__(self) -> str:
        return f"<Log {self.path or 'in memory'}{' (closed)' if self._native is None else ''}>"

    @property
    def version(self) -> str:
        """Version of the log format: "3.41"."""
        return self.native.container()[0]

    @property
    def compression(self) -> str:
        """Of the regions: "zlib", "bzip2" or "none"."""
        return _COMPRESSIONS[self.native.container()[1]]

    @property
    def big_endian(self) -> bool:
        return self.native.container()[2]

    @cached_property
    def job(self) -> Job:
        uid, start, start_ns, end, end_ns, nprocs, number, exe, metadata, _, run_time = self.native.job()
        begin_ns = start * 10**9 + start_ns
        stop_ns = end * 10**9 + end_ns if end else None
        return Job(
            uid=uid,
            start=_moment(begin_ns, self.path),
            end=None if stop_ns is None else _moment(stop_ns, self.path),
            start_ns=begin_ns,
            end_ns=stop_ns,
            nprocs=nprocs,
            id=number,
            exe=exe,
            metadata=dict(metadata),
            run_time=run_time,
        )

    @cached_property
    def mounts(self) -> tuple[Mount, ...]:
        """Longest mount point first, so that the first prefix of a path is the one it belongs to."""
        return tuple(Mount(*m) for m in self.native.job()[9])

    @cached_property
    def modules(self) -> dict[str, Module]:
        """The modules with data, or that lack some, by key."""
        found = {}
        for number, name, key, version, partial, _, stored in self.native.modules():
            word = key or name.lower()
            found[word] = Module(word, name, number, version, partial, stored, key is not None)
        return found

    @cached_property
    def names(self) -> Names:
        return Names(self)

    @cached_property
    def trailer(self) -> TrailerSections:
        """Tables of the extension trailer: ``log.trailer["process"]``."""
        return TrailerSections(self)

    def open_stream(self, spec: TableSpec) -> _native.Stream:
        return self.native.stream(*spec.native())

    def table(
        self,
        name: str,
        *,
        names: bool = False,
        mounts: bool = False,
        columns: Iterable[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> Table:
        """A module's table, or one of ``job``, ``mounts``, ``metadata``, ``modules``, ``names``.

        names adds a column ``name``, mounts the columns ``mount`` and ``file_system`` (dictionary-encoded;
        null where the log has none; bytes that are not UTF-8 as ``\\\\xNN``).
        columns: only these are decoded. batch_rows: rows in memory at a time, for consumers that take batches.
        Raises KeyError for an unknown name, IolensError for a column that there is not.
        """
        return Table(self.open_stream, module_spec(name, names, mounts, columns, batch_rows))

    def __getitem__(self, module: str) -> Table:
        return self.table(module)

    def __contains__(self, module: object) -> bool:
        """Has the log data of this module? By key or Darshan's name."""
        words = (word for m in self.modules.values() if m.stored for word in (m.key, m.darshan.lower()))
        return isinstance(module, str) and module.lower() in words


def open(source: Path | bytes) -> Log:
    """Opens a log: a path, or its bytes. Raises IolensError if it is none, or of an unknown version."""
    return Log(source)
