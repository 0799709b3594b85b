"""What a week brought, compared with the week before: the portal's first page and the weekly mail show the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Protocol

from iolens.fleet.saved_queries import Answer

__all__ = ["DAYS", "MONTH", "ROWS", "Digest", "digest"]

DAYS = 7

MONTH = 28
"""Days of a month: all months have as many weekends."""

ROWS = 10
"""Of a table in a page or mail."""

_FINDINGS = 1000


class Ask(Protocol):
    """The rows of a named query."""

    def __call__(self, name: str, **given: float | str) -> Answer: ...


@dataclass(frozen=True)
class Digest:
    """The seven days that end with ``until``."""

    since: date
    until: date
    total: dict[str, Any]
    """Jobs, users, bytes and time lost: a row of ``job_count``."""
    before: dict[str, Any]
    """The same of the seven days before."""
    users: Answer
    jobs: Answer
    """With findings, those that lose most first."""
    new: Answer
    """Findings that no earlier job had."""
    slower: Answer
    """Applications that ran in these days."""
    week: Answer
    """Projects and applications, compared with the week before."""
    month: Answer
    """The same for the last 28 days."""


def _slower(ask: Ask, since: date, whose: dict[str, str]) -> Answer:
    """What it costs decides, not the factor: a run of 1 s that takes 6 s is no news."""
    answer = ask("drift", **whose)
    rows = [row for row in answer.dicts() if row["drift"] == "slower" and row["last"] >= since]
    rows.sort(key=lambda row: row["earlier"] - row["recent"])
    return replace(answer, rows=[tuple(row.values()) for row in rows[:ROWS]])


def digest(ask: Ask, until: date, user: str = "") -> Digest:
    """Of all jobs that ``ask`` knows, or of those of one user."""
    since = until - timedelta(days=DAYS - 1)
    mine = {"user": user, "until": str(until)}
    week = {**mine, "since": str(since)}
    earlier = {
        "user": user,
        "since": str(since - timedelta(days=DAYS)),
        "until": str(since - timedelta(days=1)),
    }
    (total,) = ask("job_count", **week).dicts()
    (before,) = ask("job_count", **earlier).dicts()
    return Digest(
        since,
        until,
        total,
        before,
        users=ask("top_users", rows=ROWS, **week),
        jobs=ask("job_list", by="time_lost", rows=ROWS, found=1, **week),
        new=ask("findings", new=1, rows=_FINDINGS, **week),
        slower=_slower(ask, since, mine),
        week=ask("periods", days=DAYS, rows=ROWS, **mine),
        month=ask("periods", days=MONTH, rows=ROWS, **mine),
    )
