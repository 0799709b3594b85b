"""Compares runs that the user picked."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from iolens.error import USAGE, IolensError
from iolens.portal.web.page_request import NotFound, PageRequest, is_count, link
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import Chart, cell, job_name, sql_of, to_csv
from iolens.report.document import Bars, Series

__all__ = ["as_csv", "several"]

MOST = 8
MEASURES = (
    ("nprocs", "Processes", "count"),
    ("run_time", "Run time", "seconds"),
    ("io_time", "Time in I/O", "seconds"),
    ("bytes_read", "Read", "bytes"),
    ("bytes_written", "Written", "bytes"),
    ("metadata_time", "Time in metadata, all processes", "seconds"),
    ("small_writes", "Writes below 1 MiB", "count"),
    ("time_lost", "Time lost", "seconds"),
    ("findings", "Findings", "count"),
)


COSTS = ("run_time", "io_time", "metadata_time", "small_writes", "time_lost", "findings")
"""Measures of which more is worse."""

WORSE = 1.2
"""So many times the first run's is marked."""

_COLUMNS = ("log", "job_id", "application", "start", *(name for name, *_ in MEASURES))


def _picked(request: PageRequest) -> list[int]:
    """Numbers of logs, as the address has them."""
    texts = request.http.query_params.getlist("log")
    if len(texts) > MOST:
        raise IolensError(f"the page compares at most {MOST} runs", exit_code=USAGE)
    if not all(map(is_count, texts)):
        raise IolensError("log: expected numbers of logs", exit_code=USAGE)
    return list(dict.fromkeys(map(int, texts)))


def _statement(jobs: str, logs: list[int]) -> str:
    """The runs' rows out of those of the named query jobs."""
    columns = ", ".join(f'"{name}"' if name == "start" else name for name in _COLUMNS)
    return (
        f"SELECT {columns}\nFROM (\n{jobs}\n)\n"
        f'WHERE log IN ({", ".join(map(str, logs))}) ORDER BY "start", log'
    )


def _found(request: PageRequest, logs: list[int]) -> list[dict[str, Any]]:
    """Raises NotFound unless all of them are the viewer's."""
    jobs, values = request.snapshot.view(request.viewer.scope).statement("jobs")
    found = request.data.rows(_statement(jobs, logs), values) if logs else []
    if len(found) != len(logs):
        raise NotFound("one of these jobs is not known")
    return found


def _times(ratio: float) -> str:
    """How many times the first run's, "" for as much."""
    return f"{ratio:.2f} ×" if abs(ratio - 1) >= 0.005 else ""


def _findings(
    request: PageRequest, logs: list[int], found: list[dict[str, Any]]
) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """A row for each finding that costs: what it costs in each run, new ones marked."""
    listed = ", ".join(map(str, logs))
    costs = {
        (row["title"], row["log"]): cell(row["time_lost"], "seconds")
        if row["time_lost"] is not None
        else "yes"
        for row in request.data.rows(
            f"SELECT title, log, time_lost FROM finding WHERE log IN ({listed}) AND severity IN ('high', 'medium')"
        )
    }
    first = found[0]["log"]
    return [
        (
            title,
            [
                (
                    costs.get((title, job["log"]), "–"),
                    "",
                    (title, job["log"]) in costs and (title, first) not in costs,
                )
                for job in found
            ],
        )
        for title in sorted({title for title, _ in costs})
    ]


def as_csv(request: PageRequest) -> Response:
    """/compare.csv?log=&log=: a line for each run."""
    found = _found(request, _picked(request))
    return csv_response(to_csv(_COLUMNS, [list(row.values()) for row in found]), "compare")


def several(request: PageRequest) -> Response:
    """/compare?log=&log=: at most eight, all of them of the viewer's."""
    logs = _picked(request)
    if not logs:
        return request.page("compare.html", jobs=[], rows=[], charts=[], csv="", sql="")
    found = _found(request, logs)
    request.mark_processes(found)
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
                        _times(value / first) if number and first and value is not None else "",
                        bool(number and name in COSTS and value and value > WORSE * (first or 0)),
                    )
                    for number, value in enumerate(values)
                ],
            )
        )
    rows += _findings(request, logs, found)
    names = [f"{job_name(job)}, {cell(job['start'], '')}" for job in found]
    charts = [
        Chart.of(
            Bars(
                f"compare-{name}", title, names, [Series("first", title, [job[name] for job in found])], unit
            )
        )
        for name, title, unit in MEASURES
        if name in ("run_time", "io_time", "bytes_read", "bytes_written") and any(job[name] for job in found)
    ]
    return request.page(
        "compare.html",
        jobs=found,
        rows=rows,
        charts=charts,
        csv="/compare.csv?" + "&".join(f"log={log}" for log in logs),
        sql=link("/sql", statement=_statement(sql_of("jobs", {}), logs)),
    )
