"""Jobs, findings and metrics of lakes as tables of PostgreSQL: for dashboards, and for joins with a site's own tables.

A row belongs to a lake. An export replaces days of its lake as a whole, in one transaction: readers see the state
before or after, and to export again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from iolens.error import IolensError
from iolens.extras import lacks
from iolens.fleet.saved_queries import statement
from iolens.metrics import Dataset
from iolens.metrics.literal import quoted

if TYPE_CHECKING:
    import psycopg

__all__ = ["SCHEMA", "TABLES", "to_postgres"]

SCHEMA = "iolens"


class Column(NamedTuple):
    """``comment`` has the unit at its end, in brackets."""

    name: str
    type: str
    comment: str


class Exported(NamedTuple):
    """A table: what its rows are, its columns, those of its primary key, and what is asked of the lake for them."""

    comment: str
    columns: tuple[Column, ...]
    key: str
    source: str

    @property
    def names(self) -> str:
        """Without those that stand in front of each table."""
        return ", ".join(f'"{column.name}"' for column in self.columns[len(_FIRST) :])


def _columns(text: str) -> tuple[Column, ...]:
    """A line each: name, type, comment."""
    return tuple(Column(*line.split(None, 2)) for line in text.strip().splitlines())


_FIRST = _columns("""
    lake text whose row this is: the id of the lake's table of jobs
    day date on which the job started
""")

TABLES = {
    "job": Exported(
        "A log of a job, as the named query jobs has it.",
        _FIRST
        + _columns("""
            log bigint its number in the lake
            job_id bigint the scheduler's number
            user text who ran it
            application text the program
            cluster text where it ran
            nprocs bigint processes
            start timestamptz its start
            end timestamptz its end; null = not known
            run_time float8 wall-clock (seconds)
            exe text command line
            path text of the log
            format text version of the log's format
            io_time float8 wall-clock in I/O (seconds)
            bytes_read bigint by the program (bytes)
            bytes_written bigint by the program (bytes)
            metadata_time float8 in metadata calls, over all processes (seconds)
            small_writes bigint writes of less than 1 MiB
            time_lost float8 of the costliest finding of severity high or medium (seconds)
            findings bigint of severity high or medium
        """),
        "lake, log",
        "fleet.jobs",
    ),
    "finding": Exported(
        "A finding of a rule in a log.",
        _FIRST
        + _columns("""
            log bigint number of the log in the lake
            number bigint from 1 on, of the findings in this log
            rule text its name
            title text what the rule finds
            topic text of the rule
            severity text high, medium, low, info or good
            time_lost float8 wall-clock that the cause accounts for (seconds)
            share float8 time_lost as a part of the run time, 0 to 1
            gain_low float8 wall-clock that the advice saves, at least (seconds)
            gain_high float8 wall-clock that the advice saves, at most (seconds)
            confidence text high, medium or low
            message text what was found, with its numbers
        """),
        "lake, log, number",
        "(SELECT *, row_number() OVER (PARTITION BY log ORDER BY rule, message)::BIGINT AS number FROM finding)",
    ),
    "metric": Exported(
        "A metric of a log that is one number.",
        _FIRST
        + _columns("""
            log bigint number of the log in the lake
            name text of the metric: iolens explain NAME has definition and unit
            value float8 in the metric's unit
        """),
        "lake, log, name",
        '(SELECT * FROM metric WHERE "value" IS NOT NULL)',
    ),
}
# What dashboards filter and group by, and the days that an export replaces; each table has an index of its primary key.
_INDEXES = (
    ("job", "lake, day"),
    ("job", '"start"'),
    ("job", 'cluster, "start"'),
    ("job", '"user"'),
    ("job", "application"),
    ("job", "job_id"),
    ("finding", "lake, day"),
    ("metric", "lake, day"),
    ("metric", "name, lake, log"),
)
_ROWS = 10_000

# Columns as earlier versions made them.
_WITHOUT_ZONE = """
    SELECT column_name FROM information_schema.columns
    WHERE table_schema = %s AND table_name = 'job' AND data_type = 'timestamp without time zone'
"""
_HAS_LAKE = """
    SELECT count(*) > 0 FROM information_schema.columns
    WHERE table_schema = %s AND table_name = %s AND column_name = 'lake'
"""
_SINGLE_INDEXES = ("job_day", "finding_day", "finding_log", "metric_day", "metric_name_log")


def _plain(value: Any) -> Any:
    """Text without what PostgreSQL has no character for, times with their zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return value


def _rows(data: Dataset, columns: str, source: str) -> Iterator[tuple[Any, ...]]:
    values: dict[str, float | str] = {}
    if source == "fleet.jobs":
        used, values = statement("jobs")
        source = f"({used})"
    result = data.query(f"SELECT {columns} FROM {source}", values)
    while rows := result.fetchmany(_ROWS):
        yield from (tuple(map(_plain, row)) for row in rows)


