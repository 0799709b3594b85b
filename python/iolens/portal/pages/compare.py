"""Runs that were picked, beside each other."""

from __future__ import annotations

from starlette.responses import Response

from iolens.error import USAGE, IolensError
from iolens.portal.asking import Asking, NotFound
from iolens.portal.shown import Chart, cell
from iolens.report.document import Bars, Series

__all__ = ["several"]

MOST = 8
MEASURES = (
    ("nprocs", "Processes", "count"),
    ("run_time", "Run time", "seconds"),
    ("io_time", "Time in I/O", "seconds"),
    ("bytes_read", "Read", "bytes"),
    ("bytes_written", "Written", "bytes"),
    ("metadata_time", "Metadata time, all processes", "seconds"),
    ("small_writes", "Writes below 1 MiB", "count"),
    ("time_lost", "Time lost", "seconds"),
    ("findings", "Findings", "count"),
)


def several(asking: Asking) -> Response:
    """/compare?log=&log=: at most eight, all of them of the viewer's."""
    texts = asking.request.query_params.getlist("log")
    if len(texts) > MOST:
        raise IolensError(f"at most {MOST} runs can be beside each other", exit_code=USAGE)
    if not all(text.isdigit() and len(text) < 19 for text in texts):
        raise IolensError("log: expected numbers of logs", exit_code=USAGE)
    if not texts:
        return asking.page("compare.html", jobs=[], rows=[], charts=[])
    listed = ", ".join(str(int(text)) for text in texts)
    sql, _ = asking.edition.view(asking.viewer.scope).statement("jobs")
    found = asking.data.rows(
        f'SELECT * FROM ({sql}) WHERE log IN ({listed}) ORDER BY "start", log',
        {"user": "", "application": "", "cluster": ""},
    )
    if len(found) != len({int(text) for text in texts}):
        raise NotFound("one of these jobs is not known")
    rows = []
    for name, title, unit in MEASURES:
        values = [job[name] for job in found]
        first = values[0]
        rows.append(
            (
                title,
                [
                    (
                        cell(value, unit),
                        f"{value / first:.2f} ×" if number and first and value is not None else "",
                    )
                    for number, value in enumerate(values)
                ],
            )
        )
    names = [f"job {job['job_id']}" for job in found]
    charts = [
        Chart.of(
            Bars(
                f"compare-{name}", title, names, [Series("first", title, [job[name] for job in found])], unit
            )
        )
        for name, title, unit in MEASURES
        if name in ("run_time", "io_time", "bytes_read", "bytes_written") and any(job[name] for job in found)
    ]
    return asking.page("compare.html", jobs=found, rows=rows, charts=charts)
