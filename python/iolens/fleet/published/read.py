"""A data set as tables: job, module, name_of, mount, and one per module, with the columns of a Dataset's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb

from iolens.error import IolensError
from iolens.fleet.published.columns import Columns, columns_of, fields_of
from iolens.log.modules import KNOWN
from iolens.metrics.literal import quoted

__all__ = ["RECORDS", "TOTALS", "Published"]

TOTALS, RECORDS = "totals", "records"
"""What stands as ``format`` of a job: its row was sums of all files, or its rows were records."""

ALL_FILES = "<other files>"
"""The name of the record that totals become: metrics of single files leave it out."""

_TYPES = {"int64": "BIGINT", "uint64": "UBIGINT", "double": "DOUBLE", "string": "VARCHAR", "int32": "INTEGER"}
_EMPTY = "['', 'NA', 'N/A', 'nan', 'NaN', 'None', 'null', 'NULL']"
_ID = 1


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(column: str, kind: str) -> str:
    """Whole numbers that went through a table of floating point ones are whole numbers again."""
    if kind == "DOUBLE":
        return f"TRY_CAST({column} AS DOUBLE)"
    return f"coalesce(TRY_CAST({column} AS {kind}), TRY_CAST(TRY_CAST({column} AS DOUBLE) AS {kind}))"


def _whole(column: str, kind: str) -> str:
    """As ``_number``, of what is written as a whole number: a hash may be 8e14."""
    text = f"CAST({column} AS VARCHAR)"
    return f"CASE WHEN regexp_full_match({text}, '-?[0-9]+([.]0*)?') THEN {_number(column, kind)} END"


def _hashed(column: str) -> str:
    """A number for text: the same for the same text, in every file."""
    return f"(md5_number_lower(CAST({column} AS VARCHAR)) >> 1)"


def _csv(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    """As text, with the first line as header: DuckDB's guesses would make numbers of hashes, and skip odd lines."""
    whole = "columns = {'content': 'VARCHAR'}, delim = '\1', quote = '', header = false, auto_detect = false"
    row = connection.execute(f"SELECT content FROM read_csv({quoted(path)}, {whole}) LIMIT 1").fetchone()
    head = str(row[0]) if row else ""
    delimiter = max(",\t;|", key=head.count)
    return (
        f"read_csv({quoted(path)}, header = true, skip = 0, delim = {quoted(delimiter)}, quote = '\"',"
        f" all_varchar = true, nullstr = {_EMPTY})"
    )