def _prepare(server: psycopg.Connection[Any]) -> None:
    server.execute(
        "SELECT pg_advisory_xact_lock(hashtext('iolens'))"
    )  # exports of two lakes, one after the other
    server.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    for name, table in TABLES.items():
        columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        server.execute(f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{name} ({columns}, PRIMARY KEY ({table.key}))")
        if server.execute(_HAS_LAKE, [SCHEMA, name]).fetchone() == (False,):
            _add_lake(server, name)
        server.execute(f"COMMENT ON TABLE {SCHEMA}.{name} IS {quoted(table.comment)}")
        for column in table.columns:
            server.execute(f'COMMENT ON COLUMN {SCHEMA}.{name}."{column.name}" IS {quoted(column.comment)}')
    for (time,) in server.execute(_WITHOUT_ZONE, [SCHEMA]).fetchall():
        change = f'ALTER COLUMN "{time}" TYPE timestamptz USING "{time}" AT TIME ZONE \'UTC\''
        server.execute(f"ALTER TABLE {SCHEMA}.job {change}")
    for name, listed in _INDEXES:
        index = f"{name}_{listed}".replace('"', "").replace(", ", "_")
        server.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {SCHEMA}.{name} ({listed})")


def _add_lake(server: psycopg.Connection[Any], table: str) -> None:
    """To a table of an earlier version, whose rows were of one lake; which one, ``_take_over`` finds out."""
    place = f"{SCHEMA}.{table}"
    server.execute(f"ALTER TABLE {place} ADD COLUMN lake text NOT NULL DEFAULT ''")
    server.execute(f"ALTER TABLE {place} ALTER COLUMN lake DROP DEFAULT")
    if table == "finding":
        server.execute(f"ALTER TABLE {place} ADD COLUMN number bigint")
        server.execute(
            f"UPDATE {place} AS f SET number = n FROM (SELECT ctid AS at, row_number() OVER (PARTITION BY log) AS n"
            f" FROM {place}) AS numbered WHERE f.ctid = at"
        )
    for index in _SINGLE_INDEXES:
        server.execute(f"DROP INDEX IF EXISTS {SCHEMA}.{index}")
    server.execute(f"ALTER TABLE {place} DROP CONSTRAINT IF EXISTS {table}_pkey")
    server.execute(f"ALTER TABLE {place} ADD PRIMARY KEY ({TABLES[table].key})")


def _take_over(server: psycopg.Connection[Any], data: Dataset, lake: str) -> None:
    """Rows of an earlier version, which say no lake, are this one's if it has one of their logs."""
    if not server.execute(f"SELECT 1 FROM {SCHEMA}.job WHERE lake = '' LIMIT 1").fetchone():
        return
    known = f"""
        SELECT 1 FROM {SCHEMA}.job WHERE lake = ''
            AND (log, path) IN (SELECT * FROM unnest(%s::bigint[], %s::text[])) LIMIT 1
    """
    result = data.query("SELECT log, path FROM job ORDER BY log")
    while rows := result.fetchmany(_ROWS):
        logs, paths = zip(*(map(_plain, row) for row in rows))
        if server.execute(known, [list(logs), list(paths)]).fetchone():
            for table in TABLES:
                server.execute(f"UPDATE {SCHEMA}.{table} SET lake = %s WHERE lake = ''", [lake])
            return


def to_postgres(
    data: Dataset, lake: str, server: str, since: date | None = None, until: date | None = None
) -> dict[str, int]:
    """Replaces a lake's days from since to until (all without them); rows by table.

    lake: its id, "" before its first job. server: as libpq has it, ``postgresql://user@host/database`` or
    ``host=... dbname=...``. Raises IolensError if the server cannot be reached, or refuses.
    """
    try:
        import psycopg
    except ImportError as error:
        raise lacks("PostgreSQL", "psycopg", "postgres") from error

    written = dict.fromkeys(TABLES, 0)
    if not lake:
        return written  # it has had no job yet
    try:
        with psycopg.connect(server) as connection, connection.cursor() as cursor:
            _prepare(connection)
            _take_over(connection, data, lake)
            for name, table in TABLES.items():
                cursor.execute(
                    f"DELETE FROM {SCHEMA}.{name} WHERE lake = %(lake)s"
                    " AND (%(since)s::date IS NULL OR day >= %(since)s)"
                    " AND (%(until)s::date IS NULL OR day <= %(until)s)",
                    {"lake": lake, "since": since, "until": until},
                )
                with cursor.copy(f"COPY {SCHEMA}.{name} (lake, day, {table.names}) FROM STDIN") as copy:
                    for row in _rows(data, f"day, {table.names}", table.source):
                        copy.write_row((lake, *row))
                        written[name] += 1
    except psycopg.Error as error:
        raise IolensError(f"PostgreSQL: {' '.join(str(error).split())}") from error
    return written
