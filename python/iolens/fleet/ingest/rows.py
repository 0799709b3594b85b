"""The rows of a batch in the lake's tables: written as they are decoded, or from tables of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache
from itertools import groupby
from typing import NamedTuple

import duckdb

from iolens.error import IolensError
from iolens.fleet.tables.delta import DAY, File, Table
from iolens.fleet.tables.durable import Syncing
from iolens.fleet.tables.schema import Column
from iolens.fleet.tables.write import write_files
from iolens.log import Scan, scan
from iolens.metrics import MODULES, Dataset
from iolens.metrics.base import told
from iolens.metrics.engine import register
from iolens.metrics.literal import texts
from iolens.metrics.log_tables import PLAIN, LogTables
from iolens.metrics.plausible import implausible

__all__ = ["Implausible", "Rows"]

# Days that are written file by file: with more of them it takes less to divide the rows.
_FEW = 4

_BATCH_ROWS = 8192
_MARK = "rows that cannot be true"


@cache
def _wrong(name: str) -> str:
    """The condition that no row of a table may meet."""
    if name not in MODULES:
        return "FALSE"
    schema = scan([]).table(name).schema
    return implausible(schema, set(schema.names))


class Implausible(Exception):
    """A log has rows that are to be left out, and reported: they are found in tables only."""


class _Run(NamedTuple):
    """Consecutive logs of one day; of several if there is none."""

    first: int
    end: int
    day: date | None


def _runs(days: Sequence[date]) -> list[_Run]:
    """The logs by day, if these are few and each is together; else all at once."""
    runs, at = [], 0
    for day, some in groupby(days):
        end = at + sum(1 for _ in some)
        runs.append(_Run(at, end, day))
        at = end
    apart = len({run.day for run in runs}) < len(runs)
    return [_Run(0, len(days), None)] if apart or len(runs) > _FEW else runs


class Rows:
    """Of the logs of a dataset; ``log`` becomes the number in the lake, counted from ``first``."""

    def __init__(
        self, data: Dataset, base: LogTables, first: int, days: Sequence[date], syncing: Syncing
    ) -> None:
        """days: of each log."""
        self._syncing = syncing
        data.connection.execute(f"SET VARIABLE days = {texts([str(day) for day in days])}::DATE[]")
        self._data = data
        self._base = base
        self._first = first
        self._runs = _runs(days)
        self._scans = [
            Scan(base.paths[r.first : r.end], 1, logs=base.logs[r.first : r.end]) for r in self._runs
        ]

    @property
    def problems(self) -> list[IolensError]:
        """Damage met by ``stream``."""
        return [problem for logs in self._scans for problem in logs.errors]

    def stream(self, name: str, table: Table, token: str) -> list[File]:
        """Writes the rows of a module, or of a table of ``PLAIN``, from the logs. Raises Implausible."""
        files = []
        for run, logs in zip(self._runs, self._scans):
            source = logs.table(PLAIN.get(name, name), batch_rows=_BATCH_ROWS)
            wrong = _wrong(name)
            where = (
                "" if wrong == "FALSE" else f" WHERE CASE WHEN {wrong} THEN error('{_MARK}') ELSE TRUE END"
            )
            duck = self._data.connection
            register(duck, "source", source.__arrow_c_stream__())
            try:
                with told(self._base.name):
                    query = self._select(table.columns, "source", run, run.first) + where
                    files += write_files(duck, query, table, token, run.day, syncing=self._syncing)
            except duckdb.InvalidInputException as error:
                if _MARK not in str(error):
                    raise
                raise Implausible from error
            finally:
                duck.unregister("source")
            logs.refuse_large()
        return files

    def copy(self, source: str, table: Table, token: str) -> list[File]:
        """Writes the rows of a table, or a subquery, of the dataset."""
        files = []
        for run in self._runs:
            query = self._select(table.columns, source, run, 0)
            if run.day:
                query += f" WHERE log BETWEEN {run.first} AND {run.end - 1}"
            duck = self._data.connection
            files += write_files(duck, query, table, token, run.day, syncing=self._syncing)
        return files

    def _select(self, columns: Sequence[Column], source: str, run: _Run, offset: int) -> str:
        chosen = [
            f'{c.to_stored} AS "{c.name}"' if c.name != "log" else f"log + {self._first + offset} AS log"
            for c in columns
        ]
        if run.day:
            return f"SELECT {', '.join(chosen)} FROM {source}"
        # Not by a join: that may change the order of rows, which then take a fifth more room.
        day = f"getvariable('days')[log + 1] AS {DAY}"
        return f"SELECT {', '.join([*chosen, day])} FROM {source}"
