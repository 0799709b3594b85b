"""Processes: the tree, ranks."""

from __future__ import annotations

from typing import Any

from iolens.report.document import Block, Column, Section, Span, Spans, Table
from iolens.report.source import Source
from iolens.report.units import write

__all__ = ["processes"]

TREE_CAP = 500

_TREE = (
    Column("command", "Process"),
    Column("rank", "Rank", "number"),
    Column("pid", "PID", "number"),
    Column("start", "Start", "seconds"),
    Column("end", "End", "seconds"),
    Column("ended", "Ended"),
    Column("threads", "Threads", "count"),
    Column("io_time", "In I/O", "seconds"),
    Column("bytes_read", "Read", "bytes"),
    Column("bytes_written", "Written", "bytes"),
    Column("unseen_read", "Unseen read", "bytes"),
    Column("unseen_written", "Unseen written", "bytes"),
)


def _ended(row: dict[str, Any]) -> str:
    if row["signal"]:
        return f"signal {row['signal']}"
    if row["ended"] == "exit" and row["exit_code"]:
        return f"exit {row['exit_code']}"
    return str(row["ended"] or "")


def _ordered(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The rows as a tree: each with its depth, children behind their parent in order of start.

    A process that execs is several rows with one pid, one after the other; children belong to the image that ran then.
    """
    parents: dict[int, int] = {}
    for number, row in enumerate(rows):
        same = [
            n for n, other in enumerate(rows) if other["pid"] == row["pid"] and other["start"] < row["start"]
        ]
        # The image before an exec stands for the parent's parent: the tree goes on beside it.
        above = [n for n, other in enumerate(rows) if other["pid"] == row["parent"] and n != number]
        before = [n for n in above if rows[n]["start"] <= row["start"]] or above
        if same and rows[same[-1]]["pid"] == row["pid"]:
            parents[number] = parents.get(same[-1], -1)
        elif before:
            parents[number] = max(before, key=lambda n: rows[n]["start"])
    children: dict[int, list[int]] = {}
    for number in range(len(rows)):
        children.setdefault(parents.get(number, -1), []).append(number)
    found: list[tuple[int, dict[str, Any]]] = []
    waiting = [(0, number) for number in reversed(children.get(-1, []))]
    seen: set[int] = set()
    while waiting:
        depth, number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        found.append((depth, rows[number]))
        waiting += [(depth + 1, child) for child in reversed(children.get(number, []))]
    found += [(0, row) for number, row in enumerate(rows) if number not in seen]
    return found


def _tree(source: Source) -> list[Block]:
    rows = source.data.rows(
        "SELECT *, seen_read AS bytes_read, seen_written AS bytes_written FROM process "
        f"WHERE log = {source.log} ORDER BY start, rank LIMIT {TREE_CAP}"
    )
    if not rows:
        return []
    total = source.ask("SELECT count(*) FROM process WHERE log = {log}")[0][0]
    ordered = _ordered(rows)
    cells = []
    for _, row in ordered:
        shown = {**row, "ended": _ended(row), "rank": row["rank"] if row["rank"] >= 0 else None}
        shown["command"] = row["command"] or row["exe"] or f"process {row['pid']}"
        cells.append([shown[column.name] for column in _TREE])
    table = Table(
        f"{source.prefix}process-tree",
        "Process tree",
        _TREE,
        cells,
        note="Bytes: all reads and writes that were seen, pipes included. Unseen: what the kernel counted beyond them.",
        total=total,
        sql=f"SELECT * FROM process WHERE log = {source.log} ORDER BY start, rank",
        indent=tuple(depth for depth, _ in ordered),
    )
    return [table, *_lives(source, ordered)]


def _lives(source: Source, ordered: list[tuple[int, dict[str, Any]]]) -> list[Block]:
    shown = ordered[:100]
    if len(shown) < 2:
        return []
    names = [str(row["command"] or row["exe"] or row["pid"])[:40] for _, row in shown]
    spans = []
    for place, (_, row) in enumerate(shown):
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
            note="" if len(shown) == len(ordered) else f"The first {len(shown)} of {len(ordered)}.",
        )
    ]


def processes(source: Source) -> Section:
    blocks = _tree(source)
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
        "SELECT * REPLACE (CASE interface WHEN 'mpiio' THEN 'MPI-IO' ELSE upper(interface) END AS interface) "
        "FROM metric.ranks WHERE log = {log} ORDER BY read_time + write_time + meta_time DESC NULLS LAST, rank",
        note="Records that all ranks share are one record in the log: they say the fastest and the slowest "
        "rank's part only.",
        metric="ranks",
    )
    return Section(f"{source.prefix}processes", "Processes", blocks)
