"""A lake as a dataset that Spark computes: the tables and queries of ``iolens.metrics.Dataset``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from iolens.error import USAGE, IolensError
from iolens.fleet.spark.session import MEANING, first_line
from iolens.fleet.spark.translate import spark_name, tables_of, to_spark
from iolens.fleet.spark.untranslated import UNTRANSLATED
from iolens.fleet.tables.schema import BATCH_BITS, Column, tables
from iolens.log import scan
from iolens.metrics.metric import find_metric
from iolens.metrics.source_lines import SITES, source_lines
from iolens.metrics.tables import DERIVED
from iolens.metrics.views import INTERFACES, record_query

if TYPE_CHECKING:
    from iolens.fleet.tables.lake import Lake
    from iolens.fleet.tables.snapshot import Snapshot

__all__ = ["Answer", "SparkData"]

_SOURCE_LINE = (
    "module string, build_id string, stack string, offset bigint, place string, function string, source string, "
    "line bigint, note string"
)
_SPARK = {"long": "bigint", "integer": "int", "boolean": "boolean"}


@dataclass
class Answer:
    """The rows of a query, as DuckDB's results give them."""

    description: list[tuple[str, str]]
    """Name and Spark's type of each column."""
    _rows: list[tuple[Any, ...]]

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows; none at the end."""
        found, self._rows = self._rows[:size], self._rows[size:]
        return found

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return next(iter(self.fetchmany()), None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self.fetchmany(len(self._rows))


class SparkData:
    """A lake at one moment, asked in DuckDB's SQL and computed by Spark; see ``iolens.metrics.Dataset``."""

    def __init__(
        self,
        lake: Lake,
        session: Any,
        snapshot: Snapshot | None = None,
        *,
        since: date | None = None,
        until: date | None = None,
    ) -> None:
        """session: of ``open_session``; its temporary views stay apart from those of others.

        since, until: of tables with days only these, until included.
        """
        self.lake = lake
        self.snapshot = snapshot or lake.snapshot()
        self._session = session.newSession()
        for name, value in MEANING.items():
            self._session.conf.set(name, value)
        self._days = [f"s.day >= DATE '{since}'"] if since else []
        self._days += [f"s.day <= DATE '{until}'"] if until else []
        self._made: set[str] = set()
        self._kept: list[Any] = []

    # ---- tables ----

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        if name in UNTRANSLATED:
            raise IolensError(f"{name} is not available on Spark: {UNTRANSLATED[name]}", exit_code=USAGE)
        if name == "source_line":
            frame = self._source_lines()
        elif name == "oss_of":
            frame = self._session.createDataFrame([], "ost bigint, oss string")
        elif name in tables() and name != "file_sum":  # which a lake need not have of all logs
            frame = self._base(name, tables()[name])
        else:
            frame = self._computed(name)
        self._made.add(name)
        frame.createOrReplaceTempView(spark_name(name))

    def _computed(self, name: str) -> Any:
        """A view, or what is computed once, as a dataset of logs does it."""
        if name == "record":
            here = [i for i in INTERFACES if self.snapshot.files.get(i)] or ["posix"]
            source = scan([])
            return self.frame(record_query({i: source.table(i).schema for i in here}))
        if name.startswith("metric."):
            frame = self.frame(find_metric(name.removeprefix("metric.")).sql)
        elif name in DERIVED:
            kind, query = DERIVED[name]
            if name == "file_sum":  # a table of a lake, with a day
                query = f"SELECT s.*, j.day FROM ({query}) AS s JOIN job AS j ON j.log = s.log"
            frame = self.frame(query)
            if kind == "VIEW":
                return frame
        else:
            raise IolensError(f'a lake has no table "{name}"', exit_code=USAGE)
        self._kept.append(frame.cache())
        return frame

    def _base(self, name: str, columns: Sequence[Column]) -> Any:
        """A table at the version of the snapshot: the rows of batches that are finished, in a dataset's types."""
        if not self.snapshot.files.get(name):
            typed = ", ".join(f"CAST(NULL AS {_type(c)}) AS `{c.name}`" for c in columns)
            return self._session.sql(f"SELECT {typed} WHERE false")
        there = set(self._stored(name).columns)
        chosen = [
            _from_stored(c) if c.name in there else f"CAST(NULL AS {_type(c)}) AS `{c.name}`" for c in columns
        ]
        conditions = self._days if "day" in there else []
        if "log" in there:
            self._stored("job")
            conditions = [
                *conditions,
                "EXISTS (SELECT 1 FROM stored__job AS j "
                f"WHERE shiftright(j.log, {BATCH_BITS}) = shiftright(s.log, {BATCH_BITS}))",
            ]
        if "log" in there and self.snapshot.dead:
            conditions = [*conditions, f"s.log NOT IN ({', '.join(map(str, self.snapshot.dead))})"]
        day = ["day"] if "day" in there else []
        return self._session.sql(
            f"SELECT {', '.join([*chosen, *day])} FROM stored__{name} AS s WHERE {' AND '.join(conditions or ['true'])}"
        )

    def _stored(self, name: str) -> Any:
        """The table as Delta has it."""
        reader = self._session.read.format("delta").option("versionAsOf", self.snapshot.versions[name])
        frame = reader.load(str((self.lake.path / name).resolve()))
        frame.createOrReplaceTempView(f"stored__{name}")
        return frame

    def _source_lines(self) -> Any:
        """What the files on this machine tell of the addresses in ``sites``."""
        rows = list(source_lines(self.query(SITES).fetchall()))
        return self._session.createDataFrame(rows, _SOURCE_LINE)

    def add_table(self, name: str, columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> None:
        """A table for the queries of this object alone; nothing is written to the lake."""
        typed = ", ".join(f"{c.name} {_type(c)}" for c in columns)
        frame = self._session.createDataFrame([tuple(map(_given, row)) for row in rows], typed)
        frame.createOrReplaceTempView(spark_name(name))
        self._made.add(name)

    def _columns(self, name: str) -> list[str]:
        """Of a table that is made; a metric has Spark's name in a query that is carried already."""
        return list(self._session.table(spark_name(name)).columns)

    # ---- asking ----

    def frame(self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None) -> Any:
        """Spark's DataFrame of a query; nothing is computed yet. Raises IolensError for what Spark does not take."""
        from pyspark.errors import PySparkException

        for name in tables_of(statement):
            self._make(name)
        carried = to_spark(statement, self._columns, parameters)
        try:
            return self._session.sql(carried)
        except PySparkException as error:
            raise IolensError(f"Spark: {first_line(error)}", exit_code=USAGE) from error

    def query(self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None) -> Answer:
        """Runs a query in DuckDB's SQL. parameters: for ``?`` a list, for ``$name`` a dict."""
        from pyspark.errors import PySparkException

        frame = self.frame(statement, parameters)
        try:
            rows = frame.collect()
        except PySparkException as error:
            raise IolensError(f"Spark: {first_line(error)}") from error
        described = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
        return Answer(described, [tuple(map(_plain, row)) for row in rows])

    def rows(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a query, a dict per row."""
        answer = self.query(statement, parameters)
        names = [name for name, _ in answer.description]
        return [dict(zip(names, row)) for row in answer.fetchall()]

    def metric(self, name: str) -> list[dict[str, Any]]:
        """The rows of a metric; computed once."""
        return self.rows(f"SELECT * FROM metric.{find_metric(name).name}")

    def tables(self) -> list[str]:
        """Names of all tables and views, without metrics."""
        return sorted({*tables(), *DERIVED, "record", "source_line", "oss_of"})

    def seal(self) -> None:
        """Nothing to do: only queries are taken, and only of the lake's tables."""

    # ---- end ----

    def close(self) -> None:
        """Forgets what was computed. The session goes on."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()
        for name in self._made:
            self._session.catalog.dropTempView(spark_name(name))
        self._made.clear()

    def __enter__(self) -> SparkData:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _type(column: Column) -> str:
    """Spark's type of a column as a dataset has it: it knows no unsigned numbers."""
    element = "decimal(20,0)" if column.kind == "unsigned" else _SPARK.get(column.delta, column.delta)
    return element if column.elements == 1 else f"array<{element}>"


def _from_stored(column: Column) -> str:
    if column.kind != "unsigned":
        return f"`{column.name}`"
    of = "x" if column.elements != 1 else f"`{column.name}`"
    whole = f"CAST({of} AS decimal(20,0))"
    unsigned = (
        f"CAST(CASE WHEN {of} < 0 THEN {whole} + 18446744073709551616 ELSE {whole} END AS decimal(20,0))"
    )
    if column.elements != 1:
        return f"transform(`{column.name}`, x -> {unsigned}) AS `{column.name}`"
    return f"{unsigned} AS `{column.name}`"


def _given(value: Any) -> Any:
    """As Spark takes it: a time without a zone would be one of this machine's zone."""
    return value.replace(tzinfo=timezone.utc) if isinstance(value, datetime) else value


def _plain(value: Any) -> Any:
    """As DuckDB gives it: whole numbers as int, lists as list, times in UTC, which Spark gives in the local zone."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
