"""A rule tried on history: which notices it would have sent, and to which users."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import duckdb

from iolens.error import USAGE, IolensError
from iolens.metrics import Dataset
from iolens.rules import Rule

__all__ = ["Trial", "try_rule"]


@dataclass(frozen=True)
class Trial:
    """What a rule finds in all jobs of a lake. Seconds; None where the rule does not estimate them."""

    rule: str
    jobs: int
    """Jobs that were looked at."""
    matching: int
    users: int
    applications: int
    notices: int
    """Users with applications: each would get one notice."""
    time_lost: float | None
    worst: float | None
    by_month: tuple[tuple[str, int], ...]
    """Month (2026-11) and matching jobs."""
    examples: tuple[tuple[str, str, int, float | None], ...]
    """User, application, job and seconds of the ten that lose most."""


def try_rule(data: Dataset, rule: Rule) -> Trial:
    """Runs the rule's condition over a lake, and keeps nothing. Raises IolensError for a rule that cannot be run."""
    settings = {name: one.default for name, one in rule.thresholds.items()}
    used = {name: value for name, value in settings.items() if re.search(rf"\${name}\b", rule.condition)}
    if rule.path:
        data.seal()
    try:
        columns = [
            c[0] for c in data.query(f"SELECT * FROM ({rule.condition}\n) LIMIT 0", used).description or ()
        ]
        lost = "time_lost" if "time_lost" in columns else "NULL"
        matching = data.rows(
            f"""
            SELECT "user", application, job_id, strftime("start", '%Y-%m') AS month,
                least(greatest(CAST({lost} AS DOUBLE), 0), run_time) AS time_lost
            FROM (SELECT log, {lost} AS time_lost FROM ({rule.condition}\n)) JOIN (
                SELECT log, "user", application, job_id, "start", run_time FROM job
            ) USING (log) ORDER BY time_lost DESC NULLS LAST, job_id
            """,
            used,
        )
    except duckdb.Error as error:
        raise IolensError(
            str(error).splitlines()[0], rule.path or f"rule {rule.id}", exit_code=USAGE
        ) from error
    jobs = data.query("SELECT count(*) FROM job").fetchone()
    return _summed(rule.id, int(jobs[0]) if jobs else 0, matching)


def _summed(rule: str, jobs: int, matching: list[dict[str, Any]]) -> Trial:
    months: dict[str, int] = {}
    for row in sorted(matching, key=lambda row: row["month"] or ""):
        months[row["month"] or "unknown"] = months.get(row["month"] or "unknown", 0) + 1
    costs = [row["time_lost"] for row in matching if row["time_lost"] is not None]
    return Trial(
        rule=rule,
        jobs=jobs,
        matching=len(matching),
        users=len({row["user"] for row in matching}),
        applications=len({row["application"] for row in matching}),
        notices=len({(row["user"], row["application"]) for row in matching}),
        time_lost=sum(costs) if costs else None,
        worst=max(costs) if costs else None,
        by_month=tuple(months.items()),
        examples=tuple(
            (row["user"], row["application"], row["job_id"], row["time_lost"]) for row in matching[:10]
        ),
    )
