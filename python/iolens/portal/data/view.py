"""The lake as one scope may see it: a database that holds these jobs' rows and no others.

This is the one place where rows are left out. Whatever is asked afterwards, by a page, the API or a viewer's own SQL,
is asked of a database in which other users' rows are not.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from iolens.error import USAGE, IolensError
from iolens.fleet.coverage import Coverage, coverage, runs_sql
from iolens.fleet.digest import DAYS
from iolens.fleet.saved_queries import Answer, find_query, statement
from iolens.fleet.tables.data import LakeTables, TablesData
from iolens.fleet.tables.delta import DAY
from iolens.fleet.tables.lake import Lake
from iolens.fleet.tables.schema import tables
from iolens.fleet.tables.snapshot import Snapshot
from iolens.fleet.tables.write import quoted
from iolens.portal.data.active import Active
from iolens.portal.data.scope import Scope

__all__ = [
    "COMPARING",
    "MEASURED",
    "MOST_MEMORY",
    "NARROW",
    "BoundedTables",
    "Gone",
    "Session",
    "View",
    "hold_no_files",
    "unreadable",
]

NARROW = ("measured", "metric", "finding")
"""What pages ask most, in files of the portal's own, sorted by user (``snapshots``)."""

MEASURED = "SELECT * EXCLUDE (account, scheduled) FROM measured_made"
"""In place of the named query of that name, in a bounded database."""

SHARED = frozenset({"change", "peak"})
"""Tables without a job or user in them, which everybody may read."""

COMPARING = frozenset({"drift", "history"})
"""Queries about earlier jobs, too: of all days unless others are asked for."""

PAGE_SECONDS = 20.0
"""After which a question of a page is ended."""

_NO_TABLE = re.compile(r"Table with name (\w+) does not exist")
_ANSWERS = 256
_STATEMENTS = 1000
_KEPT_ROWS = 5000
_ROWS = 30_000
"""Of all answers of a view: one of an application's history has a row for each of its runs."""
_FEW_LOGS = 4000
"""Of a scope with no more, the narrow files' rows are copied: each question is then a millisecond, not ten."""

MOST_MEMORY = "2GB"
"""Of a database of all jobs in which a question, or a snapshot, fails with less."""

_FOLLOWED = 12
"""Answers of one person that are made anew when the lake has grown."""


class Gone(IolensError):
    """A file of the lake is not there any more, or cannot be read."""


def hold_no_files(connection: duckdb.DuckDBPyConnection) -> None:
    """The kernel has the lake's files in memory: a copy for each database would grow with the lake."""
    connection.execute("SET enable_external_file_cache = false")


def _count(connection: duckdb.DuckDBPyConnection, rows: str) -> int:
    found = connection.execute(f"SELECT count(*) {rows}").fetchone()
    return int(found[0]) if found else 0


