"""What sections are made from: one log of a dataset."""

from __future__ import annotations

import datetime
import pwd
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from iolens.log.modules import TRACES
from iolens.metrics import Dataset
from iolens.metrics.views import TITLES
from iolens.report.document import Column, Table
from iolens.rules.final_names import final_names

__all__ = ["ALIKE", "INTERFACE_SQL", "INTERFACE_TITLES", "PATTERN_SQL", "Source", "stamp"]

INTERFACE_TITLES = {**TITLES, **{m.key: m.title for m in TRACES if m.key and m.title}}
"""Libraries, interfaces and traces, in the order in which they are shown."""

INTERFACE_SQL = "CASE interface WHEN 'mpiio' THEN 'MPI-IO' ELSE upper(interface) END"
"""An interface as tables write it, in SQL."""

ALIKE = 20
"""So many files of a directory whose names differ in digits alone are shown as one."""

PATTERN_SQL = (
    "CASE WHEN regexp_matches(name, '[A-Za-z][^/]*$') THEN regexp_extract(name, '^(.*/)?', 0) "
    "|| regexp_replace(regexp_extract(name, '[^/]*$', 0), '[0-9]+', '*', 'g') ELSE name END"
)
"""A name with * for each number of its last part, in SQL; names that are numbers (anonymized) are no pattern."""

CAP = 2000
"""Rows of a table in the page; all of them are in what --csv writes."""


def stamp(seconds: float | None) -> str | None:
    """A moment, in universal time."""
    if not seconds:
        return None
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


@dataclass
class Source:
    """One log of a dataset, asked in SQL. ``prefix`` keeps the ids of several logs' tables apart."""

    data: Dataset
    log: int
    prefix: str = ""
    findings: Sequence[Any] = field(default_factory=list)

    @cached_property
    def job(self) -> dict[str, Any]:
        rows = self.data.rows(
            'SELECT path, uid, job_id, nprocs, epoch(start) AS start, epoch("end") AS "end", run_time, exe, format, '
            f"partial FROM job WHERE log = {self.log}"
        )
        return rows[0]

    @cached_property
    def number(self) -> int | None:
        """The scheduler's number of the job. Without a scheduler, a log has the first process's id in its place."""
        own = self.ask(f"SELECT count(*) FROM process WHERE log = {{log}} AND pid = {self.job['job_id']}")
        return None if own[0][0] else self.job["job_id"]

    @cached_property
    def user(self) -> str:
        """The user's name where this machine knows it, and the number."""
        uid = self.job["uid"]
        try:
            return f"{pwd.getpwuid(uid).pw_name} ({uid})"
        except (KeyError, OverflowError):
            return str(uid)

    @cached_property
    def ranks(self) -> int:
        """Processes: at least as many as records name."""
        known = self.data.query(
            f"SELECT max(rank) FROM (SELECT rank FROM record WHERE log = {self.log} UNION ALL "
            f"SELECT rank FROM process WHERE log = {self.log})"
        ).fetchone()
        return max(1, self.job["nprocs"] or 1, 1 + (known[0] if known and known[0] is not None else 0))

    @cached_property
    def parallel(self) -> bool:
        """Did ranks of MPI run?"""
        known, ranks = self.ask(
            "SELECT count(*), count(*) FILTER (mpi <> '') FROM process WHERE log = {log}"
        )[0]
        return bool(ranks) if known else (self.job["nprocs"] or 1) > 1

    @cached_property
    def interfaces(self) -> list[str]:
        """Those with records, in the order of reports."""
        return [str(name) for (name,) in self.ask("SELECT DISTINCT interface FROM file_of WHERE log = {log}")]

    @cached_property
    def span(self) -> float:
        """Seconds from the job's start to its end, or to the last thing that is known to have happened."""
        last = self.ask("""
            SELECT max(t) FROM (
                SELECT greatest(max(close_end), max(read_end), max(write_end)) AS t FROM file_of WHERE log = {log}
                UNION ALL SELECT max("end") FROM process WHERE log = {log}
                UNION ALL SELECT max("end") FROM timeline WHERE log = {log}
            )
        """)[0][0]
        return max(float(self.job["run_time"] or 0), float(last or 0), 1e-6)

    @cached_property
    def final(self) -> dict[str, str]:
        """Names of files that were written under a temporary one, as tables show them."""
        return dict(final_names(self.data).get(self.log, {}))

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows; ``{log}`` in the statement is the log's number."""
        return self.data.query(sql.replace("{log}", str(self.log))).fetchall()

    def metric(self, name: str) -> list[dict[str, Any]]:
        """The metric's rows of this log."""
        return [row for row in self.data.metric(name) if row["log"] == self.log]

    def table(  # noqa: PLR0913 -- a table is that much
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        sql: str,
        *,
        note: str = "",
        metric: str = "",
        cap: int = CAP,
        without_empty: bool = False,
    ) -> list[Table]:
        """A table of a SELECT with these columns by name, or none if it has no rows.

        In the statement ``{log}`` is the log's number and ``{limit}`` where rows may be cut before names are joined.
        without_empty: columns without a value in any row are left out.
        """
        whole = sql.replace("{log}", str(self.log))
        listed = ", ".join(f'"{column.name}"' for column in columns)
        cut = f"SELECT {listed} FROM ({whole.replace('{limit}', f'LIMIT {cap + 1}')}) LIMIT {cap + 1}"
        rows = [list(row) for row in self.data.query(cut).fetchall()]
        if not rows:
            return []
        if without_empty and len(rows) <= cap:
            kept = [n for n in range(len(columns)) if any(row[n] is not None for row in rows)]
            columns, rows = [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]
            listed = ", ".join(f'"{column.name}"' for column in columns)
        for place in [n for n, column in enumerate(columns) if column.name == "name" and self.final]:
            rows = [[*row[:place], self.final.get(row[place], row[place]), *row[place + 1 :]] for row in rows]
        everything = f"SELECT {listed} FROM ({whole.replace('{limit}', '')})"
        total = len(rows)
        if total > cap:
            counted = self.data.query(f"SELECT count(*) FROM ({whole.replace('{limit}', '')})").fetchone()
            total = counted[0] if counted else total
        return [
            Table(
                id=self.prefix + name,
                title=title,
                columns=tuple(columns),
                rows=rows[:cap],
                note=note,
                total=total,
                sql=everything,
                metric=metric,
            )
        ]
