"""Many logs as if they were one: each module is one table with a column ``log``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
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
        self._widest_logs: dict[str, tuple[int, Log]] = {}
        self._looked_at = 0

    def _open_stream(self, spec: TableSpec) -> _native.Stream:
        columns_of = self._widest(spec.section) if spec.section else None
        stream = _native.scan(
            self._files, spec.native(), self._threads, self._stop, columns_of, self._natives
        )
        self._streams.append(stream)
        return stream

    def _widest(self, section: str) -> _native.Log:
        """The log whose section has most columns: newer versions add some, so it has those of all others.

        Of many logs some are looked at, and all only where none of these has the section; each at most twice,
        whatever number of sections is read.
        """
        every = self._logs or self.paths
        if not self._looked_at:
            self._looked_at = 1
            self._look_at(every[:: len(every) // _LOOKED_AT + 1])
        if section not in self._widest_logs and self._looked_at == 1 and len(every) > _LOOKED_AT:
            self._looked_at = 2
            self._look_at(every)
        if section not in self._widest_logs:
            raise KeyError(section)
        return self._widest_logs[section][1].native

    def _look_at(self, sources: Sequence[Log | str]) -> None:
        for source in sources:
            try:
                log = source if isinstance(source, Log) else Log(source)
                sections = list(log.trailer)
            except IolensError:
                continue  # reported when the rows are read
            for section in sections:
                try:
                    width = len(log.trailer[section].schema)
                except IolensError:
                    width = 0  # its rows are an error, too, which is reported then
                if width > self._widest_logs.get(section, (-1, None))[0]:
                    self._widest_logs[section] = (width, log)

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

    def section(self, name: str) -> Table:
        """A section of the trailers, with the columns of the log in which it has most; null where others lack one."""
        return Table(self._open_stream, TableSpec("section", section=name))

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