class Published:
    """One file of a data set. ``tables()`` gives (name, SELECT) for ``connection``; ``log`` counts from ``first``.

    Raises IolensError for what is neither CSV nor Parquet, and for a file without one counter.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: str, first: int = 0) -> None:
        self.connection, self.path, self.first = connection, path, first
        connection.execute("SET preserve_insertion_order = true")  # a row's number is the name of its job
        name = Path(path).name.lower()
        source = ""
        if not Path(path).is_file():
            raise IolensError("no such file", path)
        if name.endswith((".parquet", ".parq", ".pq")):
            source = f"read_parquet({quoted(path)})"
        elif not name.removesuffix(".gz").removesuffix(".zst").endswith((".csv", ".tsv", ".txt")):
            raise IolensError("is neither .csv nor .parquet", path)
        try:
            source = source or _csv(connection, path)
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE published AS SELECT row_number() OVER () AS iolens_row, * FROM {source}"
            )
        except duckdb.Error as error:
            raise IolensError(f"cannot be read: {str(error).splitlines()[0]}", path) from error
        described = connection.execute("DESCRIBE published").fetchall()
        self._kinds = {row[0]: row[1] for row in described if row[0] != "iolens_row"}
        self.columns: Columns = columns_of(self._kinds)
        if not self.columns.counters:
            raise IolensError(
                "has no column with a name of Darshan's counters, such as total_POSIX_OPENS", path
            )
        self._number_jobs()

    # ---- jobs ----

    def _number_jobs(self) -> None:
        """``published_log``: row -> log. Of records a job is what has the same facts."""
        job = "iolens_row"
        if not self.columns.totals:
            facts = ", ".join(_quoted(name) for name in self.columns.job.values()) or "1"
            job = f"min(iolens_row) OVER (PARTITION BY {facts})"
        self.connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE published_log AS
            SELECT iolens_row, dense_rank() OVER (ORDER BY first) - 1 + {self.first} AS log
            FROM (SELECT iolens_row, {job} AS first FROM published)
        """)

    @property
    def jobs(self) -> int:
        """How many there are."""
        row = self.connection.execute("SELECT count(DISTINCT log) FROM published_log").fetchone()
        return int(row[0]) if row else 0

    def _fact(self, fact: str, kind: str) -> str:
        name = self.columns.job.get(fact)
        if name is None:
            return f"NULL::{kind}"
        column = _quoted(name)
        return f"CAST({column} AS VARCHAR)" if kind == "VARCHAR" else _number(column, kind)

    def _own_number(self, fact: str) -> str:
        name = self.columns.job.get(fact)
        return _whole(_quoted(name), "BIGINT") if name else "NULL::BIGINT"

    def _time(self, fact: str) -> str:
        """A time as seconds since 1970, milliseconds since then, or a date and time, taken for UTC."""
        name = self.columns.job.get(fact)
        if name is None:
            return "NULL::TIMESTAMP"
        column, kind = _quoted(name), self._kinds[name]
        if kind.startswith(("TIMESTAMP", "DATE")):
            return (
                f"CAST({column} AT TIME ZONE 'UTC' AS TIMESTAMP)"
                if "ZONE" in kind
                else f"CAST({column} AS TIMESTAMP)"
            )
        seconds = f"TRY_CAST({column} AS DOUBLE)"
        stamp = f"make_timestamp((CASE WHEN {seconds} > 1e11 THEN {seconds} / 1000 ELSE {seconds} END * 1e6)::BIGINT)"
        return f"coalesce({stamp}, TRY_CAST(CAST({column} AS VARCHAR) AS TIMESTAMP))"

    def _job(self) -> str:
        """One row per log. A user or a job id that is no number (a hash) gets one made of its text."""
        source = quoted(os.fspath(Path(self.path).absolute()))
        user, job = self._fact("uid", "VARCHAR"), self._fact("job_id", "VARCHAR")
        user_number, job_number = self._own_number("uid"), self._own_number("job_id")
        log_file = self._fact("log_file", "VARCHAR")
        return f"""
            SELECT log, {source} || '#' || coalesce(log_file, first::VARCHAR) AS path,
                uid, "user", job_id, nprocs,
                coalesce("start", "end" - to_microseconds((run_time * 1e6)::BIGINT)) AS "start",
                coalesce("end", "start" + to_microseconds((run_time * 1e6)::BIGINT)) AS "end",
                coalesce(run_time, epoch_us("end" - "start") / 1e6) AS run_time,
                coalesce(exe, '') AS exe, {quoted(TOTALS if self.columns.totals else RECORDS)} AS format
            FROM (
                SELECT log, min(iolens_row) AS first,
                    any_value(coalesce({user_number}, {_hashed(user)}::BIGINT)) AS uid, any_value({user}) AS "user",
                    any_value(coalesce({job_number}, {_hashed(job)}::BIGINT)) AS job_id,
                    any_value({self._fact("nprocs", "BIGINT")}) AS nprocs,
                    any_value({self._time("start")}) AS "start", any_value({self._time("end")}) AS "end",
                    any_value({self._fact("run_time", "DOUBLE")}) AS run_time,
                    any_value({self._fact("exe", "VARCHAR")}) AS exe, any_value({log_file}) AS log_file
                FROM published JOIN published_log USING (iolens_row) GROUP BY log
            )
        """

    # ---- records ----

    def _id(self) -> str:
        """Of a record: its own number, one made of its hash or name, or that of its row."""
        if self.columns.totals:
            return f"{_ID}::UBIGINT"
        names = [self.columns.record[fact] for fact in ("id", "name") if fact in self.columns.record]
        if not names:
            return "iolens_row::UBIGINT"
        own = _whole(_quoted(names[0]), "UBIGINT")
        text = ", ".join(f"CAST({_quoted(name)} AS VARCHAR)" for name in names)
        return f"coalesce({own}, {_hashed(f'coalesce({text})')}::UBIGINT, iolens_row::UBIGINT)"

    def _rank(self) -> str:
        name = self.columns.record.get("rank")
        return f"coalesce({_number(_quoted(name), 'BIGINT')}, -1)" if name else "-1::BIGINT"

    def _field(self, module: str, name: str, count: int, kind: str) -> str:
        here = {
            one.element: one.name
            for one in self.columns.counters
            if (one.module, one.field) == (module, name)
        }
        if count == 1:
            return _number(_quoted(here[0]), kind) if 0 in here else f"NULL::{kind}"
        if not here or not count:
            return f"NULL::{kind}[]"
        parts = [
            _number(_quoted(here[n]), kind) if n in here else f"NULL::{kind}" for n in range(1, count + 1)
        ]
        return f"[{', '.join(parts)}]"

    def _present(self, module: str) -> str:
        """The module was there where one of its counters has a value."""
        names = [_quoted(one.name) for one in self.columns.counters if one.module == module]
        return f"coalesce({', '.join(f'CAST({name} AS VARCHAR)' for name in names)}) IS NOT NULL"

    def _module(self, module: str) -> str:
        parts = []
        for one in fields_of(module):
            kind = _TYPES.get(one.type, "VARCHAR")
            value = {"id": self._id(), "rank": self._rank()}.get(one.name) or self._field(
                module, one.name, one.count, kind
            )
            if self.columns.totals and one.name == "slowest_rank_time":
                value = self._mean_time(module, value)
            parts.append(f"{value} AS {_quoted(one.name)}")
        return (
            f"SELECT {', '.join(parts)}, log FROM published JOIN published_log USING (iolens_row)"
            f" WHERE {self._present(module)}"
        )

    def _mean_time(self, module: str, slowest: str) -> str:
        """Totals do not tell how long the slowest rank was at it: the mean of all ranks is the least that it can be."""
        of = {one.name: one.role for one in fields_of(module)}
        times = [
            f"coalesce({_number(_quoted(one.name), 'DOUBLE')}, 0)"
            for one in self.columns.counters
            if one.module == module and of[one.field] in ("read_time", "write_time", "meta_time")
        ]
        mean = f"({' + '.join(times) or '0'}) / nullif({self._fact('nprocs', 'DOUBLE')}, 0)"
        return f"greatest({slowest}, {mean})"

    def _names(self) -> str:
        if self.columns.totals:
            return f"SELECT {_ID}::UBIGINT AS id, {quoted(ALL_FILES)} AS name, log FROM published_log"
        fact = next((self.columns.record[f] for f in ("name", "id") if f in self.columns.record), None)
        if fact is None:
            return "SELECT 0::UBIGINT AS id, '' AS name, log FROM published_log WHERE false"
        return f"""
            SELECT id, any_value(name) AS name, log FROM (
                SELECT {self._id()} AS id, CAST({_quoted(fact)} AS VARCHAR) AS name, log
                FROM published JOIN published_log USING (iolens_row)
            ) WHERE name IS NOT NULL GROUP BY log, id
        """

    def _mounts(self) -> str:
        mount = self.columns.record.get("mount")
        if mount is None:
            return "SELECT '' AS mount, '' AS file_system, '' AS class, 0::BIGINT AS log WHERE false"
        system = self.columns.record.get("file_system")
        return f"""
            SELECT DISTINCT CAST({_quoted(mount)} AS VARCHAR) AS mount,
                {f"CAST({_quoted(system)} AS VARCHAR)" if system else "''"} AS file_system, '' AS class, log
            FROM published JOIN published_log USING (iolens_row) WHERE {_quoted(mount)} IS NOT NULL
        """

    def _modules(self) -> str:
        known = {one.key: one for one in KNOWN}
        return " UNION ALL ".join(
            f"""SELECT DISTINCT {known[module].id}::BIGINT AS id, {quoted(module)} AS module,
                {quoted(known[module].darshan)} AS darshan, {known[module].version}::BIGINT AS version,
                0::BIGINT AS stored, 0::BIGINT AS partial, log
            FROM published JOIN published_log USING (iolens_row) WHERE {self._present(module)}"""
            for module in self.columns.modules
        )

    def tables(self) -> Iterator[tuple[str, str]]:
        """(table, SELECT), ``job`` last: what is without its job does not count."""
        for module in self.columns.modules:
            yield module, self._module(module)
        yield "name_of", self._names()
        yield "mount", self._mounts()
        yield "module", self._modules()
        yield "job", self._job()
