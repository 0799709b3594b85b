"""Several jobs in one report: each keeps its own interval, nothing is added that overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iolens.metrics import Dataset, metrics
from iolens.report.document import Block, Column, Facts, Section, Span, Spans, Table
from iolens.report.source import stamp
from iolens.report.units import write

__all__ = ["busy", "overview"]

_COLUMNS = (
    Column("log", "Log", "path"),
    Column("exe", "Command line"),
    Column("job_id", "Job ID"),
    Column("nprocs", "Processes", "count"),
    Column("start", "Start"),
    Column("run_time", "Run time", "seconds"),
    Column("io_share", "In I/O", "percent"),
    Column("bytes_read", "Read", "bytes"),
    Column("bytes_written", "Written", "bytes"),
    Column("finding", "First finding"),
)


def busy(intervals: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of the intervals runs."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _rows(data: Dataset, findings: Sequence[Any]) -> list[dict[str, Any]]:
    jobs = data.rows(
        'SELECT log, path, exe, job_id, nprocs, epoch(start) AS start, epoch("end") AS "end", run_time FROM '
        "job ORDER BY start, log"
    )
    spent = {row["log"]: row for row in data.metric("headline")} if "headline" in metrics() else {}
    for row in jobs:
        row.update({k: v for k, v in spent.get(row["log"], {}).items() if k.startswith(("io_", "bytes_"))})
        row["finding"] = next((f.title for f in findings if f.log == row["log"]), "")
    return jobs


def _lives(rows: list[dict[str, Any]]) -> list[Block]:
    known = [row for row in rows if row["start"]]
    if len(known) < 2:
        return []
    first = min(row["start"] for row in known)
    last = max(max(row["end"] or 0, row["start"]) for row in known)
    names = [f"{row['log']}: {Path(row['path']).name}"[:40] for row in known[:200]]
    spans = [
        Span(
            n,
            row["start"] - first,
            max(row["end"] or 0, row["start"]) - first,
            "other",
            f"{names[n]}: {stamp(row['start'])}, {write(row['run_time'], 'seconds')}",
        )
        for n, row in enumerate(known[:200])
    ]
    return [
        Spans(
            "overview-time",
            "When the jobs ran",
            names,
            spans,
            0.0,
            max(last - first, 1e-6),
            [("other", "running")],
            note=f"From {stamp(first)} to {stamp(last)}." + (" The first 200." if len(known) > 200 else ""),
        )
    ]


def overview(data: Dataset, findings: Sequence[Any]) -> list[Section]:
    """All jobs: a table of them, when they ran, what they are together."""
    rows = _rows(data, findings)
    running = [(r["start"], max(r["end"] or 0, r["start"])) for r in rows if r["start"]]
    total = Facts(
        "overview-facts",
        "Together",
        [
            ("Jobs", len(rows), "count"),
            ("Processes, added", sum(r["nprocs"] or 0 for r in rows), "count"),
            ("Time in which at least one job ran", busy(running), "seconds"),
            ("Run time, added", sum(r["run_time"] or 0 for r in rows), "seconds"),
            ("Read", sum(r.get("bytes_read") or 0 for r in rows), "bytes"),
            ("Written", sum(r.get("bytes_written") or 0 for r in rows), "bytes"),
        ],
    )
    cells = []
    for row in rows:
        shown = {**row, "log": Path(row["path"]).name, "start": stamp(row["start"])}
        cells.append([shown.get(column.name) for column in _COLUMNS])
    table = Table("overview-jobs", "Jobs", _COLUMNS, cells, total=len(cells))
    return [Section("overview", "All jobs", [total, table, *_lives(rows)])]
