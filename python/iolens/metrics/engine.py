"""DuckDB's extension module without the package around it, whose import takes as long again: its version, and types.

Everything in the package that a dataset needs is an object of this module, whoever imports ``duckdb`` beside it.
"""

from __future__ import annotations

try:
    import _duckdb as duckdb
except ImportError:  # a release that names it otherwise; where there is none, this says so
    import duckdb  # type: ignore[no-redef]
if hasattr(duckdb, "_set_arrow_sources"):  # DuckDB 2 reads Arrow's streams with the package
    import duckdb  # type: ignore[no-redef]

__all__ = ["duckdb", "register"]


def register(connection: duckdb.DuckDBPyConnection, name: str, rows: object) -> None:
    """Gives Arrow's rows a name. DuckDB 2 refuses that while a result of the connection is open: it ends here."""
    if hasattr(connection, "abort"):
        connection.abort()
    connection.register(name, rows)
