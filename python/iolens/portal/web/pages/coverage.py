"""Coverage: which part of users, jobs and core hours has logs (figures 7 and 8)."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from iolens.error import USAGE, IolensError
from iolens.fleet.coverage import GROUPS, Coverage, coverage_sql
from iolens.fleet.saved_queries import ResultColumn
from iolens.portal.web.page_request import PageRequest, link
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import Chart, Grid, to_csv
from iolens.report.document import Bars, Series

__all__ = ["as_csv", "page"]

_COLUMNS = (
    ("key", "", "day, or what else is asked for"),
    ("users", "count", "completed a job"),
    ("users_share", "percent", "of these have a log"),
    ("jobs", "count", "that started"),
    ("jobs_share", "percent", "of these have a log"),
    ("core_hours", "factor", "of these jobs"),
    ("core_hours_share", "percent", "of jobs with a log"),
)
_NO_LOG_COLUMNS = (
    ResultColumn("state", "", "how they ended"),
    ResultColumn("started", "count", "under iolens"),
    ResultColumn("no_log", "count", "left none"),
    ResultColumn("core_hours", "factor", "of all"),
    ResultColumn("core_hours_no_log", "factor", "of those"),
)
BARS = 60


def _shares(row: dict[str, Any]) -> dict[str, Any]:
    shares = {
        f"{n}_share": (row[f"{n}_logged"] or 0) / row[n] if row[n] else None
        for n in ("users", "jobs", "core_hours")
    }
    return {**row, **shares}


def _by(request: PageRequest) -> str:
    by = request.text("by", "day")
    if by not in GROUPS:
        raise IolensError(f'by: "{by[:20]}" is none of {", ".join(GROUPS)}', exit_code=USAGE)
    return by


def _period(request: PageRequest) -> dict[str, Any]:
    return {
        "since": request.day("since"),
        "until": request.day("until"),
        "cluster": request.text("cluster"),
    }


def _found(request: PageRequest) -> tuple[str, Coverage]:
    by = _by(request)
    return by, request.data.coverage(by, **_period(request))


def _sql(request: PageRequest, by: str) -> str:
    """Address of the SQL page with the statement of the groups' table, or without by of the other one."""
    return link("/sql", statement=coverage_sql(by=by, **_period(request)))


def _charts(by: str, rows: list[dict[str, Any]]) -> list[Chart]:
    """Figures 7 and 8: the last days, or the groups with most."""
    shown = rows[-BARS:] if by in ("day", "week", "month") else rows[:BARS]
    names = [str(row["key"]) if row["key"] is not None else "–" for row in shown]
    return [
        Chart.of(
            Bars(
                f"coverage-{what}",
                title,
                names,
                [
                    Series(colour, words, [row[f"{name}_share"] or 0.0 for row in shown])
                    for name, words, colour in series
                ],
                "percent",
            )
        )
        for what, title, series in (
            (
                "people",
                "Users and jobs with logs (figure 7)",
                (("users", "Users", "first"), ("jobs", "Jobs", "second")),
            ),
            ("hours", "Core hours with logs (figure 8)", (("core_hours", "Core hours", "third"),)),
        )
        if shown
    ]


def page(request: PageRequest) -> Response:
    """/coverage"""
    given = {name: request.text(name) for name in ("by", "since", "until", "cluster")}
    if not request.snapshot.of_lake.files.get("accounting"):
        return request.page(
            "coverage.html",
            by=_by(request),
            groups=list(GROUPS),
            given=given,
            parts=[],
            notes=[],
            lacking=True,
        )
    by, found = _found(request)
    rows = [_shares(row) for row in found.groups]
    columns = [ResultColumn(name if name != "key" else by, unit, doc) for name, unit, doc in _COLUMNS]
    whole = [
        {**row, by: row["key"]}
        for row in [*rows, *([_shares({**found.total, "key": "all"})] if found.total else [])]
    ]
    grid = Grid(
        "coverage",
        "Coverage",
        columns,
        whole[:400],
        csv=link("/coverage.csv", **given),
        sql=_sql(request, by),
        total=len(whole),
    )
    lost = Grid(
        "no-log",
        "Jobs that started under iolens, and those that left no log",
        _NO_LOG_COLUMNS,
        found.no_log,
        csv=link("/coverage.csv", table="no-log", **given),
        sql=_sql(request, ""),
        total=len(found.no_log),
    )
    notes = [f"{change['day']}: {change['text']}" for change in found.changes]
    return request.page(
        "coverage.html",
        by=by,
        groups=list(GROUPS),
        given=given,
        parts=[*_charts(by, rows), grid, lost],
        notes=notes,
        lacking=False,
    )


def as_csv(request: PageRequest) -> Response:
    """/coverage.csv, with table=no-log the second table."""
    by, found = _found(request)
    table = request.text("table", "coverage")
    if table == "no-log":
        names = [column.name for column in _NO_LOG_COLUMNS]
        return csv_response(to_csv(names, [[row[name] for name in names] for row in found.no_log]), table)
    if table != "coverage":
        raise IolensError(f'table: "{table[:20]}" is neither coverage nor no-log', exit_code=USAGE)
    rows = [_shares(row) for row in found.groups]
    names = list(rows[0]) if rows else ["key"]
    return csv_response(
        to_csv([by if name == "key" else name for name in names], [list(row.values()) for row in rows]),
        table,
    )
