"""The API, version 1: what pages show, as JSON, CSV or Arrow, of the same database that the viewer's pages ask."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from iolens.error import USAGE, IolensError
from iolens.fleet.saved_queries import queries, statement
from iolens.portal.client import CUT
from iolens.portal.data import sandbox
from iolens.portal.web.openapi import document
from iolens.portal.web.page_request import NotFound, PageRequest
from iolens.portal.web.pages import live
from iolens.portal.web.pages.job import job_row
from iolens.portal.web.pages.jobtables import FINDINGS
from iolens.portal.web.pages.lists import known_query
from iolens.portal.web.widgets import to_csv
from iolens.values import columns_as, plain

__all__ = ["findings", "job", "jobs", "listed", "me", "named", "openapi", "running", "sql"]

ARROW = "application/vnd.apache.arrow.stream"
ROWS = 100_000
"""Rows of one answer."""


def _form(request: PageRequest) -> str:
    """json, csv or arrow: the first of these that the request accepts."""
    accepted = request.http.headers.get("accept", "")
    for part in accepted.split(","):
        kind = part.split(";")[0].strip().lower()
        found = {ARROW: "arrow", "text/csv": "csv", "application/json": "json"}.get(kind)
        if found:
            return found
    return "json"


def arrow_bytes(relation: Any, most: int = ROWS) -> tuple[bytes, bool]:
    """A result of DuckDB's as a stream of Arrow's; and whether it had more rows."""
    import nanoarrow
    from arro3.core import Table
    from nanoarrow import ipc

    table = Table.from_arrow(relation.project(columns_as("parquet", zip(relation.columns, relation.types))))
    out = io.BytesIO()
    with ipc.StreamWriter.from_writable(out) as writer:
        writer.write_stream(nanoarrow.c_array_stream(table.slice(0, min(most, table.num_rows))))
    return out.getvalue(), table.num_rows > most


def _headers(cut: bool, rows: int) -> dict[str, str]:
    """Of an answer in any form: CSV and Arrow have no other place for it."""
    return {CUT: str(rows)} if cut else {}


def _rows(names: Sequence[str], rows: Sequence[Sequence[Any]], form: str, **more: Any) -> Response:
    headers = _headers(more.get("cut", False), len(rows))
    if form == "csv":
        return Response(to_csv(names, rows), headers=headers, media_type="text/csv; charset=utf-8")
    return JSONResponse({"rows": plain([dict(zip(names, row)) for row in rows]), **more}, headers=headers)


def _asked(request: PageRequest, name: str) -> Response:
    """A named query with the parameters of the address."""
    given = request.values(name)
    if float(given.get("rows", 0)) > ROWS:
        raise IolensError(f"rows: at most {ROWS:,}; skip brings the next", exit_code=USAGE)
    form = _form(request)
    if form == "arrow":
        return Response(arrow_bytes(request.data.relation(name, **given))[0], media_type=ARROW)
    answer = request.data.ask(name, **given)
    columns = [{"name": c.name, "unit": c.unit, "description": c.doc} for c in answer.query.columns]
    return _rows(answer.names, answer.rows, form, columns=columns, parameters=dict(answer.values))


def openapi(request: PageRequest) -> Response:
    return JSONResponse(document(request.portal.site.origin))


def me(request: PageRequest) -> Response:
    return JSONResponse({"user": request.viewer.name, "role": request.viewer.role.title})


def jobs(request: PageRequest) -> Response:
    return _asked(request, "job_list")


def job(request: PageRequest) -> Response:
    return JSONResponse({"job": plain(job_row(request))})


def findings(request: PageRequest) -> Response:
    log = int(job_row(request)["log"])
    rows = request.data.rows(FINDINGS.format(log=log))
    names = ["rule", "severity", "title", "message", "time_lost"]
    return _rows(
        names, [[row[name] for name in names] for row in rows], "csv" if _form(request) == "csv" else "json"
    )


def running(request: PageRequest) -> Response:
    names, rows = live.running(request)
    return _rows(names, rows, "csv" if _form(request) == "csv" else "json")


def listed(request: PageRequest) -> Response:
    found = []
    for name, query in queries().items():
        try:
            known_query(name)
        except NotFound:
            continue
        found.append(
            {
                "name": name,
                "title": query.title,
                "definition": query.definition,
                "parameters": statement(name)[1],
            }
        )
    return JSONResponse({"queries": found})


def named(request: PageRequest) -> Response:
    return _asked(request, known_query(request.http.path_params["name"]))


def sql(request: PageRequest) -> Response:
    """{"statement": "SELECT ..."}"""
    try:
        body = json.loads(request.form.get("body", ""))
    except (ValueError, RecursionError):
        raise IolensError("the body is no JSON", exit_code=USAGE) from None
    text = body.get("statement") if isinstance(body, dict) else None
    if not isinstance(text, str):
        raise IolensError('expected {"statement": "SELECT ..."}', exit_code=USAGE)
    request.tell(statement=text[:4000])
    form = _form(request)
    with request.portal.statements(request.viewer.name):
        limits, scope = request.portal.site.limits, request.viewer.scope
        if form == "arrow":
            take = partial(arrow_bytes, most=limits.rows)
            content, cut = sandbox.run(request.snapshot, scope, text, limits, take)
            return Response(content, headers=_headers(cut, limits.rows), media_type=ARROW)
        result = sandbox.run(request.snapshot, scope, text, limits, sandbox.fetched(limits))
    columns = [{"name": name, "type": kind} for name, kind in zip(result.names, result.types)]
    return _rows(result.names, result.rows, form, columns=columns, cut=result.cut)
