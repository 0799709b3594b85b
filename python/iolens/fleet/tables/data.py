"""A lake as a dataset: its files in place of logs, under every metric and every rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from iolens.error import USAGE, IolensError
from iolens.fleet.tables.delta import DAY
from iolens.fleet.tables.schema import Column, fingerprint, tables
from iolens.fleet.tables.snapshot import Place, Snapshot
from iolens.fleet.tables.write import listed
from iolens.log import scan
from iolens.log.table import Schema
from iolens.metrics import Dataset
from iolens.metrics.tables import DERIVED

__all__ = ["LakeData", "LakeTables", "TablesData"]

_HIVE = f"hive_partitioning = true, hive_types = {{'{DAY}': DATE}}"


class LakeTables:
    """The base tables of a lake at one moment: views of its files. See ``iolens.metrics.base.Base``."""

    paths: tuple[str, ...] = ()
    large = True

    def __init__(self, lake: Place, snapshot: Snapshot) -> None:
        self.lake = lake
        self.name = str(lake.path)
        self.tables = frozenset(tables())
        self._files = snapshot.files
        self._dead = snapshot.dead

    @property
    def problems(self) -> list[IolensError]:
        return []

    def open(self, connection: duckdb.DuckDBPyConnection, every_column: bool) -> None:
        self._connection = connection

    def make(self, name: str) -> None:
        self._connection.execute(f"CREATE VIEW {name} AS {self.stored(name)}")

    def stored(self, name: str) -> str:
        """SQL: what is in the lake of a table."""
        return self._select(name, tables()[name])

    def _select(self, name: str, columns: tuple[Column, ...]) -> str:
        files = self._files.get(name, [])
        of_logs = any(c.name == "log" for c in columns)
        dead = self._dead if of_logs else []
        mark = f".{fingerprint(columns)}"
        parts: dict[tuple[bool, bool], list[str]] = {}
        for file in files:
            touched = any(file.first <= log <= file.last for log in dead)
            parts.setdefault((touched, mark in file.path), []).append(f"{self.lake.path}/{name}/{file.path}")
        if not parts:
            empty = ", ".join(f'NULL::{c.type} AS "{c.name}"' for c in columns)
            return f"SELECT {empty}{f', NULL::DATE AS {DAY}' if of_logs else ''} WHERE FALSE"
        gone = f" WHERE log NOT IN ({', '.join(map(str, dead))})"
        selects = [
            f"SELECT {self._chosen(columns, paths, current)}{f', {DAY}' if of_logs else ''} FROM "
            f"{_read(paths, current, of_logs)}{gone if touched else ''}"
            for (touched, current), paths in parts.items()
        ]
        return " UNION ALL ".join(selects)

    def _chosen(self, columns: tuple[Column, ...], paths: list[str], current: bool) -> str:
        """The columns; null where files of another version have none of that name."""
        there = {c.name for c in columns}
        if not current:
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {_read(paths, False, False)}")
            there = {row[0] for row in described.fetchall()}
        return ", ".join(
            c.from_stored if c.name in there else f'NULL::{c.type} AS "{c.name}"' for c in columns
        )

    def expect(self, words: set[str]) -> None:
        """A view reads what is asked of it."""

    def add_column(self, column: str) -> bool:
        return False

    def has(self, module: str) -> bool:
        return bool(self._files.get(module))

    def schema(self, module: str) -> Schema:
        return scan([]).table(module).schema


def _read(paths: list[str], same_columns: bool, partitioned: bool) -> str:
    options = f", {_HIVE}" if partitioned else ", hive_partitioning = false"
    options += "" if same_columns else ", union_by_name = true"
    return f"read_parquet({listed(paths)}{options})"


class TablesData(Dataset):
    """The tables of a lake, whole or bounded, as a dataset: what is stored, and sums that are not stored yet."""

    def _make_now(self, name: str) -> None:
        if name == "file_sum":
            self._file_sum()
        else:
            super()._make_now(name)

    def _file_sum(self) -> None:
        """Of logs that were ingested without metrics, or by an older version, computed of their records."""
        base, (_, computed) = self._base, DERIVED["file_sum"]
        assert isinstance(base, LakeTables)
        kind = "VIEW" if base.large else "TABLE"
        self._connection.execute(f"CREATE {kind} stored_file_sum AS {base.stored('file_sum')}")
        stored = "SELECT * FROM stored_file_sum"
        lacking = """
            FROM job WHERE log NOT IN (SELECT log FROM metric WHERE name = 'used_files')
            OR log IN (SELECT log FROM stored_file_sum WHERE mount IS NULL)
        """
        (count,) = self._run(f"SELECT count(*) {lacking}").fetchall()[0]
        query = stored
        if count:
            self._prepare(computed)
            self._connection.execute(f"CREATE TABLE unsummed AS SELECT log, {DAY} {lacking}")
            self._connection.execute(
                f"CREATE TABLE summed AS SELECT * FROM ({computed}) JOIN unsummed USING (log)"
            )
            query = f"{stored} WHERE log NOT IN (SELECT log FROM unsummed) UNION ALL FROM summed"
        self._connection.execute(f"CREATE {kind} file_sum AS {query}")


class LakeData(TablesData):
    """A lake at one moment; see ``Dataset``. ``log`` is unique in the lake, and no number of a path.

    Beside a dataset's tables there are ``metric``, ``finding``, ``quarantine``, and more columns in ``job``.
    """

    def __init__(self, lake: Place, snapshot: Snapshot, memory: str = "") -> None:
        self.lake = lake
        self.snapshot = snapshot
        super().__init__(LakeTables(lake, snapshot), memory=memory)

    def __enter__(self) -> LakeData:
        return self

    def add_table(self, name: str, columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> None:
        """A table for the queries of this dataset alone; nothing is written to the lake."""
        self._connection.execute(
            f"CREATE TEMP TABLE {name} ({', '.join(f'{c.name} {c.type}' for c in columns)})"
        )
        row = f"({', '.join('?' * len(columns))})"
        for at in range(0, len(rows), 1000):
            part = rows[at : at + 1000]
            flat = [value for one in part for value in one]
            self._connection.execute(f"INSERT INTO {name} VALUES {', '.join([row] * len(part))}", flat)

    def seal(self, readable: Sequence[str] = ()) -> None:
        """From now on statements read the lake and do nothing else."""
        super().seal([str(self.lake.path.resolve()), *readable])

    def query(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """As of a dataset; sealed, it takes statements that read only, for the lake's files could be written to."""
        if self._sealed:
            refuse_writing(statement)
        return super().query(statement, parameters)


_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?(\([^)]*\)\s*)?", re.I)


def refuse_writing(statement: str) -> None:
    """Raises IolensError for what is not a query. Raises duckdb.Error for what is no SQL."""
    asked = statement
    while found := _EXPLAIN.match(asked):
        asked = asked[found.end() :]
    for one in duckdb.extract_statements(asked):
        # PIVOT becomes two statements: the first makes a type, and has no text.
        made = one.type == duckdb.StatementType.CREATE and not one.query
        if one.type != duckdb.StatementType.SELECT and not made:
            raise IolensError("only queries (SELECT) are possible on a lake", exit_code=USAGE)
