"""DuckDB's extension module without the package around it, whose import takes as long again: its version, and types.

Everything that a dataset needs is an object of this module. Programs may import ``duckdb``, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

try:
    import _duckdb as duckdb
except ImportError:  # a release that names it otherwise; where there is none, this says so
    import duckdb  # type: ignore[no-redef]
if hasattr(duckdb, "_set_arrow_sources"):  # DuckDB 2 reads Arrow's streams with the package
    import duckdb  # type: ignore[no-redef]

__all__ = ["connect", "duckdb", "register"]


def connect(place: str = ":memory:", config: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyConnection:
    """A database of our own, without the step that keeps numbers in narrower types between operators.

    DuckDB 2.0.1 takes types there that are too narrow for sums of sums: 26,246 calls became -122.
    """
    return duckdb.connect(
        place, config={**(config or {}), "disabled_optimizers": "compressed_materialization"}
    )


def register(connection: duckdb.DuckDBPyConnection, name: str, rows: object) -> None:
    """Gives Arrow's rows a name. DuckDB 2 refuses that while a result of the connection is open: it ends here."""
    if hasattr(connection, "abort"):
        connection.abort()
    connection.register(name, rows)
