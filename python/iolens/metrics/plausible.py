"""Which rows of a log cannot be true: numbers that no program reaches, left by damage that no checksum tells."""

from __future__ import annotations

from iolens.log.table import Field, Schema

__all__ = ["implausible"]

LARGEST = 1 << 56
"""Of a count, or of a record's bytes: 72 petabytes. Sums over every record of a log stay within 64 bits."""
LONGEST = 1e12
"""Seconds: 31,000 years."""

_ADDED = ("sum", "sum_or_missing")
_UNITS = ("bytes", "byte")
_TIMES = ("seconds", "s")


def _condition(field: Field) -> str | None:
    if field.type == "double" and field.unit in _TIMES:
        low, high = f"-{LONGEST:.0e}", f"{LONGEST:.0e}"
    elif field.type in ("int64", "uint64") and (
        field.reduce in _ADDED or (field.unit in _UNITS and not field.reduce)
    ):
        low, high = str(-LARGEST), str(LARGEST)
    else:
        return None
    value = f'"{field.name}"'
    if field.count == 1:
        return f"{value} NOT BETWEEN {low} AND {high}"
    return f"list_max({value}) > {high} OR list_min({value}) < {low}"


def implausible(schema: Schema, columns: set[str]) -> str:
    """The SQL condition that is true for a row with such a number in one of the columns; FALSE if none can have one."""
    conditions = (_condition(field) for field in schema if field.name in columns)
    return " OR ".join(c for c in conditions if c) or "FALSE"
