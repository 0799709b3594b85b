"""Logs as a small database: every table and view that metrics, rules and reports ask."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, Union

from iolens.error import IolensError
from iolens.log import memory_allowed
from iolens.metrics.base import Base, told
from iolens.metrics.engine import connect, duckdb
from iolens.metrics.literal import literal, with_values
from iolens.metrics.log_tables import LogTables
from iolens.metrics.makers import Makers
from iolens.metrics.metric import find_metric, metrics
from iolens.metrics.source_lines import SITES, source_lines
from iolens.metrics.tables import DERIVED
from iolens.metrics.views import INTERFACES, MODULES, macros, record_query
from iolens.progress import step

__all__ = ["MODULES", "Dataset"]

AnyPath = Union[str, "os.PathLike[str]"]
Result = TypeVar("Result")

# What DuckDB takes before it writes to temporary files.
_MEMORY = 400_000_000

_DERIVED = {*DERIVED, "record", "source_line"}

_NAMED = re.compile(r"\b(?:from|join|describe|summarize|pivot|unpivot)\s+\(*\s*\"?(metric\.\w+|\w+)", re.I)
_LISTS = re.compile(r"^\s*show\b|\b(?:information_schema|duckdb_(?:tables|views|columns))\b", re.I)
_NO_TABLE = re.compile(r"Table with name (\w+) does not exist")
_NO_COLUMN = re.compile(r"column (?:named )?\"(\w+)\"", re.I)


def _tables_of(statement: str) -> list[str]:
    """Names that stand where a table's would."""
    found = _NAMED.findall(re.sub(r"--[^\n]*", "", statement))
    found += [f"metric.{name}" for name in re.findall(r"\bmetric\.(\w+)", statement) if name in metrics()]
    return [name.lower() for name in found]


def _switch_bar_off(connection: duckdb.DuckDBPyConnection) -> None:
    """It would be among the rows of a slow query. In Jupyter without ipywidgets there is none to switch off."""
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


def _same(value: Result) -> Result:
    return value


