"""A data set as the base tables of a dataset, so that metrics and rules run over it as over logs."""

from __future__ import annotations

from pathlib import Path

import duckdb

from iolens.error import IolensError
from iolens.fleet.published.read import Published
from iolens.fleet.tables.schema import tables
from iolens.log import scan
from iolens.log.table import Schema

__all__ = ["PublishedTables"]

_LARGE = 64 << 20


class PublishedTables:
    """Of one file. See ``iolens.metrics.base.Base``."""

    paths: tuple[str, ...] = ()

    def __init__(self, path: str) -> None:
        self.name = path
        self.large = Path(path).is_file() and Path(path).stat().st_size > _LARGE
        self.tables = frozenset({*tables(), "path"})

    @property
    def problems(self) -> list[IolensError]:
        return []

    def open(self, connection: duckdb.DuckDBPyConnection, every_column: bool) -> None:
        self._connection = connection
        self.published = Published(connection, self.name)
        self._selects = dict(self.published.tables())

    def make(self, name: str) -> None:
        if name == "path":
            self._connection.execute(f"CREATE VIEW path AS SELECT log, path FROM ({self._selects['job']})")
            return
        listed = ", ".join(f'"{column.name}" {column.type}' for column in tables()[name])
        self._connection.execute(f"CREATE TABLE {name} ({listed})")
        if name in self._selects:
            self._connection.execute(f"INSERT INTO {name} BY NAME {self._selects[name]}")

    def expect(self, words: set[str]) -> None:
        """Every column is there."""

    def add_column(self, column: str) -> bool:
        return False

    def has(self, module: str) -> bool:
        return module in self.published.columns.modules

    def schema(self, module: str) -> Schema:
        return scan([]).table(module).schema
