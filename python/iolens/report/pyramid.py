"""Traces of any length as a few levels of detail: what a page can hold and a screen can show.

The finest level is made in one pass over the accesses, the coarser ones from it. An access that lasts for many
stretches of time costs two marks, not one per stretch: sums over marks give what lies between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iolens.metrics import Dataset

__all__ = ["ROWS", "Pyramid", "Trace", "levels", "per_row"]

ROWS = 128
"""Rows of a timeline; more ranks share rows."""

FINEST = 16384
LEVELS = (256, 1024, 4096, FINEST)
CELLS = 150_000
"""A level with more cells than this is left out, but for the coarsest."""

EXACT = 12_000
"""Traces of at most this many accesses are shown access by access."""

LONGEST = 2_000
"""Of longer traces, so many of the longest accesses."""

Cell = tuple[int, int, float, float, float, int]
Access = tuple[int, float, float, int, int, int, int]


@dataclass(frozen=True)
class Trace:
    """A SELECT with columns rank, start, "end", kind (0 read, 1 write, 2 metadata), weight (share of the stretch that
    was spent so), bytes, place (offset), id."""

    sql: str
    accesses: int
    end: float
    shared: bool = False
    """Are stretches spent in several ways at once? Then none of them can be drawn as one access."""


@dataclass(frozen=True)
class Pyramid:
    levels: list[tuple[int, list[Cell]]]
    accesses: list[Access]
    files: list[str]
    complete: bool


def per_row(ranks: int, rows: int = ROWS) -> int:
    """How many ranks share a row: the least power of two that fits."""
    number = 1
    while ranks > rows * number:
        number *= 2
    return number


def _marks(trace: Trace, group: int) -> str:
    """Per row, kind and stretch: time busy in it, and by how much what is busy throughout changes at it."""
    width = trace.end / FINEST
    parts = (
        # An access inside one stretch; the first and the last part of one that passes a border.
        ("CASE WHEN fb = fa THEN b - a ELSE fa + 1 - a END", "0.0", "fa", "true"),
        ("b - fb", "0.0", "fb", "fb > fa"),
        ("0.0", "1.0", "fa + 1", "fb > fa + 1"),
        ("0.0", "-1.0", "fb", "fb > fa + 1"),
    )
    union = " UNION ALL ".join(
        f"SELECT row, kind, {bin} AS bin, weight * ({busy}) AS busy, weight * ({step}) AS step, "
        f"CASE WHEN b > a THEN bytes / (b - a) * ({busy}) WHEN {step} = 0 AND fa = fb THEN bytes ELSE 0 END AS bytes, "
        f"CASE WHEN b > a THEN bytes / (b - a) * ({step}) ELSE 0 END AS bytes_step FROM span WHERE {where}"
        for busy, step, bin, where in parts
    )
    return f"""
        WITH span AS MATERIALIZED (
            SELECT *, least({FINEST - 1}, floor(a))::INTEGER AS fa, least({FINEST - 1}, floor(b))::INTEGER AS fb
            FROM (
                SELECT rank // {group} AS row, kind, weight, coalesce(bytes, 0) AS bytes,
                    greatest(0, start) / {width!r} AS a, greatest(0, start, "end") / {width!r} AS b
                FROM ({trace.sql})
            )
        ), marks AS (
            SELECT row, kind, bin, sum(busy) AS busy, sum(step) AS step, sum(bytes) AS bytes,
                sum(bytes_step) AS bytes_step
            FROM ({union}) GROUP BY ALL
        )
        SELECT row, kind, bin, busy, bytes,
            sum(step) OVER same AS through, sum(bytes_step) OVER same AS bytes_through,
            coalesce(lead(bin) OVER same, bin + 1) AS next
        FROM marks WINDOW same AS (PARTITION BY row, kind ORDER BY bin)
    """


def _finest(data: Dataset, trace: Trace, group: int) -> None:
    """The table ``finest``: busy time in stretches, and bytes, per row, kind and stretch."""
    data.query(f"""
        CREATE OR REPLACE TEMP TABLE finest AS
        WITH runs AS MATERIALIZED ({_marks(trace, group)})
        SELECT row, kind, bin, busy + greatest(0, through) AS busy, bytes + greatest(0, bytes_through) AS bytes
        FROM runs
        UNION ALL
        SELECT row, kind, unnest(range(bin + 1, next)), through, bytes_through
        FROM runs WHERE through > 1e-6 AND next > bin + 1
    """)


def _cells(data: Dataset, bins: int, group: int) -> list[Cell]:
    step = FINEST // bins
    kinds = ", ".join(f"coalesce(sum(busy) FILTER (kind = {k}), 0) / {step * group}" for k in range(3))
    found: list[Cell] = data.query(f"""
        SELECT row, bin // {step} AS part, {kinds}, sum(bytes)::BIGINT
        FROM finest GROUP BY ALL ORDER BY row, part
    """).fetchall()
    return found


def levels(data: Dataset, trace: Trace, ranks: int, name: Callable[[list[int]], dict[int, str]]) -> Pyramid:
    """The trace at several levels of detail; ``name`` gives the names of file ids."""
    group = per_row(ranks)
    complete = trace.accesses <= EXACT and not trace.shared
    made: list[tuple[int, list[Cell]]] = []
    _finest(data, trace, group)
    for bins in LEVELS:
        cells = _cells(data, bins, group)
        if made and (len(cells) > CELLS or complete):
            break
        made.append((bins, cells))
    data.query("DROP TABLE finest")
    if trace.shared:
        return Pyramid(made, [], [], complete)
    most = trace.accesses if complete else LONGEST
    rows = data.query(f"""
        SELECT rank // {group}, start, greatest(0, "end" - start), kind, bytes, place, id FROM ({trace.sql})
        ORDER BY "end" - start DESC, start, rank, kind, place, id, bytes LIMIT {most}
    """).fetchall()
    ids = sorted({row[6] for row in rows if row[6] is not None})
    names = name(ids)
    place = {number: n for n, number in enumerate(ids)}
    accesses = [
        (r, s, d, k, -1 if b is None else b, -1 if at is None else at, place.get(i, -1))
        for r, s, d, k, b, at, i in rows
    ]
    return Pyramid(made, accesses, [names.get(i, f"<unnamed {i}>") for i in ids], complete)
