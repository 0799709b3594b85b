"""One job: what figure 9 of the Hopper paper has, then findings and details, then the whole report."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from iolens.fleet.named import ResultColumn
from iolens.portal.asking import Asking, NotFound, link
from iolens.portal.bounded import View
from iolens.portal.full import full_report, policy_of
from iolens.portal.shown import Chart, Grid, href
from iolens.report.document import Bars, Section, Series
from iolens.report.html import sections_html
from iolens.report.sections.files import files
from iolens.report.sections.glance import glance
from iolens.report.sections.storage import storage
from iolens.report.sections.time import time
from iolens.report.source import Source
from iolens.rules import load

__all__ = ["FINDINGS", "by_number", "details", "job_row", "one", "report"]

SIZES = (
    "0–100 B",
    "100 B–1 KB",
    "1–10 KB",
    "10–100 KB",
    "100 KB–1 MB",
    "1–4 MB",
    "4–10 MB",
    "10–100 MB",
    "100 MB–1 GB",
    "1 GB and more",
)

FINDINGS = """
    SELECT rule, severity, title, message, time_lost FROM finding WHERE log = {log}
    ORDER BY list_position(['high', 'medium', 'low', 'info', 'good'], severity), time_lost DESC NULLS LAST, rule
"""
_SIZES = (
    "SELECT "
    + ", ".join(
        f"sum(size_{kind}[{n + 1}])::BIGINT AS {kind}_{n}" for kind in ("read", "write") for n in range(10)
    )
    + " FROM own_record"
)


def job_row(asking: Asking) -> dict[str, Any]:
    """The job, if it is one that the viewer may see."""
    log = int(asking.request.path_params["log"])
    rows = asking.data.rows(f"SELECT * FROM measured_made WHERE log = {min(log, 2**62)}")
    if not rows:
        raise NotFound(f"there is no job with the log {log}")
    return rows[0]


def by_number(asking: Asking) -> Response:
    """/job?id=4711&cluster=name: for other portals, which know the scheduler's number."""
    number = asking.number("id", -1)
    answer = asking.data.rows(
        "SELECT log FROM job WHERE job_id = $id AND ($cluster = '' OR cluster = $cluster) ORDER BY \"start\", log",
        {"id": number, "cluster": asking.text("cluster")},
    )
    if not answer:
        raise NotFound(f"there is no job {number}" if number >= 0 else "which job? /job?id=NUMBER")
    if len(answer) > 1:
        return RedirectResponse(link("/jobs", text=number, cluster=asking.text("cluster")), 303)
    return RedirectResponse(f"/job/{answer[0]['log']}", 303)


def _facts(job: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """The table of figure 9."""
    moved = (job["bytes_read"] or 0) + (job["bytes_written"] or 0)
    io_time, run_time = job["io_time"], job["run_time"]
    return [
        ("Data read", job["bytes_read"], "bytes"),
        ("Data written", job["bytes_written"], "bytes"),
        ("Estimated I/O rate", moved / io_time if io_time else None, "rate"),
        (
            "Estimated time in I/O",
            min(1.0, io_time / run_time) if io_time is not None and run_time else None,
            "percent",
        ),
        ("Run time", run_time, "seconds"),
        ("Time in I/O", io_time, "seconds"),
        ("Metadata time, all processes", job["metadata_time"], "seconds"),
        ("Processes", job["nprocs"], "count"),
        ("Started (UTC)", job["start"], ""),
        ("Cluster", job["cluster"] or None, ""),
    ]


def _sizes(view: View) -> tuple[list[Chart], list[Grid]]:
    """How many reads and writes of which size."""
    with view.session() as data:
        row = data.rows(_SIZES)[0]
    counts = {kind: [row[f"{kind}_{n}"] or 0 for n in range(10)] for kind in ("read", "write")}
    if not any(counts["read"]) and not any(counts["write"]):
        return [], []
    series = [
        Series(kind, title, [float(n) for n in counts[kind]])
        for kind, title in (("read", "Reads"), ("write", "Writes"))
    ]
    chart = Chart.of(Bars("sizes", "Sizes of reads and writes", list(SIZES), series, "count"))
    columns = [
        ResultColumn("size", "", "of a call"),
        ResultColumn("reads", "count", "calls"),
        ResultColumn("writes", "count", "calls"),
    ]
    rows = [
        {"size": name, "reads": counts["read"][n], "writes": counts["write"][n]}
        for n, name in enumerate(SIZES)
    ]
    return [chart], [Grid("size-table", "Sizes of reads and writes", columns, rows, total=10)]


def one(asking: Asking) -> Response:
    """/job/LOG"""
    job = job_row(asking)
    log = job["log"]
    view = asking.edition.of_log(asking.viewer.scope, log)
    try:
        charts, tables = _sizes(view)
    finally:
        view.close()
    rules = load().rules
    found = asking.data.rows(FINDINGS.format(log=log))
    for row in found:
        rule = rules.get(row["rule"])
        row["advice"] = [one.text for one in rule.advice if not one.when] if rule else []
    return asking.page(
        "job.html",
        job=job,
        facts=_facts(job),
        charts=charts,
        tables=tables,
        found=[row for row in found if row["severity"] not in ("good", "info")],
        quiet=[row for row in found if row["severity"] in ("good", "info")],
        application=href("application", job),
        csv=link("/csv/job_findings", id=job["job_id"]),
    )


def details(asking: Asking) -> Response:
    """/job/LOG/details: a part of the page, brought after it."""
    job = job_row(asking)
    html = asking.portal.kept_details(asking.edition, job["log"], lambda: _details(asking, job["log"]))
    if asking.request.headers.get("hx-request") == "true":
        return HTMLResponse(html)
    return asking.page("details.html", job=job, html=Markup(html))


def _details(asking: Asking, log: int) -> str:
    view = asking.edition.of_log(asking.viewer.scope, log)
    try:
        source = Source(view.data, log)
        sections: list[Section] = [make(source) for make in (glance, time, files, storage)]
        return sections_html([section for section in sections if section.blocks])
    finally:
        view.close()


def report(asking: Asking) -> Response:
    """/job/LOG/report: the report of the log itself, in a page that can reach nothing of this one."""
    job = job_row(asking)
    view = asking.edition.of_log(asking.viewer.scope, job["log"])
    try:
        html = full_report(asking.edition.lake, view)
    finally:
        view.close()
    return HTMLResponse(html, headers={"content-security-policy": policy_of(html)})
