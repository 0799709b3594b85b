"""A viewer's own SQL, over the viewer's own part of the lake."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from iolens.error import IolensError
from iolens.fleet.saved_queries import ResultColumn
from iolens.portal.data import sandbox
from iolens.portal.web.page_request import PageRequest
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import ROWS, Grid, to_csv

__all__ = ["as_csv", "form", "run"]

EXAMPLE = """SELECT application, count(*) AS jobs, sum(run_time * nprocs) / 3600 AS core_hours
FROM job GROUP BY 1 ORDER BY 3 DESC"""


def _page(request: PageRequest, statement: str, **context: Any) -> Response:
    known = sorted(sandbox.known_tables(request.snapshot.view(request.viewer.scope)))
    told = {"problem_text": "", "grid": None, "result": None, **context}
    return request.page(
        "sql.html", statement=statement, tables=known, limits=request.portal.site.limits, **told
    )


def form(request: PageRequest) -> Response:
    """/sql?statement=: shows it, and runs nothing."""
    return _page(request, request.http.query_params.get("statement", EXAMPLE))


def _run(request: PageRequest, statement: str) -> sandbox.Result:
    request.tell(statement=statement[:4000])
    with request.portal.statements(request.viewer.name):
        limits = request.portal.site.limits
        return sandbox.run(request.snapshot, request.viewer.scope, statement, limits, sandbox.fetched(limits))


def run(request: PageRequest) -> Response:
    statement = request.form.get("statement", "")
    try:
        result = _run(request, statement)
    except IolensError as error:
        return _page(request, statement, problem_text=error.problem)
    names = [f"{name} " * (1 + result.names[:n].count(name)) for n, name in enumerate(result.names)]
    columns = [ResultColumn(name, _unit(kind), kind) for name, kind in zip(names, result.types)]
    rows = [dict(zip(names, row)) for row in result.rows[:ROWS]]
    return _page(
        request,
        statement,
        grid=Grid("answer", "Answer", columns, rows, total=len(result.rows), raw=True),
        result=result,
    )


def _unit(kind: str) -> str:
    return "number" if kind.upper() in ("NUMBER", "BIGINT", "INTEGER", "DOUBLE", "UBIGINT", "HUGEINT") else ""


def as_csv(request: PageRequest) -> Response:
    result = _run(request, request.form.get("statement", ""))
    return csv_response(to_csv(result.names, result.rows), "answer")