class Dataset:
    """One or more logs, opened for questions in SQL (DuckDB's dialect).

    Tables, each with a column ``log`` (number of the log in ``paths``), made when a query first names them:

    * ``job``: path, uid, job_id, nprocs, start, end (UTC), run_time (seconds, null if unknown), exe, format, partial
    * ``module``, ``mount``, ``metadata``, ``name`` (id, name, mount, file_system, class, directory, extension)
    * one per module of ``MODULES``: ``posix``, ``mpiio``, ..., as ``log["posix"]``
    * one per section of the extension trailer: ``process``, ``total``, ``operation``, ...
    * ``record``: all interfaces' records with columns named by role; ``io_time`` is what Darshan's tools take as a
      record's time: the slowest rank's for a shared record, else read + write + metadata time
    * ``file``: ``record`` merged per log, interface and object, with its name (``file_of``: without)
    * ``own_record``, ``own_file``: of these, what the program called itself, so that sums count nothing twice:
      MPI-IO where a file was opened through MPI-IO, else POSIX; STDIO; DFS, else DAOS
    * ``lowest_record``, ``lowest_file``: of these, what reached the system: POSIX where a file has POSIX records that
      hold what MPI-IO moved, else MPI-IO; STDIO; DAOS, else DFS
    * ``single_record``, ``single_file``: of these, what stands for one file: not "<other files>" or
      "<other program files>", which share a record; versions: files that had the name: one more than it was renamed,
      or as many as were created and written as a whole. ``renamed``: these, and the first name (source).
      ``written_as``: files written under a temporary name, their final name, and both as one text (shown)
    * ``python_module``: files that Python's imports read, opened by a Python process; ``imported``: reads and bytes
      of those that the job does not write
    * ``forced``: the share of a log's time in writing of writes that were forced to storage each (O_SYNC, O_DSYNC)
    * ``call_site``: where each object was opened, by interface: place ("reader (reader.c:8) in libreader.so"),
      function, source, line, as far as the files are on this machine; module, build_id, offset; ranks that opened it
      there, null for all. ``file_site``: of these, that of the highest interface, so the program's own
    * ``line``: what reached the system, by file, kind of call (read, write, meta) and line: calls, bytes, time, which
      add up to the records'; basis: counted, estimated, opened (the line where the file was opened) or unknown
    * ``dxt_access``: the accesses of all traces, with the interface that made them
    * ``libc_interfaces()``, ``library_of(interface)``, ...: what interfaces are, from the table of modules (``views``)
    * ``counted(n)``: the sum of counts, those below 0 left out: they mean "not counted"
    * ``oss_of`` (ost, oss): servers of storage targets, as given by ``servers()``
    * ``metric.X``: the result of metric X (see ``metrics()``)

    Memory stays bounded: large logs are kept in a temporary file, and large results have no order of rows then.
    memory: what DuckDB may take ("2GB"); without it IOLENS_MEMORY, else 400 MB.
    Raises IolensError for a file that is no log, has lost its job, or unpacks to more than is allowed.
    """

    def __init__(
        self, source: AnyPath | Iterable[AnyPath] | Base, *, memory: str = "", every_column: bool = False
    ) -> None:
        if isinstance(source, (str, os.PathLike, Iterable)):
            source = LogTables(source)
        self._base = source
        self.paths = source.paths
        self.logs = source.logs if isinstance(source, LogTables) else ()
        """The open logs; none of a lake."""
        self.large = source.large
        self._folder = tempfile.mkdtemp(prefix="iolens-")
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        place = f"{self._folder}/logs.duckdb" if self.large else ":memory:"
        self._small = isinstance(source, LogTables) and source.small
        alone = {"threads": 1} if self._small else {}
        self._connection = connect(
            place,
            config={
                **alone,
                "memory_limit": memory or f"{memory_allowed(_MEMORY)}B",
                "temp_directory": f"{self._folder}/spill",
                "preserve_insertion_order": not self.large,
            },
        )
        self._sealed = False
        self._of_thread = threading.local()
        self._makers = Makers()
        self._made: set[str] = set()
        self._known = {*source.tables, *_DERIVED}
        self._out_of_range: list[IolensError] = []
        _switch_bar_off(self._connection)
        self._connection.execute("SET GLOBAL TimeZone = 'UTC'")  # of now(), which queries compare with times
        with contextlib.suppress(duckdb.CatalogException):  # null, as before DuckDB 2 and by Spark
            self._connection.execute("SET GLOBAL error_on_division_by_zero = false")
        self._connection.execute("CREATE SCHEMA metric")
        self._connection.execute("CREATE MACRO counted(n) AS sum(n) FILTER (WHERE n >= 0)")
        self._connection.execute(
            "CREATE MACRO opened(opens, dups, filenos) AS CASE WHEN opens < 0 THEN opens "
            "ELSE greatest(0, opens - greatest(dups, 0) - greatest(filenos, 0)) END"
        )
        for macro in macros():
            self._connection.execute(macro)
        self._connection.execute("CREATE TABLE oss_of (ost BIGINT, oss VARCHAR)")
        # Where threads ask together, tables of logs are made through a connection that none of them asks.
        self._of_base = self._cursor() if self._small else self._connection
        source.open(self._of_base, every_column)

    @property
    def problems(self) -> list[IolensError]:
        """Damage met while reading: what came before it is in the tables, what needs it is empty."""
        return self._base.problems + sorted(self._out_of_range, key=str)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB's own, for callers that write tables elsewhere; it has the tables that were requested before."""
        return self._connection

    def tables(self) -> list[str]:
        """Names of all tables and views, without metrics."""
        return sorted(self._known)

    # ---- tables ----

    @property
    def _own(self) -> duckdb.DuckDBPyConnection:
        """The connection of the thread that asks."""
        found: duckdb.DuckDBPyConnection = getattr(self._of_thread, "connection", self._connection)
        return found

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        made = self._connection.cursor()
        _switch_bar_off(made)
        return made

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        with told(self._base.name):
            return self._own.execute(statement)

    def lacks(self, table: str) -> bool:
        """Have the logs no such module or section, so that its table would be empty? False if only the table tells."""
        return (
            isinstance(self._base, LogTables) and table in self._base.tables and not self._base.filled(table)
        )

    def pass_module(self, module: str, statement: str) -> bool:
        """Runs a statement over all rows of a module, which it calls ``source``, without keeping them in a table.

        False, and nothing is run, if no log has data of the module, or its table is there already.
        """
        if module in self._made or not isinstance(self._base, LogTables) or not self._base.has(module):
            return False
        self._base.pass_module(module, statement)
        return True

    def _make(self, name: str) -> None:
        """Makes the table or view of this name if it is one of ours and not there yet."""
        if name in self._made or not (name in self._known or name.startswith("metric.")):
            return
        with self._makers.making(name) as free:
            if not free or name in self._made:
                return
            step(f"{'computing' if '.' in name else 'reading'} {name.removeprefix('metric.')}")
            self._make_now(name)
            self._made.add(name)

    def _make_now(self, name: str) -> None:
        if name in self._base.tables:
            self._base.make(name)
        elif name == "record":
            self._record()
        elif name == "source_line":
            self._source_lines()
        elif name in DERIVED:
            kind, query = DERIVED[name]
            self._prepare(query)
            if kind == "TABLE":
                self._compute(name, query)
            else:
                self._own.execute(f"CREATE VIEW {name} AS {query}")
        elif name.startswith("metric."):
            self._compute(name, find_metric(name.removeprefix("metric.")).sql)

    def _record(self) -> None:
        here = [i for i in INTERFACES if self._base.has(i)] or ["posix"]
        for interface in here:
            self._make(interface)
        query = record_query({i: self._base.schema(i) for i in here})
        # The view is planned anew by each query, which takes longer than the rows of small logs.
        kind = "TABLE" if self._small else "VIEW"
        self._own.execute(f"CREATE {kind} record AS {query}")

    def _source_lines(self) -> None:
        """What the files on this machine say about the addresses in ``sites``."""
        self._make("sites")
        self._make("lines")
        self._own.execute("""
            CREATE TABLE source_line (module VARCHAR, build_id VARCHAR, stack VARCHAR, "offset" BIGINT, place VARCHAR,
                function VARCHAR, source VARCHAR, line BIGINT, note VARCHAR)
        """)
        for row in source_lines(self._own.execute(SITES).fetchall()):
            values = ", ".join(literal(value) for value in row)
            self._own.execute(f"INSERT INTO source_line VALUES ({values})")

    def _compute(self, name: str, query: str) -> None:
        """The table of a query; without rows if a damaged log has numbers that no sum can hold."""
        try:
            self._run(f"CREATE TABLE {name} AS ({query})")
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            text = f"counters are too large to compute {name}"
            self._out_of_range.append(IolensError(text, self._base.name))
            self._run(f"CREATE TABLE {name} AS ({query}) WITH NO DATA")

    def servers(self, oss_of: Iterable[tuple[int, str]]) -> None:
        """Which server each storage target belongs to: (number of the target, name of the server)."""
        for ost, server in oss_of:
            self._connection.execute(f"INSERT INTO oss_of VALUES ({int(ost)}, {literal(server)})")

    def seal(self, readable: Sequence[str] = ()) -> None:
        """From now on statements reach the tables and nothing else: no network, no settings, and no files.

        readable: folders that the tables are views of.
        """
        if not self._sealed:
            if readable:
                folders = ", ".join(literal(folder) for folder in (*readable, self._folder))
                self._connection.execute(f"SET allowed_directories = [{folders}]")
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        self._sealed = True

    def interrupt(self) -> None:
        """From another thread: the statement that runs ends with duckdb.InterruptException."""
        self._connection.interrupt()

    # ---- asking ----

    def expect(self, statements: Iterable[str]) -> None:
        """Statements that will be asked: of a large log only columns that are named are loaded."""
        self._base.expect({word for statement in statements for word in re.findall(r"\w+", statement)})

    def prepare(self, statement: str) -> None:
        """Makes the tables that a statement names, for callers that use a cursor of ``connection``."""
        self._base.expect(set(re.findall(r"\w+", statement)))
        self._prepare(statement)

    def _prepare(self, statement: str) -> None:
        for name in _tables_of(statement):
            self._make(name)

    def _run(self, statement: str) -> duckdb.DuckDBPyConnection:
        self._prepare(statement)
        if _LISTS.search(statement):
            for name in sorted(self._known):
                self._make(name)
        while True:
            try:
                return self._execute(statement)
            except duckdb.CatalogException as error:  # named where _tables_of does not look
                found = _NO_TABLE.search(str(error))
                name = found[1].lower() if found else ""
                if name in self._made or name not in self._known:
                    raise
                self._make(name)
                if name not in self._made:
                    raise
            except duckdb.BinderException as error:
                found = _NO_COLUMN.search(str(error))
                if not found or not self._base.add_column(found[1]):
                    raise

    def query(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Runs a statement; the result has fetchall(), description and Arrow's forms. Raises duckdb.Error.

        parameters: numbers and text, for ``?`` a list, for ``$name`` a dict.
        """
        self.expect([statement])
        if not parameters:
            return self._run(statement)
        # A statement that has its values is planned once, a prepared one twice.
        if (filled := with_values(statement, parameters)) is not None:
            return self._run(filled)
        # DuckDB imports pandas, where there is one, to look at bound values: 0.3 s.
        self._run(f"PREPARE asked AS {statement}")
        if isinstance(parameters, Mapping):
            values = [f"{name} := {literal(value)}" for name, value in parameters.items()]
        else:
            values = [literal(value) for value in parameters]
        return self._own.execute(f"EXECUTE asked({', '.join(values)})")

    def rows(self, statement: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a statement, a dict per row."""
        result = self.query(statement, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row)) for row in result.fetchall()]

    def metric(self, name: str) -> list[dict[str, Any]]:
        """The rows of a metric; computed once. Raises IolensError if there is no such metric."""
        return self.rows(f"SELECT * FROM metric.{find_metric(name).name}")

    def value(self, name: str, log: int = 0) -> Any:
        """The ``value`` of a metric that has one per log; None where the log does not tell."""
        return next((row["value"] for row in self.metric(name) if row["log"] == log), None)

    def together(self, tasks: Sequence[Callable[[], Result]]) -> list[Callable[[], Result]]:
        """Functions for the results of tasks that ask, to be called in this order.

        Of small logs, whose statements take longer than their rows, two threads have done all tasks then. One that
        failed is done again when its function is called: it raises there, if it was not for what the other thread did.
        """
        if not self._small or len(os.sched_getaffinity(0)) < 2:
            return list(tasks)
        made = list(tasks)
        left = iter(range(len(made)))  # of both threads

        def work() -> None:
            for number in left:
                with contextlib.suppress(Exception):
                    made[number] = partial(_same, tasks[number]())

        def work_beside() -> None:
            self._of_thread.connection = self._cursor()
            work()

        other = threading.Thread(target=work_beside)
        other.start()
        try:
            work()
        finally:
            for _ in left:  # none, unless this was interrupted
                pass
            other.join()
        return made

    # ---- end ----

    def close(self) -> None:
        self._of_base.close()
        self._connection.close()
        self._remove_folder()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Dataset of {self._base.name}>"
