"""Jobs, findings and metrics of a lake as tables of PostgreSQL: for dashboards, and for joins with a site's own tables.

Days are replaced as a whole, in one transaction: who reads sees the state before or after, and to export again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from iolens.error import IolensError
from iolens.extras import lacks
from iolens.fleet.saved_queries import statement
from iolens.metrics import Dataset

if TYPE_CHECKING:
    import psycopg

__all__ = ["SCHEMA", "TABLES", "to_postgres"]

SCHEMA = "iolens"

# Table -> columns with their types, and the query that fills it; ``day`` stands in front of all of them.
TABLES: dict[str, tuple[str, str]] = {
    "job": (
        'log bigint PRIMARY KEY, job_id bigint, "user" text, application text, cluster text, nprocs bigint,'
        ' "start" timestamptz, "end" timestamptz, run_time double precision, exe text, path text, format text,'
        " io_time double precision, bytes_read bigint, bytes_written bigint, metadata_time double precision,"
        " small_writes bigint, time_lost double precision, findings bigint",
        'log, job_id, "user", application, cluster, nprocs, "start", "end", run_time, exe, path, format, io_time,'
        " bytes_read, bytes_written, metadata_time, small_writes, time_lost, findings FROM fleet.jobs",
    ),
    "finding": (
        "log bigint, rule text, title text, topic text, severity text, time_lost double precision,"
        " share double precision, gain_low double precision, gain_high double precision, confidence text, message text",
        "log, rule, title, topic, severity, time_lost, share, gain_low, gain_high, confidence, message FROM finding",
    ),
    "metric": (
        "log bigint, name text, value double precision",
        'log, name, "value" FROM metric WHERE "value" IS NOT NULL',
    ),
}
_INDEXES = (
    ("job", "day"),
    ("job", '"user"'),
    ("job", "application"),
    ("job", "job_id"),
    ("finding", "day"),
    ("finding", "log"),
    ("metric", "day"),
    ("metric", "name, log"),
)
_ROWS = 10_000

# Columns as earlier versions made them.
_WITHOUT_ZONE = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = %s AND table_name = 'job' AND data_type = 'timestamp without time zone'
"""


def _plain(value: Any) -> Any:
    """Text without what PostgreSQL has no character for, times with their zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return value


def _rows(data: Dataset, columns: str) -> Iterator[tuple[Any, ...]]:
    sql = f"SELECT day, {columns}"
    values: dict[str, float | str] = {}
    if "fleet.jobs" in sql:
        used, values = statement("jobs")
        sql = sql.replace("fleet.jobs", f"({used})")
    result = data.query(sql, values)
    while rows := result.fetchmany(_ROWS):
        yield from (tuple(map(_plain, row)) for row in rows)


def _prepare(server: psycopg.Connection[Any]) -> None:
    server.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    for table, (columns, _) in TABLES.items():
        server.execute(f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{table} (day date, {columns})")
    for (column,) in server.execute(_WITHOUT_ZONE, [SCHEMA]).fetchall():
        change = f'ALTER COLUMN "{column}" TYPE timestamptz USING "{column}" AT TIME ZONE \'UTC\''
        server.execute(f"ALTER TABLE {SCHEMA}.job {change}")
    for table, columns in _INDEXES:
        name = f"{table}_{columns}".replace('"', "").replace(", ", "_")
        server.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {SCHEMA}.{table} ({columns})")


def to_postgres(
    data: Dataset, server: str, since: date | None = None, until: date | None = None
) -> dict[str, int]:
    """Replaces the days from since to until (all without them); rows by table.

    server: as libpq has it, ``postgresql://user@host/database`` or ``host=... dbname=...``. Raises IolensError if the
    server cannot be reached, or refuses.
    """
    try:
        import psycopg
    except ImportError as error:
        raise lacks("PostgreSQL", "psycopg", "postgres") from error

    written = {}
    try:
        with psycopg.connect(server) as connection, connection.cursor() as cursor:
            _prepare(connection)
            for table, (_, query) in TABLES.items():
                cursor.execute(
                    f"DELETE FROM {SCHEMA}.{table} WHERE (%(since)s::date IS NULL OR day >= %(since)s)"
                    " AND (%(until)s::date IS NULL OR day <= %(until)s)",
                    {"since": since, "until": until},
                )
                names = query.partition(" FROM ")[0]
                written[table] = 0
                with cursor.copy(f"COPY {SCHEMA}.{table} (day, {names}) FROM STDIN") as copy:
                    for row in _rows(data, query):
                        copy.write_row(row)
                        written[table] += 1
    except psycopg.Error as error:
        raise IolensError(f"PostgreSQL: {' '.join(str(error).split())}") from error
    return written
