"""One job: what figure 9 of the Hopper paper has, then findings and details, then the whole report."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from iolens.error import USAGE, IolensError
from iolens.fleet.saved_queries import ResultColumn
from iolens.portal.data.report_worker import full_report, log_of, policy_of
from iolens.portal.data.view import MEASURED, View
from iolens.portal.web.page_request import NotFound, PageRequest, link
from iolens.portal.web.pages.jobanswer import job_answer
from iolens.portal.web.pages.jobtables import FINDINGS, detail_sections, job_csv, sizes_sql, summary_sql
from iolens.portal.web.widgets import Chart, Grid, cell, href
from iolens.report.document import Bars, Series
from iolens.report.html import sections_html

__all__ = ["by_number", "details", "job_row", "one", "report", "tables_csv"]


def job_row(request: PageRequest) -> dict[str, Any]:
    """The job, if it is one that the viewer may see."""
    log = int(request.http.path_params["log"])
    rows = request.data.rows(f"SELECT * FROM measured_made WHERE log = {min(log, 2**62)}")
    if not rows:
        raise NotFound(f"there is no job with the log {log}")
    return rows[0]


_BY_ID = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,9})|\[([0-9]{1,9})\])?")
"""A job, or a task of an array as Slurm (4711_3) and Open XDMoD (4711[3]) write it."""


def by_number(request: PageRequest) -> Response:
    """/job?id=4711&cluster=name: for other portals, which know the scheduler's number."""
    text, cluster = request.text("id"), request.text("cluster")
    if not text:
        raise NotFound("which job? /job?id=NUMBER")
    found = _BY_ID.fullmatch(text)
    if not found:
        raise IolensError(
            f'id: "{text[:40]}" is no job\'s number: 4711, or 4711_3 of an array', exit_code=USAGE
        )
    task = found[2] or found[3]
    which = (
        "job_id = $id"
        if task is None
        else (
            "job_id IN (SELECT job_id FROM accounting WHERE array_job = $id AND array_task = $task "
            "AND ($cluster = '' OR cluster = $cluster))"
        )
    )
    answer = request.data.rows(
        f"SELECT log, job_id FROM job WHERE {which} AND ($cluster = '' OR cluster = $cluster) ORDER BY \"start\", log",
        {"id": int(found[1]), "cluster": cluster, **({} if task is None else {"task": int(task)})},
    )
    if not answer:
        raise NotFound(
            f"there is no job {text} that you may see: its log has not been read yet (the lake was read at "
            f"{cell(request.snapshot.made, '')} UTC), it has another number or cluster, or it is another user's"
        )
    if len(answer) > 1:
        return RedirectResponse(link("/jobs", text=answer[0]["job_id"], cluster=cluster), 303)
    return RedirectResponse(f"/job/{answer[0]['log']}", 303)


_FACTS = (
    ("bytes_read", "Data read", "bytes"),
    ("bytes_written", "Data written", "bytes"),
    ("rate", "I/O rate (estimated)", "rate"),
    ("io_share", "Part of the run time in I/O", "percent"),
    ("run_time", "Run time", "seconds"),
    ("io_time", "Time in I/O", "seconds"),
    ("metadata_time", "Time in metadata of files, all processes", "seconds"),
    ("nprocs", "Processes", "count"),
    ("start", "Started (UTC)", ""),
    ("cluster", "Cluster", ""),
)
"""The table of figure 9."""


def _links(log: int, table: str, statement: str) -> dict[str, str]:
    """Addresses of a table's CSV and SQL."""
    return {
        "csv": link(f"/job/{log}/tables.csv", table=table),
        "sql": link("/sql", statement=statement),
    }


def _facts(request: PageRequest, log: int) -> list[tuple[str, Any, str]]:
    (row,) = request.data.rows(summary_sql(log, MEASURED))
    return [(title, None if row[name] == "" else row[name], unit) for name, title, unit in _FACTS]


def _sizes(view: View, log: int) -> tuple[list[Chart], list[Grid]]:
    """How many reads and writes of which size."""
    statement = sizes_sql(log)
    with view.session() as data:
        rows = data.rows(statement)
    if not any(row["reads"] or row["writes"] for row in rows):
        return [], []
    series = [
        Series(kind, title, [float(row[f"{kind}s"] or 0) for row in rows])
        for kind, title in (("read", "Reads"), ("write", "Writes"))
    ]
    names = [row["size"] for row in rows]
    chart = Chart.of(Bars("sizes", "Sizes of reads and writes", names, series, "count", axis="calls"))
    columns = [
        ResultColumn("size", "", "of a call"),
        ResultColumn("reads", "count", "calls"),
        ResultColumn("writes", "count", "calls"),
    ]
    links = _links(log, "size-table", statement)
    table = Grid("size-table", "Sizes of reads and writes", columns, rows, total=len(rows))
    return [chart], [dataclasses.replace(table, csv=links["csv"], sql=links["sql"])]


def one(request: PageRequest) -> Response:
    """/job/LOG"""
    job = job_row(request)
    log = job["log"]
    with request.snapshot.of_log(request.viewer.scope, log) as view:
        charts, tables = _sizes(view, log)
        answer = request.portal.kept(request.snapshot, log, "answer", lambda: job_answer(view, log))
    return request.page(
        "job.html",
        job=job,
        facts=_facts(request, log),
        summary=_links(log, "summary", summary_sql(log)),
        charts=charts,
        tables=tables,
        answer=answer,
        application=href("application", job),
        findings=_links(log, "findings", FINDINGS.format(log=log).strip()),
    )


def details(request: PageRequest) -> Response:
    """/job/LOG/details: a part of the page, brought after it."""
    job = job_row(request)
    html = request.portal.kept(request.snapshot, job["log"], "details", lambda: _details(request, job["log"]))
    if request.http.headers.get("hx-request") == "true":
        return HTMLResponse(html)
    return request.page("details.html", job=job, html=Markup(html))


def _details(request: PageRequest, log: int) -> str:
    with request.snapshot.of_log(request.viewer.scope, log) as view:
        return sections_html(detail_sections(view, log))


def tables_csv(request: PageRequest) -> Response:
    """/job/LOG/tables.csv?table=NAME"""
    return job_csv(request, int(job_row(request)["log"]))


def report(request: PageRequest) -> Response:
    """/job/LOG/report: the report of the log itself, in a page that can reach nothing of this one."""
    job = job_row(request)
    with request.snapshot.of_log(request.viewer.scope, job["log"]) as view:
        found = log_of(view)
    html = full_report(request.snapshot.lake, found, view.active)
    return HTMLResponse(html, headers={"content-security-policy": policy_of(html)})
