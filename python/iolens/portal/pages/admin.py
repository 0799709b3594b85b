"""For administrators: what came into the lake and what did not, and who asked for what."""

from __future__ import annotations

from starlette.responses import Response

from iolens.fleet.named import ResultColumn
from iolens.portal.asking import Asking
from iolens.portal.pages.lists import csv_response
from iolens.portal.shown import Grid, to_csv

__all__ = ["audit", "ingest", "ingest_csv"]

_QUARANTINE = (
    "SELECT first_seen, reason, path, log_size, cluster FROM quarantine ORDER BY first_seen DESC, path"
)
_DAYS = """
    SELECT CAST(ingested AS DATE) AS on_day, cluster, count(*) AS logs, sum(log_size)::BIGINT AS bytes,
        count(*) FILTER (problem IS NOT NULL AND problem <> '') AS damaged, max(ingested) AS last
    FROM job GROUP BY ALL ORDER BY on_day DESC, cluster LIMIT 60
"""


def _column(name: str, unit: str = "", doc: str = "") -> ResultColumn:
    return ResultColumn(name, unit, doc)


_DAY_COLUMNS = [
    _column("on_day"),
    _column("cluster"),
    _column("logs", "count"),
    _column("bytes", "bytes"),
    _column("damaged", "count", "of which only a part could be read"),
    _column("last", "", "UTC"),
]
_REASON_COLUMNS = [_column("reason"), _column("logs", "count")]
_WAITING_COLUMNS = [
    _column("first_seen"),
    _column("reason"),
    _column("path", "path"),
    _column("log_size", "bytes"),
    _column("cluster"),
]


def ingest(asking: Asking) -> Response:
    """/ingest"""
    waiting = asking.data.rows(f"{_QUARANTINE} LIMIT 200")
    total = asking.data.rows("SELECT count(*) AS logs FROM quarantine")[0]["logs"]
    reasons = asking.data.rows(
        "SELECT reason, count(*) AS logs FROM quarantine GROUP BY 1 ORDER BY 2 DESC LIMIT 50"
    )
    days = asking.data.rows(_DAYS)
    parts = [
        Grid("days", "What came", _DAY_COLUMNS, days, total=len(days)),
        Grid("reasons", "What cannot be read, by reason", _REASON_COLUMNS, reasons, total=len(reasons)),
        Grid("quarantine", "Quarantine", _WAITING_COLUMNS, waiting, csv="/ingest.csv", total=total),
    ]
    return asking.page("ingest.html", parts=parts, shelf=asking.portal.shelf)


def ingest_csv(asking: Asking) -> Response:
    """/ingest.csv"""
    rows = asking.data.rows(_QUARANTINE)
    names = ["first_seen", "reason", "path", "log_size", "cluster"]
    return csv_response(to_csv(names, [[row[name] for name in names] for row in rows]), "quarantine")


def audit(asking: Asking) -> Response:
    """/audit"""
    rows = asking.portal.audit.last(200)
    columns = [_column(name) for name in ("time", "user", "role", "by", "address", "method", "path", "query")]
    columns += [_column("status", "number"), _column("milliseconds", "number"), _column("statement")]
    return asking.page(
        "parts.html",
        title="Audit",
        intro="The last requests, the newest first."
        if asking.portal.site.audit
        else "No audit is written: `audit` in the settings, or --audit FILE, names its file.",
        parts=[Grid("audit", "Requests", columns, rows, total=len(rows))],
        more=[],
    )
