"""The view ``record``: one row per record of any interface, its columns named by what counters mean (their roles)."""

from __future__ import annotations

from iolens.log.table import Field, Schema

__all__ = ["INTERFACES", "record_columns", "record_select"]

INTERFACES = ("posix", "mpiio", "stdio", "h5f", "h5d", "pnetcdf_file", "pnetcdf_var", "dfs", "daos")
"""Modules whose records are files or parts of them, in the order in which reports show them."""

# Roles that are added up: what a record has none of is null.
_SUMS = (
    *("opens", "reads", "writes", "syncs", "meta_ops", "bytes_read", "bytes_written"),
    *("read_time", "write_time", "meta_time"),
)
_MAXIMA = ("max_offset_read", "max_offset_written")
_STAMPS = ("open_start", "read_start", "write_start", "read_end", "write_end", "close_end")
# Extreme ranks: the role has a rank, bytes and seconds, told apart by the end of the counter's name.
_EXTREMES = ("fastest", "slowest")
_CLASSES = (("size_read", "size_hist_read"), ("size_write", "size_hist_write"))


def _sum(fields: list[Field]) -> str:
    if not fields:
        return "NULL"
    if len(fields) == 1:
        return f'"{fields[0].name}"'
    return " + ".join(f'coalesce("{f.name}", 0)' for f in fields)


def _named(fields: list[Field], end: str) -> str:
    return next((f'"{f.name}"' for f in fields if f.name.endswith(end)), "NULL")


def _common_sizes(fields: list[Field]) -> tuple[str, str]:
    """The most frequent access sizes and their counts; a pattern of several dimensions counts by its size alone."""
    values = [f for f in fields if not f.name.endswith("_count")]
    counts = [f for f in fields if f.name.endswith("_count")]
    if not values or not counts:
        return "NULL::BIGINT[]", "NULL::BIGINT[]"
    step = values[0].count // counts[0].count
    value = f'"{values[0].name}"'
    if step > 1:
        value = "[" + ", ".join(f"{value}[{1 + i * step}]" for i in range(counts[0].count)) + "]"
    return f"{value}::BIGINT[]", f'"{counts[0].name}"::BIGINT[]'


def record_columns(schema: Schema) -> set[str]:
    """The columns of a module's table that the view is made of."""
    roles = {
        *_SUMS,
        *_MAXIMA,
        *_STAMPS,
        *_EXTREMES,
        "variance",
        "common_access",
        *(role for _, role in _CLASSES),
    }
    return {field.name for field in schema if field.role in roles}


def record_select(interface: str, schema: Schema) -> str:
    """SELECT over the table of one module, with the columns of ``record``; NULL where the module lacks a role."""
    by_role: dict[str, list[Field]] = {}
    for field in schema:
        by_role.setdefault(field.role, []).append(field)

    def of(role: str) -> list[Field]:
        return by_role.get(role, [])

    columns = ["log", f"'{interface}' AS interface", "id", "rank"]
    columns += [f"({_sum(of(r))})::{'DOUBLE' if r.endswith('_time') else 'BIGINT'} AS {r}" for r in _SUMS]
    columns += [f"{_sum(of(r))}::BIGINT AS {r}" for r in _MAXIMA]
    columns += [f"{_sum(of(r))}::DOUBLE AS {r}" for r in _STAMPS]
    for role in _EXTREMES:
        columns += [
            f"{_named(of(role), '_rank')}::BIGINT AS {role}_rank",
            f"{_named(of(role), '_bytes')}::BIGINT AS {role}_bytes",
            f"{_named(of(role), '_time')}::DOUBLE AS {role}_time",
        ]
    columns += [
        f"{_named(of('variance'), '_time')}::DOUBLE AS variance_time",
        f"{_named(of('variance'), '_bytes')}::DOUBLE AS variance_bytes",
    ]
    columns += [f"{_sum(of(role))}::BIGINT[] AS {name}" for name, role in _CLASSES]
    values, counts = _common_sizes(of("common_access"))
    columns += [f"{values} AS access", f"{counts} AS access_count"]
    return f"SELECT {', '.join(columns)} FROM {interface}"
