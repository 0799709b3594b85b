"""The base tables of logs: what the log library reads, loaded into DuckDB."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Union

from iolens.error import USAGE, IolensError
from iolens.log import Log, Scan
from iolens.log import open as open_log
from iolens.log.table import Schema, Table
from iolens.metrics.base import told
from iolens.metrics.engine import duckdb, register
from iolens.metrics.literal import texts
from iolens.metrics.metric import words
from iolens.metrics.plausible import implausible
from iolens.metrics.sections import SECTIONS
from iolens.metrics.tables import DERIVED
from iolens.metrics.views import INTERFACES, MODULES, record_columns
from iolens.progress import each

__all__ = ["LARGE_BYTES", "PLAIN", "SMALL_BYTES", "LogTables"]

AnyPath = Union[str, "os.PathLike[str]"]

LARGE_BYTES = 8 << 20
"""Logs with more than this many stored bytes of records are kept in a file, not in memory."""

SMALL_BYTES = 1 << 20
"""With no more, statements cost more than rows: threads would only wait for each other."""

# Rows in memory at a time.
_BATCH = 8192

_TABLES_WORDS = frozenset(re.findall(r"\w+", " ".join(query for _, query in DERIVED.values())))

PLAIN = {"job_of": "job", "mount": "mounts", "metadata": "metadata", "module": "modules", "name_of": "names"}
"""Table -> what the log library calls it."""


class LogTables:
    """Of one or more logs; ``log`` is the number of the log in ``paths``. See ``Base``."""

    tables = frozenset({*PLAIN, *MODULES, *SECTIONS})

    def __init__(
        self,
        paths: AnyPath | Iterable[AnyPath],
        logs: Iterable[Log] | None = None,
        threads: int | None = None,
        large: bool | None = None,
    ) -> None:
        """logs: the same, open already. threads: that read them, None for one per processor.

        large: keep them in a file; None if they are.
        """
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not listed:
            raise IolensError("no log given", exit_code=USAGE)
        self.paths = tuple(os.fspath(p) for p in listed)
        self.name = self.paths[0] if len(self.paths) == 1 else f"{len(self.paths)} logs"
        opened = logs or (open_log(p) for p in each("opening logs", self.paths, len(self.paths)))
        self.logs = tuple(opened)
        """The open logs."""
        for log in self.logs:
            _ = log.job  # without it nothing can be told of a log
        stored = sum(m.stored for log in self.logs for m in log.modules.values())
        self.small = stored <= SMALL_BYTES
        # A log that is read through one handle keeps its names: of large ones each table opens the file again.
        self._scan = Scan(self.paths, threads, logs=self.logs if logs or self.small else None)
        self.large = stored > LARGE_BYTES if large is None else large
        self._words: set[str] = set()
        self._left_out_rows: list[tuple[int, str]] = []
        self._left_out: dict[str, set[str]] = {}
        self._made: set[str] = set()
        self._schemas: dict[str, Schema] = {}
        self._lock = threading.RLock()

    def open(self, connection: duckdb.DuckDBPyConnection, every_column: bool) -> None:
        self._connection = connection
        self._every_column = every_column
        connection.execute("CREATE TABLE path (log BIGINT, path VARCHAR)")
        named = [
            path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for path in self.paths
        ]
        connection.execute(f"INSERT INTO path SELECT unnest(range({len(named)})), unnest({texts(named)})")

    @property
    def problems(self) -> list[IolensError]:
        return self._scan.errors + [
            IolensError(text, self.paths[log]) for log, text in sorted(self._left_out_rows)
        ]

    def expect(self, words: set[str]) -> None:
        self._words |= words

    @cached_property
    def _here(self) -> set[str]:
        return {m.key for log in self.logs for m in log.modules.values() if m.stored}

    @cached_property
    def _sections(self) -> set[str]:
        return {section for log in self.logs for section in log.trailer}

    def has(self, module: str) -> bool:
        return module in self._here

    def filled(self, name: str) -> bool:
        """Can the table have rows?"""
        if name in SECTIONS:
            return name in self._sections
        return name in PLAIN or self.has(name)

    def schema(self, module: str) -> Schema:
        if module not in self._schemas:
            self._schemas[module] = self._scan.table(module).schema
        return self._schemas[module]

    # ---- tables ----

    def make(self, name: str) -> None:
        with self._lock:
            try:
                self._make(name)
            except BaseException:  # the next query of it gets the same error
                self._connection.execute(f"DROP TABLE IF EXISTS {name}")
                raise
            self._made.add(name)

    def _make(self, name: str) -> None:
        if name in PLAIN:
            self._load(name, self._scan.table(PLAIN[name], batch_rows=_BATCH))
        elif name in SECTIONS:
            self._section(name)
        else:
            self._module(name)

    def _with_source(self, source: Table, statement: str) -> None:
        register(self._connection, "source", source.__arrow_c_stream__())
        try:
            with told(self.name):
                self._connection.execute(statement)
        finally:
            self._connection.unregister("source")
        self._scan.refuse_large()

    def _load(self, name: str, source: Table) -> None:
        self._with_source(source, f"CREATE TABLE {name} AS SELECT * FROM source")

    def _leave_out(self, name: str, wrong: str) -> None:
        """Rows that cannot be true would be in every sum: they are reported and left out."""
        per_log = f"SELECT log, count(*) FROM {name} WHERE {wrong} GROUP BY log ORDER BY log"
        damaged = [] if wrong == "FALSE" else self._connection.execute(per_log).fetchall()
        for log, rows in damaged:
            text = (
                f"{rows} {'row' if rows == 1 else 'rows'} of {name} left out: no program reaches such numbers"
            )
            if (log, text) not in self._left_out_rows:
                self._left_out_rows.append((log, text))
        if damaged:
            self._connection.execute(f"DELETE FROM {name} WHERE {wrong}")

    def pass_module(self, module: str, statement: str) -> None:
        """Runs a statement over all rows of a module, which it calls ``source``, without keeping them in a table."""
        self._with_source(self._scan.table(module, batch_rows=_BATCH), statement)

    def _module(self, module: str) -> None:
        table, schema = self._scan.table(module, batch_rows=_BATCH), self.schema(module)
        chosen = schema.names
        if module in INTERFACES and not self._every_column:
            chosen = self._columns(schema)
            self._left_out[module] = set(schema.names) - set(chosen)
            table = table.select(chosen)
        self._load(module, table)
        if self.has(module):
            self._leave_out(module, implausible(schema, set(chosen)))

    def _columns(self, schema: Schema) -> tuple[str, ...]:
        """Those that some query asks for: the columns of ``record``, and what is named somewhere."""
        chosen = words() | _TABLES_WORDS | self._words | {"log", "id", "rank"} | record_columns(schema)
        return tuple(field.name for field in schema if field.name in chosen)

    def add_column(self, column: str) -> bool:
        """Reads the loaded modules that have this column, and were read without it, again."""
        with self._lock:
            self._words.add(column)
            left_out = self._left_out.items()
            lacking = [module for module, columns in left_out if column in columns and module in self._made]
            for module in lacking:
                self._connection.execute(f"DROP TABLE {module}")
                self._module(module)
            return bool(lacking)

    def _section(self, section: str) -> None:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in SECTIONS[section].items())
        self._connection.execute(f"CREATE TABLE {section} (log BIGINT, {columns})")
        if section not in self._sections:
            return
        source = self._scan.section(section, among=SECTIONS[section])
        names = list(source.schema.names)  # the last one is the number of the log
        names = ["log_name" if name == "log" else name for name in names[:-1]] + names[-1:]
        here = ", ".join(f'"{name}"' for name in names if name == "log" or name in SECTIONS[section])
        given = ", ".join(f'"{name}"' for name in names)
        self._with_source(source, f"INSERT INTO {section} BY NAME SELECT {here} FROM source AS s({given})")
        self._leave_out(section, implausible(source.schema, set(SECTIONS[section])))
