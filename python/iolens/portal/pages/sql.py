"""A viewer's own SQL, over the viewer's own part of the lake."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from iolens.error import IolensError
from iolens.fleet.named import ResultColumn
from iolens.portal import sandbox
from iolens.portal.asking import Asking
from iolens.portal.pages.lists import csv_response
from iolens.portal.shown import ROWS, Grid, to_csv

__all__ = ["as_csv", "form", "run"]

EXAMPLE = """SELECT application, count(*) AS jobs, sum(run_time * nprocs) / 3600 AS core_hours
FROM job GROUP BY 1 ORDER BY 3 DESC"""


def _page(asking: Asking, statement: str, **context: Any) -> Response:
    known = sorted(sandbox.known_tables(asking.edition.view(asking.viewer.scope)))
    told = {"problem_text": "", "grid": None, "result": None, **context}
    return asking.page(
        "sql.html", statement=statement, tables=known, limits=asking.portal.site.limits, **told
    )


def form(asking: Asking) -> Response:
    """/sql?statement=: shows it, and runs nothing."""
    return _page(asking, asking.request.query_params.get("statement", EXAMPLE))


def _run(asking: Asking, statement: str) -> sandbox.Result:
    asking.tell(statement=statement[:4000])
    with asking.portal.statements(asking.viewer.name):
        limits = asking.portal.site.limits
        return sandbox.run(asking.edition, asking.viewer.scope, statement, limits, sandbox.fetched(limits))


def run(asking: Asking) -> Response:
    statement = asking.form.get("statement", "")
    try:
        result = _run(asking, statement)
    except IolensError as error:
        return _page(asking, statement, problem_text=error.problem)
    names = [f"{name} " * (1 + result.names[:n].count(name)) for n, name in enumerate(result.names)]
    columns = [ResultColumn(name, _unit(kind), kind) for name, kind in zip(names, result.types)]
    rows = [dict(zip(names, row)) for row in result.rows[:ROWS]]
    return _page(
        asking, statement, grid=Grid("answer", "Answer", columns, rows, total=len(result.rows)), result=result
    )


def _unit(kind: str) -> str:
    return "number" if kind.upper() in ("NUMBER", "BIGINT", "INTEGER", "DOUBLE", "UBIGINT", "HUGEINT") else ""


def as_csv(asking: Asking) -> Response:
    result = _run(asking, asking.form.get("statement", ""))
    return csv_response(to_csv(result.names, result.rows), "answer")
