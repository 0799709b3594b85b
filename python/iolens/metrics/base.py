"""Where a dataset has its base tables from: everything else in it is made of these, by the same SQL."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Protocol

from iolens.error import MORE_MEMORY, IolensError
from iolens.log.table import Schema
from iolens.metrics.engine import duckdb

__all__ = ["Base", "told"]


class Base(Protocol):
    """Base tables in DuckDB's connection, each made when it is first asked for."""

    name: str
    """Of all of it, for messages."""
    paths: tuple[str, ...]
    """Of the logs, by number; empty where the table ``path`` has them."""
    large: bool
    """The tables shall be in a file, not in memory."""

    @property
    def tables(self) -> Collection[str]:
        """Those that ``make`` makes. One that a dataset would compute itself is taken from here instead."""

    @property
    def problems(self) -> list[IolensError]:
        """Damage met while reading."""

    def open(self, connection: duckdb.DuckDBPyConnection, every_column: bool) -> None:
        """Called once, before everything else; makes the table ``path``."""

    def make(self, name: str) -> None:
        """Makes the table, without rows if there are none."""

    def expect(self, words: set[str]) -> None:
        """Words of statements that will be asked: other columns need not be there."""

    def add_column(self, column: str) -> bool:
        """A statement names this column: False if no table can be given it."""

    def has(self, module: str) -> bool:
        """Are there rows of this module?"""

    def schema(self, module: str) -> Schema:
        """The columns of a module's table, with their roles."""


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """Too little memory, in words."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise IolensError(f"not enough memory: {MORE_MEMORY}", name) from error
