"""Where in a file, and when: from traces, bounded whatever their length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iolens.log.modules import TRACES
from iolens.report.document import Block, Offsets, Traced
from iolens.report.source import INTERFACE_TITLES, Source
from iolens.report.units import counted

__all__ = ["offsets"]

FILES = 6
"""Files of a trace that are drawn: those with most accesses."""

SINGLE = 1500
"""Accesses of a file up to which each one is drawn."""

GRID = (160, 100)
"""Places in time and in the file on which more are counted: at most 32,000 marks a file."""


def _most(source: Source, table: str) -> list[tuple[Any, ...]]:
    """Id, name, bytes to the end of the furthest access, accesses; the most accessed first."""
    return source.ask(f"""
        SELECT id, coalesce(any_value(name), '<unnamed ' || id || '>'),
            max(greatest(0, "offset") + greatest(0, length)), count(*)
        FROM {table} LEFT JOIN name_of USING (log, id) WHERE log = {{log}} AND "offset" >= 0
        GROUP BY id ORDER BY 4 DESC, 2, id LIMIT {FILES}
    """)


_KIND = "CASE operation WHEN 'write' THEN 1 ELSE 0 END"


def _traced(source: Source, table: str, end: float, row: tuple[Any, ...]) -> Traced:
    number, name, size, count = row
    which = f'FROM {table} WHERE log = {{log}} AND id = {number} AND "offset" >= 0'
    if count <= SINGLE:
        accesses = source.ask(
            f'SELECT greatest(0, start), greatest(0, "end" - start), "offset", greatest(0, length), {_KIND}, rank '
            f"{which} ORDER BY start, rank, 2, 3, 4, 5"
        )
        return Traced(str(name), int(size), count, accesses, [])
    wide, tall = GRID
    cells = source.ask(f"""
        SELECT least({wide - 1}, floor(greatest(0, start) / {end!r} * {wide}))::INTEGER,
            least({tall - 1}, floor("offset" / {max(1, int(size))} * {tall}))::INTEGER, {_KIND}, count(*),
            sum(greatest(0, length))::BIGINT {which} GROUP BY 1, 2, 3 ORDER BY ALL
    """)
    return Traced(str(name), int(size), count, [], cells)


def offsets(source: Source) -> Iterator[Block]:
    """A figure per trace that has accesses; MPI-IO's first, as the program asked for them."""
    for table in reversed([m.key for m in TRACES if m.key]):
        most = _most(source, table)
        if not most:
            continue
        last = source.ask(f'SELECT max("end") FROM {table} WHERE log = {{log}}')[0][0]
        end = max(source.span, float(last or 0))
        total = source.ask(f"SELECT count(DISTINCT id) FROM {table} WHERE log = {{log}}")[0][0]
        note = "Up is further into the file."
        if total > len(most):
            note += f" The {counted(len(most), 'file')} with most accesses, of {total:,}."
        if any(row[3] > SINGLE for row in most):
            note += (
                f" Of files with more than {counted(SINGLE, 'access')} it is counted where and when they begin, on a "
                f"grid of {GRID[0]} times and {GRID[1]} offsets."
            )
        title = INTERFACE_TITLES[table]
        yield Offsets(
            f"{source.prefix}offsets-{table}",
            f"{title}: where in a file, and when",
            [_traced(source, table, end, row) for row in most],
            end,
            GRID,
            note=note,
        )
