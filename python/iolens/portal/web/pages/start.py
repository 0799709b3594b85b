"""The first page: what is new in the last days that have jobs, and what of it cost most."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from starlette.responses import Response

from iolens.fleet.saved_queries import Answer
from iolens.portal.data.scope import Role
from iolens.portal.web.page_request import PageRequest, link
from iolens.portal.web.pages.lists import chart_of
from iolens.portal.web.widgets import Chart, Grid, cell, grid_of
from iolens.report.units import counted

__all__ = ["front"]

DAYS = 7
ROWS = 10


def _part(answer: Answer, title: str, empty: str) -> Grid:
    return replace(grid_of(answer, note=" "), title=title, note="", empty=empty)


def _new(request: PageRequest, since: str) -> Grid:
    """Findings of these days that no earlier job of the user's application had."""
    before = (datetime.fromisoformat(since) - timedelta(days=1)).date().isoformat()
    known = {
        (row["rule"], row["user"], row["application"])
        for row in request.data.ask("findings", until=before, rows=10**6).dicts()
    }
    answer = request.data.ask("findings", since=since, rows=10**4)
    found = _part(answer, "New findings", "No new finding of severity high or medium.")
    rows = [row for row in answer.dicts() if (row["rule"], row["user"], row["application"]) not in known]
    return replace(found, rows=rows[:ROWS], total=0)


def _slower(request: PageRequest) -> Grid:
    """What it costs decides, not the factor: a run of 1 s that takes 6 s is no news."""
    answer = request.data.ask("drift")
    rows = [row for row in answer.dicts() if row["drift"] == "slower"]
    rows.sort(key=lambda row: row["earlier"] - row["recent"])
    found = _part(answer, "Applications that became slower", "No application became slower.")
    return replace(found, rows=rows[:ROWS], total=0)


def front(request: PageRequest) -> Response:
    """/: for staff the machine, for users their own jobs."""
    ((last, ingested),) = request.data.query('SELECT max("start"), max(ingested) FROM job').fetchall()
    if last is None:
        return request.page("start.html", intro="There are no jobs of yours yet.", parts=[], more=[])
    since = (last - timedelta(days=DAYS - 1)).date().isoformat()
    (total,) = request.data.ask("job_count", since=since).dicts()
    staff = request.viewer.role >= Role.LEAD
    parts: list[Chart | Grid] = []
    if staff:
        users = request.data.ask("top_users", since=since, rows=ROWS)
        parts += chart_of("top_users", users.dicts())
        parts.append(_part(users, "Users who lost most", "No user lost time to findings."))
    jobs = request.data.ask("job_list", by="time_lost", since=since, rows=ROWS, found=1)
    parts.append(
        _part(jobs, "Jobs, worst first", "No job of these days has a finding of severity high or medium.")
    )
    parts += [_new(request, since), _slower(request)]
    cost = f" Findings cost them {cell(total['time_lost'], 'seconds')}." if total["time_lost"] else ""
    of = f" of {counted(total['users'], 'user')}" if staff else ""
    intro = f"{since} to {last:%Y-%m-%d} (UTC): {counted(total['jobs'], 'job')}{of}.{cost}"
    read = f" The last log came at {cell(ingested, '')} UTC." if request.viewer.role >= Role.STAFF else ""
    return request.page(
        "start.html",
        intro=intro + read,
        parts=parts,
        more=[("These jobs", link("/jobs", since=since)), ("All jobs", "/jobs")],
    )
