"""For administrators: what came into the lake and what did not, and the users' requests."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import NamedTuple

from starlette.responses import Response

from iolens.error import USAGE, IolensError
from iolens.fleet.saved_queries import ResultColumn
from iolens.portal.web.page_request import PageRequest, link
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import ROWS, Grid, to_csv

__all__ = ["audit", "audit_csv", "ingest", "ingest_csv"]


def _column(name: str, unit: str = "", doc: str = "") -> ResultColumn:
    return ResultColumn(name, unit, doc)


class _Table(NamedTuple):
    """A table of the page Ingest. most: rows that the page shows; its CSV has all."""

    title: str
    columns: Sequence[ResultColumn]
    most: int
    sql: str


_TABLES = {
    "days": _Table(
        "What came",
        [
            _column("on_day"),
            _column("cluster"),
            _column("logs", "count"),
            _column("bytes", "bytes"),
            _column("damaged", "count", "of which only a part could be read"),
            _column("last", "", "UTC"),
        ],
        60,
        """
        SELECT CAST(ingested AS DATE) AS on_day, cluster, count(*) AS logs, sum(log_size)::BIGINT AS bytes,
            count(*) FILTER (problem IS NOT NULL AND problem <> '') AS damaged, max(ingested) AS last
        FROM job GROUP BY ALL ORDER BY on_day DESC, cluster
        """,
    ),
    "reasons": _Table(
        "What cannot be read, by reason",
        [_column("reason"), _column("logs", "count")],
        50,
        "SELECT reason, count(*) AS logs FROM quarantine GROUP BY reason ORDER BY logs DESC, reason",
    ),
    "quarantine": _Table(
        "Quarantine",
        [
            _column("first_seen"),
            _column("reason"),
            _column("path", "path"),
            _column("log_size", "bytes"),
            _column("cluster"),
        ],
        ROWS,
        """
        SELECT first_seen, reason, path, log_size, cluster FROM quarantine
        ORDER BY first_seen DESC, path
        """,
    ),
}


def _grid(request: PageRequest, name: str) -> Grid:
    table = _TABLES[name]
    sql = cleandoc(table.sql)
    rows = request.data.rows(f"SELECT *, count(*) OVER () AS total FROM ({sql}) LIMIT {table.most}")
    return Grid(
        name,
        table.title,
        table.columns,
        rows,
        csv=link("/ingest.csv", table=name),
        sql=link("/sql", statement=sql),
        total=rows[0]["total"] if rows else 0,
    )


def ingest(request: PageRequest) -> Response:
    """/ingest"""
    parts = [_grid(request, name) for name in _TABLES]
    return request.page("ingest.html", parts=parts, snapshots=request.portal.snapshots)


def ingest_csv(request: PageRequest) -> Response:
    """/ingest.csv?table=NAME"""
    name = request.text("table", "quarantine")
    if name not in _TABLES:
        raise IolensError(f'table: "{name[:20]}" is none of {", ".join(_TABLES)}', exit_code=USAGE)
    names = [column.name for column in _TABLES[name].columns]
    rows = request.data.rows(_TABLES[name].sql)
    return csv_response(to_csv(names, [[row[name] for name in names] for row in rows]), name)


_AUDIT = [
    *(_column(name) for name in ("time", "user", "role", "by", "address", "method", "path", "query")),
    *(_column("status", "number"), _column("milliseconds", "number"), _column("statement"), _column("error")),
]
_AUDIT_CSV = 100_000
"""Requests of the CSV."""


def _short(time: str) -> str:
    """To the second, in a line: 2026-11-28T00:17:26.558+00:00 takes three."""
    return f"{time[:19].replace('T', ' ')} UTC"


def audit(request: PageRequest) -> Response:
    """/audit"""
    rows = [{**row, "time": _short(row["time"])} for row in request.portal.audit.last(ROWS)]
    note = "Lines of the audit's file: it is not in the lake, so there is no SQL. The CSV goes further back."
    return request.page(
        "parts.html",
        title="Audit",
        intro="The last requests, the newest first."
        if request.portal.site.audit
        else "No audit is written: `audit` in the settings, or --audit FILE, names its file.",
        parts=[Grid("audit", "Requests", _AUDIT, rows, note, csv="/audit.csv", total=len(rows))],
        more=[],
    )


def audit_csv(request: PageRequest) -> Response:
    """/audit.csv"""
    names = [column.name for column in _AUDIT]
    rows = request.portal.audit.last(_AUDIT_CSV, 64 * 1024 * 1024)
    return csv_response(to_csv(names, [[row.get(name) for name in names] for row in rows]), "audit")
