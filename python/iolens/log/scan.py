"""Many logs as if they were one: each module is one table with a column ``log``."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Union

from iolens.error import BUDGET_CODE, USAGE, IolensError, of_native
from iolens.log import _native
from iolens.log.log import Log, module_spec
from iolens.log.table import BATCH_ROWS, Table, TableSpec

__all__ = ["Scan", "memory_allowed", "scan"]

AnyPath = Union[str, "os.PathLike[str]"]


_LOOKED_AT = 256
"""Logs, for the columns of a section."""

_OF_A_VERSION = 16
"""The same where few logs are of this version."""

_Fields = frozenset[tuple[str, str, int]]
"""Of a section in a log: name, type and number of elements of each."""


def _names(schemas: Iterable[_Fields]) -> frozenset[str]:
    return frozenset(name for fields in schemas for name, _, _ in fields)


class Scan:
    """Logs that are read together, by threads; each table reads the files anew.

    ``scan["posix"]`` has the columns of ``log["posix"]`` and ``log`` (int64), the number of the log in
    ``paths``; its rows are in order of the logs. ``scan.job`` has one row per log.

    on_error "report": logs that cannot be read, or not to their end, are in ``errors`` once a table has been
    read; what came before the damage is in the table. "raise": the table ends with the error instead.
    """

    def __init__(
        self,
        paths: Iterable[AnyPath],
        threads: int | None = None,
        on_error: str = "report",
        logs: Sequence[Log] | None = None,
    ) -> None:
        """logs: the same, open already: no file is opened."""
        if on_error not in ("report", "raise"):
            raise IolensError(f"on_error is 'report' or 'raise', not {on_error!r}", exit_code=USAGE)
        self.paths = tuple(os.fspath(p) for p in paths)
        self._files = tuple(os.fsencode(p) for p in self.paths)
        self._threads = threads or len(os.sched_getaffinity(0))
        self._stop = on_error == "raise"
        self._streams: list[_native.Stream] = []
        self._logs = tuple(logs or ())
        self._natives = tuple(log.native for log in self._logs) if self._logs else None
        self._schemas: dict[str, dict[_Fields, tuple[int, Log]]] = {}
        self._looked_at = 0

    def _open_stream(self, spec: TableSpec) -> _native.Stream:
        columns_of = self._logs_with(spec.section, spec.columns) if spec.section else ()
        stream = _native.scan(
            self._files, spec.native(), self._threads, self._stop, columns_of, self._natives
        )
        self._streams.append(stream)
        return stream

    def _schemas_of(self, section: str) -> dict[_Fields, tuple[int, Log]]:
        """Fields that the section has in logs: in how many, and one of these. Raises KeyError if no log has it.

        Of many logs some are looked at, of each version if they are open, and all only where none of these has the
        section; each at most twice, whatever number of sections is read.
        """
        every = self._logs or self.paths
        if not self._looked_at:
            self._looked_at = 1
            self._look_at([*every[:: len(every) // _LOOKED_AT + 1], *self._of_versions()])
        if section not in self._schemas and self._looked_at == 1 and len(every) > _LOOKED_AT:
            self._looked_at = 2
            self._look_at(every)
        return self._schemas[section]

    def _of_versions(self) -> Iterator[Log]:
        """Of many logs that are open the first of each version: a section changes with the version that writes it."""
        seen: Counter[str] = Counter()
        for log in self._logs if len(self._logs) > _LOOKED_AT else ():
            version = log.job.metadata.get("lib_ver", "")
            seen[version] += 1
            if seen[version] <= _OF_A_VERSION:
                yield log

    def _look_at(self, sources: Sequence[Log | str]) -> None:
        for source in sources:
            try:
                log = source if isinstance(source, Log) else Log(source)
                sections = list(log.trailer)
            except IolensError:
                continue  # reported when the rows are read
            for section in sections:
                try:
                    fields = frozenset((f.name, f.type, f.count) for f in log.trailer[section].schema)
                except IolensError:
                    fields = frozenset()  # its rows are an error, too, which is reported then
                known = self._schemas.setdefault(section, {})
                logs, first = known.get(fields, (0, log))
                known[fields] = (logs + 1, first)

    def _logs_with(self, section: str, columns: Iterable[str] | None) -> tuple[_native.Log, ...]:
        """Logs that together have all columns of the section, or these.

        A column has the type of the first that has it: what most logs have comes first, so that one log with other
        types takes no values from the others.
        """
        schemas = self._schemas_of(section)
        wanted = _names(schemas) if columns is None else frozenset(columns)
        found: list[_native.Log] = []
        there: frozenset[str] = frozenset()
        for fields, (_, log) in sorted(schemas.items(), key=lambda one: (not one[0], -one[1][0])):
            names = _names([fields])
            if not found or (names & wanted) - there:
                found.append(log.native)
                there |= names
        return tuple(found)

    def table(
        self,
        name: str,
        *,
        names: bool = False,
        mounts: bool = False,
        columns: Iterable[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> Table:
        """As Log.table; ``name``, ``mount`` and ``file_system`` are plain strings here."""
        return Table(self._open_stream, module_spec(name, names, mounts, columns, batch_rows))

    def section(self, name: str, *, among: Collection[str] | None = None) -> Table:
        """A section of the trailers, with every column that it has in a log; null where others lack one.

        Of more than 256 logs, the columns are those that some of them have. among: only columns of these names.
        """
        columns = None
        if among is not None:
            columns = (*sorted(_names(self._schemas_of(name)) & frozenset(among) - {"log"}), "log")
        return Table(self._open_stream, TableSpec("section", section=name, columns=columns))

    @property
    def job(self) -> Table:
        """One row per log: uid, job_id, nprocs, start, end, run_time, exe, format, partial, log."""
        return self.table("job")

    def __getitem__(self, module: str) -> Table:
        return self.table(module)

    def __len__(self) -> int:
        return len(self.paths)

    def refuse_large(self) -> None:
        """Raises IolensError if, in the tables read so far, a log unpacked to more than is allowed."""
        for stream in self._streams:
            for log, code, message, offset, system in stream.failures():
                if code == BUDGET_CODE:
                    raise of_native(code, message, self.paths[log], offset, system)

    @property
    def errors(self) -> list[IolensError]:
        """What was wrong with logs in the tables read so far, in order of the logs, each problem once."""
        found = {
            (log, message, offset): of_native(code, message, self.paths[log], offset, system)
            for stream in self._streams
            for log, code, message, offset, system in stream.failures()
        }
        return [found[key] for key in sorted(found, key=lambda k: (k[0], k[1]))]

    def __repr__(self) -> str:
        return f"<Scan of {len(self.paths)} logs>"


def memory_allowed(usual: int) -> int:
    """Bytes that reading logs may take: what IOLENS_MEMORY says (IolensError if it is no size), else the usual."""
    return _native.memory(usual)


def _expand(pattern: AnyPath) -> list[str]:
    text = os.fspath(pattern)
    if Path(text).exists():
        return [text]
    found = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else []  # noqa: PTH207 -- absolute ones too
    if not found:
        raise IolensError("no such log", text)
    return found


def scan(logs: AnyPath | Iterable[AnyPath], *, threads: int | None = None, on_error: str = "report") -> Scan:
    """Many logs: a pattern (``"logs/**/*.darshan"``), a path, or a list of paths, which need not exist.

    threads: None = one for each processor this process may use.
    Raises IolensError if a pattern matches nothing.
    """
    single = isinstance(logs, (str, os.PathLike))
    return Scan(_expand(logs) if single else logs, threads, on_error)  # type: ignore[arg-type]
