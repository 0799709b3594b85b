"""The API, version 1: what pages show, as JSON, CSV or Arrow, of the same database that the viewer's pages ask."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from iolens.error import USAGE, IolensError
from iolens.fleet.named import queries, statement
from iolens.portal import sandbox
from iolens.portal.asking import Asking, NotFound
from iolens.portal.openapi import document
from iolens.portal.pages import live
from iolens.portal.pages.job import job_row
from iolens.portal.pages.jobtables import FINDINGS
from iolens.portal.pages.lists import known_query
from iolens.portal.shown import plain_value, to_csv

__all__ = ["findings", "job", "jobs", "listed", "me", "named", "openapi", "running", "sql"]

ARROW = "application/vnd.apache.arrow.stream"
ROWS = 100_000
"""Rows of one answer."""


def _form(asking: Asking) -> str:
    """json, csv or arrow: the first of these that the request accepts."""
    accepted = asking.request.headers.get("accept", "")
    for part in accepted.split(","):
        kind = part.split(";")[0].strip().lower()
        found = {ARROW: "arrow", "text/csv": "csv", "application/json": "json"}.get(kind)
        if found:
            return found
    return "json"


def arrow_bytes(relation: Any) -> bytes:
    """A result of DuckDB's as a stream of Arrow's."""
    import nanoarrow
    from nanoarrow import ipc

    out = io.BytesIO()
    with ipc.StreamWriter.from_writable(out) as writer:
        writer.write_stream(nanoarrow.c_array_stream(relation))
    return out.getvalue()


def _rows(names: Sequence[str], rows: Sequence[Sequence[Any]], form: str, **more: Any) -> Response:
    if form == "csv":
        return Response(to_csv(names, rows), media_type="text/csv; charset=utf-8")
    plain = [{name: plain_value(value) for name, value in zip(names, row)} for row in rows]
    return JSONResponse({"rows": plain, **more})


def _asked(asking: Asking, name: str) -> Response:
    """A named query with the parameters of the address."""
    given = asking.values(name)
    if float(given.get("rows", 0)) > ROWS:
        raise IolensError(f"rows: at most {ROWS:,}; skip brings the next", exit_code=USAGE)
    form = _form(asking)
    if form == "arrow":
        return Response(arrow_bytes(asking.data.relation(name, **given)), media_type=ARROW)
    answer = asking.data.ask(name, **given)
    columns = [{"name": c.name, "unit": c.unit, "description": c.doc} for c in answer.query.columns]
    return _rows(answer.names, answer.rows, form, columns=columns, parameters=dict(answer.values))


def openapi(asking: Asking) -> Response:
    return JSONResponse(document(asking.portal.site.origin))


def me(asking: Asking) -> Response:
    return JSONResponse({"user": asking.viewer.name, "role": asking.viewer.role.title})


def jobs(asking: Asking) -> Response:
    return _asked(asking, "job_list")


def job(asking: Asking) -> Response:
    row = {name: plain_value(value) for name, value in job_row(asking).items()}
    return JSONResponse({"job": row})


def findings(asking: Asking) -> Response:
    log = int(job_row(asking)["log"])
    rows = asking.data.rows(FINDINGS.format(log=log))
    names = ["rule", "severity", "title", "message", "time_lost"]
    return _rows(
        names, [[row[name] for name in names] for row in rows], "csv" if _form(asking) == "csv" else "json"
    )


def running(asking: Asking) -> Response:
    names, rows = live.running(asking)
    return _rows(names, rows, "csv" if _form(asking) == "csv" else "json")


def listed(asking: Asking) -> Response:
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


def named(asking: Asking) -> Response:
    return _asked(asking, known_query(asking.request.path_params["name"]))


def sql(asking: Asking) -> Response:
    """{"statement": "SELECT ..."}"""
    try:
        body = json.loads(asking.form.get("body", ""))
    except (ValueError, RecursionError):
        raise IolensError("the body is no JSON", exit_code=USAGE) from None
    text = body.get("statement") if isinstance(body, dict) else None
    if not isinstance(text, str):
        raise IolensError('expected {"statement": "SELECT ..."}', exit_code=USAGE)
    asking.tell(statement=text[:4000])
    form = _form(asking)
    with asking.portal.statements(asking.viewer.name):
        limits, scope = asking.portal.site.limits, asking.viewer.scope
        if form == "arrow":
            return Response(sandbox.run(asking.edition, scope, text, limits, arrow_bytes), media_type=ARROW)
        result = sandbox.run(asking.edition, scope, text, limits, sandbox.fetched(limits))
    columns = [{"name": name, "type": kind} for name, kind in zip(result.names, result.types)]
    return _rows(result.names, result.rows, form, columns=columns, cut=result.cut)
