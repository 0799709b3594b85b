"""Processes: the tree, ranks."""

from __future__ import annotations

from typing import Any

from iolens.report.document import Block, Column, Section, Span, Spans, Table
from iolens.report.source import INTERFACE_SQL, Source
from iolens.report.units import write

__all__ = ["processes"]

TREE_CAP = 500

_TREE = (
    Column("command", "Command"),
    Column("rank", "Rank", "number"),
    Column("pid", "PID", "number"),
    Column("start", "Start", "seconds"),
    Column("end", "End", "seconds"),
    Column("ended", "Ended"),
    Column("io_time", "In I/O", "seconds"),
    Column("bytes_read", "Read", "bytes"),
    Column("bytes_written", "Written", "bytes"),
)


def _ended(row: dict[str, Any]) -> str:
    if row["signal"]:
        return f"killed by signal {row['signal']}"
    if row["ended"] == "exit" and row["exit_code"]:
        return f"exit {row['exit_code']}"
    return str(row["ended"] or "")


def _tree(source: Source) -> list[Block]:
    rows = source.data.rows(
        f"SELECT * FROM metric.tree WHERE log = {source.log} ORDER BY position LIMIT {TREE_CAP}"
    )
    if not rows:
        return []
    total = source.ask("SELECT count(*) FROM metric.tree WHERE log = {log}")[0][0]
    inside = all(row["observed_by"] == "itself" for row in rows)
    columns = _TREE if inside else (*_TREE, Column("observed_by", "Observed by"))
    cells = []
    for row in rows:
        shown = {**row, "ended": _ended(row), "rank": row["rank"] if row["rank"] >= 0 else None}
        if (
            row["ended"] not in ("exit", "exec") and (shown["end"] or 0) <= shown["start"]
        ):  # killed: the log has no end
            shown["end"] = None
        shown["command"] = row["command"] or row["exe"] or f"process {row['pid']}"
        cells.append([shown[column.name] for column in columns])
    listed = ", ".join(f'"{column.name}"' for column in columns)
    table = Table(
        f"{source.prefix}process-tree",
        "Process tree",
        columns,
        cells,
        note="Bytes: all reads and writes that were seen, pipes included.",
        total=total,
        sql=f"SELECT {listed} FROM metric.tree WHERE log = {source.log} ORDER BY position",
        indent=tuple(row["depth"] for row in rows),
        metric="tree",
    )
    return [table, *_lives(source, rows)]


def _lives(source: Source, rows: list[dict[str, Any]]) -> list[Block]:
    shown = rows[:100]
    if len(shown) < 2:
        return []
    names = [str(row["command"] or row["exe"] or row["pid"])[:40] for row in shown]
    spans = []
    for place, row in enumerate(shown):
        end = row["end"] if row["end"] and row["end"] >= row["start"] else source.span
        text = (
            f"{names[place]}: {write(row['start'], 'seconds')} to {write(end, 'seconds')}, in I/O "
            f"{write(row['io_time'], 'seconds')}"
        )
        spans.append(Span(place, row["start"], end, "other", text))
    return [
        Spans(
            f"{source.prefix}lives",
            "From start to end of each process",
            names,
            spans,
            0.0,
            source.span,
            [("other", "running")],
            note="" if len(shown) == len(rows) else f"The first {len(shown)} of {len(rows)}.",
        )
    ]


def _ranks(source: Source) -> list[Block]:
    """What one process did is in the tables of interfaces and files."""
    if source.ranks == 1:
        return []
    blocks: list[Block] = []
    blocks += source.table(
        "ranks",
        "I/O by rank",
        (
            Column("rank", "Rank", "number"),
            Column("interface", "Interface"),
            Column("bytes_read", "Read", "bytes"),
            Column("bytes_written", "Written", "bytes"),
            Column("read_time", "Time reading", "seconds"),
            Column("write_time", "Time writing", "seconds"),
            Column("meta_time", "Time in metadata", "seconds"),
            Column("files", "Files", "count"),
        ),
        f"SELECT * REPLACE ({INTERFACE_SQL} AS interface) "
        "FROM metric.ranks WHERE log = {log} "
        "ORDER BY read_time + write_time + meta_time DESC NULLS LAST, rank, interface",
        note="Records that all ranks share are one record in the log: they say the fastest and the slowest "
        "rank's part only.",
        metric="ranks",
    )
    blocks += source.table(
        "busy",
        "Time in I/O by rank, overlapping calls counted once",
        (
            Column("rank", "Rank", "number"),
            Column("busy", "Time in I/O", "seconds"),
            Column("share", "Part of the run time", "percent"),
            Column("time", "Calls added up", "seconds"),
            Column("overlap", "Calls at once, on average", "factor"),
        ),
        "SELECT u.*, busy / run_time AS share FROM metric.timeline_union AS u JOIN job USING (log) "
        "WHERE log = {log} ORDER BY busy DESC, rank",
        metric="timeline_union",
    )
    return blocks


def processes(source: Source) -> Section:
    return Section(f"{source.prefix}processes", "Processes", [*_tree(source), *_ranks(source)])
