"""Which part of a machine's users, jobs and core hours is in the lake's logs, by the scheduler's accounting.

A query is an SQL file of this folder, with what it means at its head.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from iolens.error import USAGE, IolensError
from iolens.metrics.literal import quoted

__all__ = ["GROUPS", "SLACK", "Coverage", "coverage", "coverage_sql", "runs_sql"]


class Asked(Protocol):
    """What is asked: a ``Dataset``, or what answers as one."""

    def query(self, statement: str) -> Any: ...

    def rows(self, statement: str) -> list[dict[str, Any]]: ...


SLACK = 600
"""Seconds: clocks of nodes and scheduler may differ, and a prolog takes time."""

GROUPS = {
    "day": "on_day",
    "week": "date_trunc('week', on_day)::DATE",
    "month": "date_trunc('month', on_day)::DATE",
    "account": "account",
    "user": '"user"',
    "partition": "partition",
    "cluster": "cluster",
    "application": "name",
    "state": "state",
}
"""What coverage may be grouped by, and its SQL over ``accounted_run``."""


@dataclass
class Coverage:
    """Coverage of a lake, as ``iolens fleet coverage --json`` has it."""

    by: str
    groups: list[dict[str, Any]] = field(default_factory=list)
    """One per day, account ...: users, jobs, core hours, and those of them with a log."""
    total: dict[str, Any] = field(default_factory=dict)
    """The same of all; users: of the whole period."""
    no_log: list[dict[str, Any]] = field(default_factory=list)
    """Of each end state, jobs that started under iolens, and those of them without a log."""
    observed_told: bool = False
    """Does accounting tell which jobs ran under iolens? Else only jobs with a log are known to have."""
    unmatched: dict[str, Any] = field(default_factory=dict)
    """Logs of the period that belong to no run: unknown to the scheduler, or at another time."""
    changes: list[dict[str, Any]] = field(default_factory=list)
    """What changed on which day: ``day`` and ``text``."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@cache
def _sql(name: str) -> str:
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")


def _filled(name: str, **values: object) -> str:
    return re.sub(r"\$(\w+)", lambda found: str(values[found[1]]), _sql(name))


def _condition(since: date | None, until: date | None, cluster: str) -> str:
    parts = ["true"]
    if since:
        parts.append(f"on_day >= DATE '{since}'")
    if until:
        parts.append(f"on_day <= DATE '{until}'")
    if cluster:
        parts.append(f"cluster = {quoted(cluster)}")
    return " AND ".join(parts)


def _order(by: str) -> str:
    return "key" if by in ("day", "week", "month") else "core_hours DESC, key"


def runs_sql(slack: int = SLACK) -> str:
    """Runs of jobs with the logs that they left: what all coverage is made of."""
    return _filled("runs", slack=int(slack))


def coverage_sql(
    *, by: str = "", since: date | None = None, until: date | None = None, cluster: str = ""
) -> str:
    """``Coverage.groups`` of such a group as one statement over the lake's tables; without one ``Coverage.no_log``."""
    where = _condition(since, until, cluster)
    asked = (
        _filled("groups", key=GROUPS[by], where=where, order=_order(by))
        if by
        else _filled("no_log", where=where)
    )
    text = f"WITH accounted_run AS (\n{_filled('runs', slack=SLACK)})\nSELECT * FROM (\n{asked})"
    return re.sub(r"(?m)^--.*\n", "", text)


def _changes(data: Asked, since: date | None, until: date | None) -> list[dict[str, Any]]:
    """First days of versions of the library that logs are from, without the first of all, and what was marked."""
    rows = data.rows("""
        WITH version AS (
            SELECT m.value, min(j."start")::DATE AS day FROM metadata AS m JOIN job AS j USING (log)
            WHERE m.key = 'lib_ver' GROUP BY m.value
        )
        SELECT day, 'first logs of version ' || value AS text FROM version WHERE day > (SELECT min(day) FROM version)
        UNION ALL SELECT on_day AS day, text FROM change
        ORDER BY day, text
    """)
    return [row for row in rows if (not since or row["day"] >= since) and (not until or row["day"] <= until)]


def coverage(  # noqa: PLR0913
    data: Asked,
    *,
    by: str = "day",
    since: date | None = None,
    until: date | None = None,
    cluster: str = "",
    slack: int = SLACK,
    runs: str = "",
) -> Coverage:
    """The coverage of a lake that is open; since, until: days (UTC) on which jobs started.

    runs: a table that has the rows of ``runs_sql`` already. Raises IolensError if the lake has no accounting.
    """
    made = f"FROM {runs}" if runs else runs_sql(slack)
    data.query(f"CREATE OR REPLACE TEMP {'VIEW' if runs else 'TABLE'} accounted_run AS\n{made}")
    if data.query("SELECT count(*) FROM accounted_run").fetchone() == (0,):
        raise IolensError(
            "the lake has no accounting of ended jobs: `iolens fleet accounting FILE --lake DIR` adds it",
            exit_code=USAGE,
        )
    where = _condition(since, until, cluster)
    total = data.rows(_filled("groups", key="'all'", where=where, order="key"))
    told = data.query(f"SELECT count(*) FROM accounted_run WHERE observed AND {where}").fetchone()
    return Coverage(
        by=by,
        groups=data.rows(_filled("groups", key=GROUPS[by], where=where, order=_order(by))),
        total={name: value for name, value in total[0].items() if name != "key"} if total else {},
        no_log=data.rows(_filled("no_log", where=where)),
        observed_told=told != (0,),
        unmatched=data.rows(_filled("unmatched", slack=int(slack)))[0],
        changes=_changes(data, since, until),
    )