class BoundedTables(LakeTables):
    """The base tables of a lake with the rows of a scope, or of one log in it.

    narrow: the folder of the portal's own files; metrics that no page asks for are not in them. whole: of ``metric``
    and ``finding`` what the lake has, not the narrow files.
    """

    def __init__(  # noqa: PLR0913
        self,
        lake: Lake,
        snapshot: Snapshot,
        scope: Scope,
        narrow: Path,
        *,
        whole: bool = False,
        log: int | None = None,
    ) -> None:
        if log is not None:
            held = {
                name: [f for f in files if name in SHARED or f.first <= log <= f.last]
                for name, files in snapshot.files.items()
            }
            snapshot = Snapshot(held, snapshot.versions, snapshot.dead)
        super().__init__(lake, snapshot)
        self.scope = scope
        self.large = scope.everything and log is None
        self._narrow = narrow
        self._whole = whole or log is not None
        self._log = log

    def _file(self, name: str) -> str:
        return f"read_parquet({quoted(str(self._narrow / f'{name}.parquet'))})"

    def _owned(self) -> str:
        """Condition over the narrow files: the scope, and the log."""
        one = "" if self._log is None else f" AND log = {int(self._log)}"
        return f"{self.scope.condition()}{one}"

    def open(self, connection: duckdb.DuckDBPyConnection, every_column: bool) -> None:
        super().open(connection, every_column)
        connection.execute("SET threads = 2")
        hold_no_files(connection)
        connection.execute(
            "SET parquet_metadata_cache = true"
        )  # no file of a lake or a snapshot is ever changed
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute("SET autoload_known_extensions = false")
        connection.execute("SET python_enable_replacements = false")
        # One user's rows stand together in the file, and are soon found again; staff's are all. A viewer's own SQL
        # reaches no file: it has them as a table.
        measured = f"FROM {self._file('measured')} WHERE {self._owned()}"
        copied = self.large or self._whole or _count(connection, measured) <= _FEW_LOGS
        self._kind = "TABLE" if copied else "VIEW"
        connection.execute(f"CREATE {self._kind} measured_made AS SELECT * {measured}")
        if self._log is not None:
            self._keep_days(connection.execute(f"SELECT DISTINCT {DAY} FROM measured_made").fetchall())

    def _keep_days(self, days: list[tuple[date]]) -> None:
        """Of files in folders of days, none but those of these days are looked into."""
        folders = tuple(f"{DAY}={day}/" for (day,) in days)
        self._files = {
            name: [f for f in files if f.path.startswith(folders) or not f.path.startswith(f"{DAY}=")]
            for name, files in self._files.items()
        }

    def make(self, name: str) -> None:
        columns = ", ".join(f'"{c.name}"' for c in tables()[name])
        if name == "job":
            self._connection.execute(f"CREATE VIEW job AS SELECT {columns}, day FROM measured_made")
        elif name in NARROW and not self._whole:
            self._connection.execute(
                f"CREATE {self._kind} {name} AS SELECT {columns}, day FROM {self._file(name)} WHERE {self._owned()}"
            )
        else:
            kind = "VIEW" if self.large else "TABLE"
            self._connection.execute(f"CREATE {kind} {name} AS {self.stored(name)}")

    def stored(self, name: str) -> str:
        """SQL: the rows of the scope."""
        source = super().stored(name)
        return source if self.large else f"SELECT * FROM ({source}) WHERE {self._rows(name)}"

    def _rows(self, name: str) -> str:
        """Which rows of a table are of the scope; none of a table that nothing is said about."""
        there = {column.name for column in tables()[name]}
        if "log" in there:
            one = (
                "" if self._log is None else f"log = {int(self._log)} AND "
            )  # read where it is, not looked for
            return f"{one}log IN (SELECT log FROM measured_made)"
        if name in SHARED or (self.scope.everything and self._log is None):
            return "TRUE"
        if {"user", "account"} <= there and self._log is None:
            return self.scope.condition()
        return "FALSE"


class _Asked(NamedTuple):
    """A named query with its values: the key of its answer."""

    name: str
    values: tuple[tuple[str, float | str], ...]


class Session:
    """Active of one request. As far as named queries and the coverage need it, a ``Dataset``."""

    def __init__(self, view: View, seconds: float) -> None:
        self._view = view
        self._cursor = view.data.connection.cursor()
        self._timer = threading.Timer(seconds, self.interrupt)
        self._timer.daemon = True
        self._timer.start()
        view.active.add(self)

    def interrupt(self) -> None:
        """What runs ends with duckdb.InterruptException."""
        self._cursor.interrupt()

    def query(self, statement: str, parameters: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyConnection:
        """As of a ``Dataset``. Raises Gone if the lake cannot be read."""
        tried: set[str] = set()
        while True:
            try:
                self._view.prepare(statement)
                return self._cursor.execute(statement, dict(parameters) if parameters else None)
            except duckdb.CatalogException as error:  # a name in a place that was not searched
                found = _NO_TABLE.search(str(error))
                if not found or found[1] in tried:
                    raise
                tried.add(found[1])
                self._view.prepare(f"FROM {found[1]}")
            except duckdb.OutOfMemoryException as error:
                if self._view.widen():
                    continue
                text = "too many files for this page: ask for fewer of them by SQL"
                raise IolensError(text, exit_code=USAGE) from error
            except (duckdb.Error, OSError) as error:
                gone = unreadable(error)
                if gone is None:
                    raise
                raise gone from error

    def rows(self, statement: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """A dict per row."""
        result = self.query(statement, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row)) for row in result.fetchall()]

    def ask(self, name: str, **given: float | str) -> Answer:
        """The rows of a named query, from memory if it was asked before."""
        sql, values = self._view.statement(name)
        values |= {key: value for key, value in given.items() if key in values}
        key = _Asked(name, tuple(sorted(values.items())))
        rows = self._view.remembered(key, lambda: self.query(sql, values).fetchall())
        return Answer(find_query(name), values, rows)

    def coverage(self, by: str, since: date | None, until: date | None, cluster: str) -> Coverage:
        """Of the scope's users, from memory if it was asked before. Raises IolensError without accounting."""
        runs = "accounted_run_made"

        def make_runs() -> bool:
            for table in ("accounting", "job"):
                self._view.prepare(f"FROM {table}")
            self._view.data.connection.execute(f"CREATE OR REPLACE TABLE {runs} AS {runs_sql()}")
            return True

        def make() -> Coverage:
            self._view.made(runs, make_runs)
            return coverage(self, by=by, since=since, until=until, cluster=cluster, runs=runs)

        found: Coverage = self._view.remembered(("coverage", by, since, until, cluster), make)
        return found

    def unscheduled(self, logs: Collection[int]) -> set[int]:
        """Of these jobs those whose number is a process's, because no scheduler gave one."""
        listed = ", ".join(map(str, sorted(logs)))

        def make() -> set[int]:
            query = f"SELECT log FROM measured_made WHERE log IN ({listed}) AND NOT scheduled"
            try:
                return {log for (log,) in self._cursor.execute(query).fetchall()}
            except duckdb.Error as error:
                raise unreadable(error) or error from error

        found: set[int] = self._view.remembered(("unscheduled", listed), make) if listed else set()
        return found

    def week(self) -> str:
        """The first of the last seven days that have jobs, "" without jobs."""

        def make() -> str:
            found = self.query('SELECT CAST(max("start") AS DATE) FROM job').fetchone()
            last = found[0] if found else None
            return str(last - timedelta(days=DAYS - 1)) if last else ""

        week: str = self._view.remembered("week", make)
        return week

    def relation(self, name: str, **given: float | str) -> Any:
        """The rows of a named query as DuckDB's relation, which hands them over as Arrow."""
        sql, values = self._view.statement(name)
        values |= {key: value for key, value in given.items() if key in values}
        self._view.prepare(sql)
        return self._cursor.sql(sql, params=values) if values else self._cursor.sql(sql)

    def close(self) -> None:
        self._timer.cancel()
        self._cursor.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _brief(error: BaseException) -> str:
    """The first line, without the folders of this machine."""
    return re.sub(r"/\S*/", "", str(error).splitlines()[0])[:200] if str(error) else type(error).__name__


