"""At a glance: where the run time goes, when bytes move, the files that cost most."""

from __future__ import annotations

import math
from typing import Any

from iolens.metrics.views import LISTS
from iolens.report.document import Bars, Block, Lane, Section, Series, Strip
from iolens.report.source import ALIKE, PATTERN_SQL, Source
from iolens.report.units import counted, write

__all__ = ["glance"]

CELLS = 100
COSTLIEST = 3

_PARTS = (
    ("other", "Computing and the rest", "compute"),
    ("wait", "MPI communication", "communication"),
    ("both", "Communication within I/O", "in_both"),
    ("read", "Reading", "read_time"),
    ("write", "Writing", "write_time"),
    ("meta", "Metadata", "meta_time"),
)


def _seconds(row: dict[str, Any]) -> dict[str, float]:
    """The parts of the run, which add up to it: what is in both I/O and communication counts once."""
    parts = {key: float(row[key] or 0) for _, _, key in _PARTS}
    shared = parts["in_both"]
    parts["communication"] -= shared
    for kind in ("read_time", "write_time", "meta_time"):
        parts[kind] *= 1 - shared / row["io_time"] if row["io_time"] else 1
    return parts


def _who(source: Source, row: dict[str, Any]) -> str:
    if row["who"] == "job":
        count = source.job["nprocs"] or 1
        name = "The process" if count == 1 else f"All {counted(count, 'process')} together"
    elif row["who"] == "average":
        name = f"Average of {counted(source.job['nprocs'], 'rank')}"
    else:
        name = "Slowest rank" if row["rank"] is None else f"Slowest rank in I/O: {row['rank']}"
    share = row["io_time"] / row["run_time"]
    about = "about " if row["basis"] == "records" and share >= 0.001 else ""
    return f"{name}: {about}{write(share, 'percent')} in I/O"


_BASES = {
    "process": "Measured in each rank: calls of its threads that overlap count once.",
    "timeline": "In I/O while at least one process was.",
    "records": "Estimated from per-file totals; overlapping calls count twice.",
}


def _split(source: Source) -> list[Block]:
    rows = source.metric("run_split")
    if not rows:
        return []
    parts = [_seconds(row) for row in rows]
    series = [Series(name, title, [part[key] for part in parts]) for name, title, key in _PARTS]
    note = _BASES[rows[0]["basis"]]
    if source.job["nprocs"] == 1 and rows[0]["basis"] != "records":
        note = "Measured: calls of threads that overlap count once."
    if len(rows) > 1 and rows[0]["basis"] == "records":
        note += " The slowest rank is an upper bound: the slowest rank of each shared file, added."
    if any(row["communication"] is not None for row in rows):
        note += " Communication with waiting before collective calls, where that was measured."
    elif rows[0]["who"] != "job":
        note += " MPI communication is part of the grey bar." if source.parallel else ""
    return [
        Bars(
            f"{source.prefix}split",
            f"Where the run time goes ({write(rows[0]['run_time'], 'seconds')})",
            [_who(source, row) for row in rows],
            [s for s in series if any(s.values)],
            "seconds",
            stacked=True,
            whole=rows[0]["run_time"],
            note=note,
            metric="run_split",
            long_names=True,
            half=False,
        )
    ]


def _binned(rows: list[tuple[Any, ...]], cells: int) -> list[list[float]]:
    """Rows of (cell, value, value, ...) as a list per value."""
    lanes = [[0.0] * cells for _ in rows[0][1:]]
    for cell, *values in rows:
        for lane, value in zip(lanes, values):
            lane[min(max(cell, 0), cells - 1)] += float(value or 0)
    return lanes


