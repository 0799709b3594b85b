"""Several jobs in one report: each keeps its own interval, nothing is added that overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iolens.metrics import Dataset
from iolens.report.document import Block, Column, Facts, Section, Span, Spans, Table
from iolens.report.source import stamp
from iolens.report.units import write

__all__ = ["overview"]

_COLUMNS = (
    Column("log", "Log", "path"),
    Column("exe", "Program"),
    Column("job_id", "Job ID"),
    Column("nprocs", "Processes", "count"),
    Column("start", "Start"),
    Column("run_time", "Run time", "seconds"),
    Column("io_share", "In I/O", "percent"),
    Column("bytes_read", "Read", "bytes"),
    Column("bytes_written", "Written", "bytes"),
    Column("finding", "First finding"),
)


def _rows(data: Dataset, findings: Sequence[Any]) -> list[dict[str, Any]]:
    jobs = data.rows(
        "SELECT log, path, exe, CASE WHEN (log, job_id) NOT IN (SELECT (log, pid) FROM process) THEN job_id END "
        'AS job_id, nprocs, epoch(start) AS start, epoch("end") AS "end", run_time FROM job ORDER BY start, log'
    )
    spent = {row["log"]: row for row in data.metric("headline")}
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
    whole = data.metric("workflow")[0]
    total = Facts(
        "overview-facts",
        "Together",
        [
            ("Jobs", whole["jobs"], "count"),
            ("Times in which jobs ran", whole["intervals"], "count"),
            ("Time in which at least one job ran", whole["busy"], "seconds"),
            ("Jobs at once, on average", whole["concurrency"], "number"),
            ("Processes, added", whole["processes"], "count"),
            ("Files, by name", whole["files"], "count"),
            ("Read", whole["bytes_read"], "bytes"),
            ("Written", whole["bytes_written"], "bytes"),
        ],
    )
    cells = []
    for row in rows:
        program = str(row["exe"] or "").split(" ")[0].rsplit("/", 1)[-1]
        shown = {**row, "exe": program, "log": Path(row["path"]).name, "start": stamp(row["start"])}
        cells.append([shown.get(column.name) for column in _COLUMNS])
    table = Table("overview-jobs", "Jobs", _COLUMNS, cells, total=len(cells))
    return [Section("overview", "All jobs", [total, table, *_lives(rows)])]