def unreadable(error: BaseException) -> Gone | None:
    """What an error says of a file of the lake, None if it is about something else. Folders are not named."""
    if isinstance(error, (duckdb.IOException, OSError)):
        return Gone(f"a file of the lake cannot be read: {_brief(error)}")
    if isinstance(error, duckdb.Error) and re.search(
        "arquet|magic bytes|snappy|ZSTD", str(error), re.IGNORECASE
    ):
        return Gone(f"a file of the lake is damaged: {_brief(error)}")
    return None


def _rows_of(answer: Any) -> int:
    return len(answer) if isinstance(answer, list) else 0


class View:
    """What one scope sees of the lake at one moment."""

    def __init__(self, tables: BoundedTables, active: Active, memory: str = "1GB") -> None:
        self.scope = tables.scope
        self.active = active
        try:
            self.data = TablesData(tables, memory=memory)
        except duckdb.Error as error:
            raise Gone(f"a file of the portal cannot be read: {_brief(error)}") from error
        active.add(self.data)
        self._making = threading.RLock()
        self._prepared: set[str] = set()
        self._own: set[str] = set()
        self._answers: OrderedDict[Any, Any] = OrderedDict()
        self._rows = 0
        self._wide = False
        self._remembering = threading.Lock()

    def widen(self) -> bool:
        """More memory for a database of all jobs, once. False: it has that already, or is none."""
        with self._making:
            wider = self.scope.everything and not self._wide
            if wider:
                self.data.connection.execute(f"SET memory_limit = '{MOST_MEMORY}'")
            self._wide = self._wide or wider
        return wider

    def session(self, seconds: float = PAGE_SECONDS) -> Session:
        return Session(self, seconds)

    def prepare(self, statement: str) -> None:
        """One request at a time makes tables; a statement that has all of its tables waits for no other."""
        if statement in self._prepared:
            return
        with self._making:
            self.data.prepare(statement)
        if len(self._prepared) < _STATEMENTS:
            self._prepared.add(statement)

    def made(self, table: str, make: Callable[[], object]) -> None:
        """Makes a table of the portal's own, once."""
        with self._making:
            if table not in self._own:
                make()
                self._own.add(table)

    @staticmethod
    def statement(name: str) -> tuple[str, dict[str, float | str]]:
        """A named query over the table of measures that is there already."""
        return statement(name, {"measured": MEASURED})

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key before, or is now; large lists are made each time."""
        with self._remembering:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        made = make()
        if isinstance(made, list) and len(made) > _KEPT_ROWS:
            return made
        with self._remembering:
            self._rows += _rows_of(made) - _rows_of(self._answers.get(key))
            self._answers[key] = made
            while len(self._answers) > _ANSWERS or self._rows > _ROWS:
                self._rows -= _rows_of(self._answers.popitem(last=False)[1])
        return made

    def asked(self) -> list[tuple[str, dict[str, float | str]]]:
        """Named queries that were answered, with their values, the last ones first."""
        with self._remembering:
            keys = [key for key in reversed(self._answers) if isinstance(key, _Asked)]
        return [(key.name, dict(key.values)) for key in keys[:_FOLLOWED]]

    def close(self) -> None:
        self.data.close()