def _bytes(source: Source) -> tuple[float, list[Lane]]:
    """Bytes over time of what reaches the operating system or, where that is not known, of MPI-IO."""
    known = dict(
        source.ask(
            'SELECT interface, max("end" - start) FROM metric.heat WHERE log = {log} '
            "AND bytes_read + bytes_written > 0 GROUP BY interface"
        )
    )
    lowest = [name for name in LISTS["libc_interfaces"] if name in known]
    chosen = lowest or [name for name in LISTS["data_interfaces"] if name in known]
    if not chosen:
        return 0.0, []
    width = max(known[name] for name in chosen)
    together = math.ceil(math.ceil(source.span / width - 1e-6) / CELLS)
    width *= together
    cells = max(1, math.ceil(source.span / width - 1e-6))
    listed = ", ".join(f"'{name}'" for name in chosen)
    rows = source.ask(
        f'SELECT floor((start + "end") / 2 / {width!r})::BIGINT, sum(bytes_read), sum(bytes_written) FROM metric.heat '
        f"WHERE log = {{log}} AND interface IN ({listed}) GROUP BY 1"
    )
    read, written = _binned(rows, cells)
    return width, [Lane("read", "Read", "bytes", read), Lane("write", "Written", "bytes", written)]


def _metadata(source: Source, width: float, cells: int) -> list[Lane]:
    """Seconds in metadata calls over time, of all processes, each stretch's in the cell of its middle."""
    rows = source.ask(
        f'SELECT floor((start + "end") / 2 / {width!r})::BIGINT, sum(meta) FROM timeline '
        "WHERE log = {log} AND meta > 0 GROUP BY 1"
    )
    return [Lane("meta", "Metadata", "seconds", *_binned(rows, cells))] if rows else []


def _strip(source: Source) -> list[Block]:
    width, lanes = _bytes(source)
    if not lanes:
        return []
    lanes += _metadata(source, width, len(lanes[0].values))
    note = (
        f"Intervals of {write(width, 'seconds')}, all processes. Darker = more; each row has its own scale."
    )
    return [
        Strip(
            f"{source.prefix}strip",
            "When data moved",
            [lane for lane in lanes if any(lane.values)],
            width,
            source.span,
            note=note,
        )
    ]


def _costliest(source: Source) -> list[Block]:
    rows = source.ask(f"""
        WITH one AS (
            SELECT coalesce(any_value(n.name), '<unnamed ' || id || '>') AS name, sum(read_time) AS read,
                sum(write_time) AS write, sum(meta_time) AS meta, sum(total_time) AS total
            FROM own_file AS f LEFT JOIN name AS n USING (log, id) WHERE log = {{log}} GROUP BY id
        ), named AS (
            SELECT *, {PATTERN_SQL} AS pattern, count(*) OVER (PARTITION BY {PATTERN_SQL}) AS alike FROM one
        )
        SELECT CASE WHEN alike >= {ALIKE} THEN format('{{}} ({{:,}} files)', pattern, alike) ELSE name END,
            sum(read), sum(write), sum(meta), sum(total)
        FROM named GROUP BY 1 HAVING sum(total) > 0 ORDER BY 5 DESC, 1 LIMIT {COSTLIEST}
    """)
    total = source.ask("SELECT sum(total_time), count(DISTINCT id) FROM own_file WHERE log = {log}")[0]
    if not rows:
        return []
    series = [
        Series(name, title, [row[place] for row in rows])
        for place, (name, title, _) in enumerate(_PARTS[-3:], start=1)
    ]
    return [
        Bars(
            f"{source.prefix}costliest",
            "The files that cost most" if len(rows) > 1 else "The file that cost most",
            [source.final.get(str(row[0]), str(row[0])) for row in rows],
            [s for s in series if any(s.values)],
            "seconds",
            stacked=True,
            whole=total[0],
            note=f"Seconds of all processes added up; per cent: of the time in all {counted(total[1], 'file')}."
            if total[1] > 1
            else "Seconds of all processes added up.",
            long_names=True,
        )
    ]


def glance(source: Source) -> Section:
    blocks = [*_split(source), *_strip(source), *_costliest(source)]
    return Section(f"{source.prefix}glance", "At a glance", blocks)
