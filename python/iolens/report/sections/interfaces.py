"""Each interface: files by kind, access pattern, sizes of accesses, operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from iolens.metrics.views import LIBRARY_OF
from iolens.report.document import Bars, Block, Column, Section, Series
from iolens.report.source import INTERFACE_TITLES, Source

__all__ = ["SIZE_CLASSES", "interfaces"]

SIZE_CLASSES = (
    "0–100 B",
    "100 B–1 KiB",
    "1–10 KiB",
    "10–100 KiB",
    "100 KiB–1 MiB",
    "1–4 MiB",
    "4–10 MiB",
    "10–100 MiB",
    "100 MiB–1 GiB",
    "1 GiB and more",
)
"""Of Darshan's counters, in order."""

_WORDS = {"coll": "collective", "indep": "independent", "nb": "non-blocking"}
_CATEGORIES = {
    "total": "all",
    "read_only": "read only",
    "write_only": "written only",
    "read_write": "read and written",
    "created": "created (written)",
    "unique": "used by one process",
    "shared": "used by several processes",
    "part_shared": "shared by some processes",
}


def _groups(source: Source) -> list[tuple[str, tuple[str, ...]]]:
    """What is shown together: HDF5's files and datasets, PnetCDF's files and variables."""
    found: dict[str, tuple[str, ...]] = {}
    for name in INTERFACE_TITLES:
        if name in source.interfaces:
            group = LIBRARY_OF.get(name, name)
            found[group] = (*found.get(group, ()), name)
    return list(found.items())


def _in(names: Iterable[str]) -> str:
    return "(" + ", ".join(f"'{name}'" for name in names) + ")"


def _categories(source: Source, group: str, members: tuple[str, ...]) -> list[Block]:
    words = " ".join(f"WHEN '{key}' THEN '{text}'" for key, text in _CATEGORIES.items())
    order = ", ".join(f"'{key}'" for key in _CATEGORIES)
    return [
        *source.table(
            f"files-{group}",
            f"{INTERFACE_TITLES[group]}: files by kind",
            (
                *((Column("of", "Object"),) if len(members) > 1 else ()),
                Column("kind", "Files"),
                Column("files", "Number", "count"),
                Column("bytes", "Bytes", "bytes"),
                Column(
                    "sized", "With data", "count", "files that were read or written: of these is the size"
                ),
                Column("mean_size", "Their average size", "bytes"),
                Column("max_size", "Largest", "bytes"),
            ),
            f"SELECT CASE category {words} ELSE category END AS kind, interface AS of, * FROM metric.file_categories "
            f"WHERE log = {{log}} AND interface IN {_in((*members, group))} "
            f"ORDER BY interface, list_position([{order}], category)",
            note="Size: up to the highest offset read or written, of files with data. Files that were only opened "
            "are in the first row alone.",
            metric="file_categories",
        )
    ]


def _of(rows: list[dict[str, Any]], members: tuple[str, ...], group: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["interface"] in (*members, group)]


def _pattern(source: Source, group: str, members: tuple[str, ...]) -> list[Block]:
    rows = _of(source.metric("access_pattern"), members, group)
    if not any(row["total"] for row in rows):
        return []
    by = {row["direction"]: row for row in rows}
    kinds = (("total", "All"), ("sequential", "Sequential"), ("consecutive", "Consecutive"))
    series = [
        Series(name, title, [by.get(name, {}).get(kind) or 0 for kind, _ in kinds])
        for name, title in (("read", "Reads"), ("write", "Writes"))
    ]
    return [
        Bars(
            f"{source.prefix}pattern-{group}",
            f"{INTERFACE_TITLES[group]}: access pattern",
            [title for _, title in kinds],
            series,
            "count",
            note="Sequential: at a higher offset than the access before. Consecutive: right behind it; "
            "counted in sequential too.",
            metric="access_pattern",
            axis="calls",
        )
    ]


def _size_bars(source: Source, name: str, title: str, rows: list[dict[str, Any]]) -> list[Block]:
    if not any(row["count"] for row in rows):
        return []
    labels = {place: SIZE_CLASSES[place] for place in sorted({row["class"] for row in rows})}
    series = []
    for direction, heading in (("read", "Reads"), ("write", "Writes")):
        counts = {row["class"]: row["count"] for row in rows if row["direction"] == direction}
        series.append(Series(direction, heading, [counts.get(c) or 0 for c in labels]))
    return [
        Bars(
            f"{source.prefix}{name}",
            title,
            list(labels.values()),
            series,
            "count",
            note="Size of a call, and the number of calls of this size.",
            metric="access_sizes",
            axis="calls",
        )
    ]


def _sizes(source: Source, group: str, members: tuple[str, ...]) -> list[Block]:
    rows = _of(source.metric("access_sizes"), members, group)
    blocks: list[Block] = []
    for interface in dict.fromkeys(row["interface"] for row in rows):
        for kind in dict.fromkeys(row["kind"] for row in rows if row["interface"] == interface):
            chosen = [row for row in rows if (row["interface"], row["kind"]) == (interface, kind)]
            words = "" if kind == "all" else f", {kind}"
            title = f"{INTERFACE_TITLES.get(interface, interface)}: sizes of accesses{words}"
            blocks += _size_bars(source, f"sizes-{interface}-{kind}", title, chosen)
    return blocks


def _common(source: Source, group: str, members: tuple[str, ...]) -> list[Block]:
    return [
        *source.table(
            f"common-{group}",
            f"{INTERFACE_TITLES[group]}: most frequent access sizes",
            (
                *((Column("interface", "Interface"),) if len(members) > 1 else ()),
                Column("size", "Size", "bytes"),
                Column("exact", "Size in bytes", "count"),
                Column("count", "Accesses", "count"),
            ),
            f"SELECT *, size AS exact FROM metric.common_sizes WHERE log = {{log}} AND interface IN "
            f"{_in((*members, group))} "
            "ORDER BY interface, place",
            note="Darshan keeps the four most frequent sizes of each file: what is frequent over all files "
            "may be missing.",
            metric="common_sizes",
        )
    ]


def _operations(source: Source, group: str, members: tuple[str, ...]) -> list[Block]:
    rows = _of(source.metric("operation_counts"), members, group)
    if not any(row["count"] for row in rows):
        return []
    several = len({row["interface"] for row in rows}) > 1

    def label(row: dict[str, Any]) -> str:
        title = INTERFACE_TITLES.get(row["interface"], row["interface"])
        words = " ".join(_WORDS.get(word, word) for word in str(row["operation"]).split("_"))
        return f"{title}: {words}" if several else words

    return [
        Bars(
            f"{source.prefix}operations-{group}",
            f"{INTERFACE_TITLES[group]}: operations",
            [label(row) for row in rows],
            [Series("first", "Calls", [row["count"] for row in rows])],
            "count",
            metric="operation_counts",
            axis="calls",
        )
    ]


def interfaces(source: Source) -> list[Section]:
    sections = []
    for group, members in _groups(source):
        blocks: list[Block] = []
        for part in (_categories, _sizes, _operations, _pattern, _common):
            blocks += part(source, group, members)
        if blocks:
            sections.append(Section(f"{source.prefix}interface-{group}", INTERFACE_TITLES[group], blocks))
    return sections
