"""The first page: what the last days that have jobs brought, and what of it cost most; any week before by its day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from starlette.responses import Response

from iolens.fleet.digest import DAYS, MONTH, ROWS, Digest, digest
from iolens.fleet.saved_queries import Answer
from iolens.portal.data.scope import Role
from iolens.portal.web.page_request import PageRequest, link, link_all
from iolens.portal.web.pages.lists import chart_of
from iolens.portal.web.widgets import Chart, Grid, cell, grid_of
from iolens.report.units import counted

__all__ = ["front"]

_EARLIEST = date(1970, 1, 1)


def _part(answer: Answer, title: str, empty: str) -> Grid:
    found = grid_of(answer, note=" ")
    return replace(found, title=title, note="", empty=empty, rows=found.rows[:ROWS])


def _compared(answer: Answer, days: int) -> Grid:
    """Without the column of projects where no accounting says them."""
    found = _part(answer, f"{days} days, compared with the {days} before", "No job in these days.")
    projects = any(row["account"] for row in answer.dicts())
    columns = [column for column in found.columns if projects or column.name != "account"]
    return replace(found, id=f"periods-{days}", columns=columns)


def _parts(found: Digest, staff: bool) -> list[Chart | Grid]:
    parts: list[Chart | Grid] = []
    if staff:
        parts += chart_of("top_users", found.users.dicts())
        parts.append(_part(found.users, "Users who lost most", "No user lost time to findings."))
    nothing = "No job of these days has a finding of severity high or medium."
    jobs = _part(found.jobs, "Jobs, worst first", nothing)
    parts.append(replace(jobs, columns=[column for column in jobs.columns if column.name != "exe"]))
    parts.append(_part(found.new, "New findings", "No new finding of severity high or medium."))
    parts.append(_part(found.slower, "Applications that became slower", "No application became slower."))
    return [*parts, _compared(found.week, DAYS), _compared(found.month, MONTH)]


def _intro(found: Digest, staff: bool) -> str:
    def told(row: dict[str, Any]) -> str:
        of = f" of {counted(row['users'], 'user')}" if staff else ""
        lost = f", {cell(row['time_lost'], 'seconds')} lost" if row["time_lost"] else ""
        return f"{counted(row['jobs'], 'job')}{of}{lost}"

    days = f"{found.since} to {found.until} (UTC)"
    return f"{days}: {told(found.total)}. The week before: {told(found.before)}."


def front(request: PageRequest) -> Response:
    """/: for staff the machine, for users their own jobs. /?until=DAY: the seven days that end with this one."""
    ((last, ingested),) = request.data.query('SELECT max("start"), max(ingested) FROM job').fetchall()
    if last is None:
        nothing = "There are no jobs of yours yet."
        return request.page("start.html", title="Welcome", intro=nothing, parts=[], more=[])
    newest: date = last.date()
    until = max(_EARLIEST, min(request.day("until") or newest, newest))
    staff = request.viewer.role >= Role.LEAD
    found = digest(request.data.ask, until)
    more = [
        ("These jobs", link("/jobs", since=found.since, until=until)),
        ("All jobs", link_all("/jobs")),
        ("The week before", link("/", until=until - timedelta(days=DAYS))),
    ]
    if until < newest:
        more.append(("The week after", link("/", until=min(newest, until + timedelta(days=DAYS)))))
    read = f" The last log came at {cell(ingested, '')} UTC." if request.viewer.role >= Role.STAFF else ""
    return request.page(
        "start.html",
        title="The last seven days" if until == newest else f"Seven days until {until}",
        intro=_intro(found, staff) + read,
        parts=_parts(found, staff),
        more=more,
    )
