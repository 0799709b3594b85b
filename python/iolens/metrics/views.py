"""The view ``record``: one row per record of any interface, its columns named by what counters mean (their roles)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iolens.log.modules import KNOWN, TRACES, KnownModule
from iolens.log.table import Field, Schema

__all__ = [
    "INTERFACES",
    "LIBRARY_OF",
    "LISTS",
    "MODULES",
    "OVER",
    "TITLES",
    "accesses",
    "macros",
    "record_columns",
    "record_query",
    "record_select",
]

_DECODED = {m.key: m for m in KNOWN if m.key and m.version}

INTERFACES = tuple(key for key, m in sorted(_DECODED.items(), key=lambda of: not of[1].recorded) if m.roles)
"""Modules whose counters have roles: records of files or parts of them. Those that iolens records come first."""

MODULES = (*INTERFACES, *(key for key, m in _DECODED.items() if not m.roles and key != "null"))
"""Modules that are a table each, empty if no log has data of them."""


def _shown(of: tuple[str, KnownModule]) -> int:
    """What iolens records itself first, then libraries of data formats, then what other tools record."""
    _, module = of
    return 1 if module.level == "library" else 0 if module.recorded else 2


_INTERFACES = [(key, _DECODED[key]) for key in INTERFACES]
_SHOWN = sorted(_INTERFACES, key=_shown)
_DATA = [(key, m) for key, m in _INTERFACES if m.level in {"libc", "middleware"}]
_LIBRARY = [(key, m) for key, m in _INTERFACES if m.level == "library"]

LISTS = {
    "libc_interfaces": [key for key, m in _DATA if m.level == "libc"],
    "data_interfaces": [key for key, _ in _DATA],
    "recorded_interfaces": [key for key, m in _DATA if m.recorded],
    "library_interfaces": [key for key, _ in _LIBRARY],
    "library_files": [key for key, m in _LIBRARY if not m.within],
    "libraries": list(dict.fromkeys(m.library or key for key, m in _SHOWN)),
    "forcing_calls": ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync", "forced_write"],
}
"""Lists of interfaces as functions of SQL without arguments, in the order in which they are shown.

libc: what reaches the operating system. data: these, and what moves data below libraries of data formats; recorded: of
these, what iolens records. library: the libraries; of these, those that have files and not what is in files. libraries:
every interface, those of one library as one. The last list has no interfaces but the operations of POSIX that force
data to storage.
"""

TITLES = {
    word: title
    for key, m in _SHOWN
    for word, title in ((m.library, m.library_title), (key, m.title))
    if word and title
}
"""Libraries and interfaces as readers know them, in the order in which they are shown."""

OVER = {key: m.over for key, m in _INTERFACES if m.over}
"""Interface -> the one whose records hold what it moved."""

LIBRARY_OF = {key: m.library for key, m in _INTERFACES if m.library}
"""Interface -> the library that it is shown with."""


def macros() -> list[str]:
    """
    The functions about interfaces that queries may call: ``LISTS``, and

    * ``library_of(interface)``: hdf5, pnetcdf, or the interface itself
    * ``lowest_of(interface)``: the interface whose records hold what this one moved, or the interface itself
    """
    made = [f"CREATE MACRO {name}() AS {keys}::VARCHAR[]" for name, keys in LISTS.items()]
    for name, of in (("library_of", LIBRARY_OF), ("lowest_of", OVER)):
        cases = " ".join(f"WHEN '{key}' THEN '{value}'" for key, value in of.items())
        made.append(f"CREATE MACRO {name}(interface) AS CASE interface {cases} ELSE interface END")
    return made


def accesses() -> str:
    """SELECT over the accesses of all traces: ``dxt_access``."""
    parts = (
        f'SELECT log, \'{m.traces}\' AS interface, id, rank, operation, "offset", length, "start", "end" FROM {m.key}'
        for m in TRACES
    )
    return " UNION ALL ".join(parts)


# Roles that are added up: what a record has none of is null.
_COUNTS = ("opens", "reads", "writes", "syncs", "meta_ops", "bytes_read", "bytes_written")
_TIMES = ("read_time", "write_time", "meta_time")
_MAXIMA = ("max_offset_read", "max_offset_written")
_STAMPS = ("open_start", "read_start", "write_start", "read_end", "write_end", "close_end")
# Extreme ranks: the role has a rank, bytes and seconds, told apart by the end of the counter's name.
_EXTREMES = ("fastest", "slowest")
_CLASSES = (("size_read", "size_hist_read"), ("size_write", "size_hist_write"))


def _counted(field: Field) -> str:
    """A count below 0 was not counted: -1 of one rank, -4 of four ranks that were added."""
    return f'CASE WHEN "{field.name}" >= 0 THEN "{field.name}" END'


def _count(fields: list[Field]) -> str:
    if len(fields) == 1:
        return _counted(fields[0])
    return " + ".join(f"coalesce({_counted(f)}, 0)" for f in fields) or "NULL"


def _opens(of: Callable[[str], list[Field]]) -> str:
    """Without calls that only gave what was open another descriptor."""
    opens, copies = _count(of("opens")), of("copies")
    return f"greatest(0, ({opens}) - ({_count(copies)}))" if copies else opens


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
        *_COUNTS,
        "copies",
        *_TIMES,
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
    columns += [f"({_opens(of) if r == 'opens' else _count(of(r))})::BIGINT AS {r}" for r in _COUNTS]
    columns += [f"({_sum(of(r))})::DOUBLE AS {r}" for r in _TIMES]
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


def record_query(schemas: Mapping[str, Schema]) -> str:
    """The query of ``record``. schemas: interface -> the columns of its table, of those that have rows."""
    parts = " UNION ALL ".join(record_select(interface, schema) for interface, schema in schemas.items())
    return f"""
        SELECT *, coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0) AS total_time,
            CASE WHEN rank < 0 AND slowest_time IS NOT NULL THEN slowest_time
            ELSE coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0) END AS io_time
        FROM ({parts})
    """
