"""A document for programs: JSON, and its tables whole as CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from iolens.metrics import Dataset
from iolens.report.document import (
    Bars,
    Block,
    Boxes,
    Document,
    Facts,
    FindingBlock,
    Flame,
    Note,
    Section,
    Spans,
    Strip,
    Table,
    Treemap,
    walk,
)
from iolens.whole import whole

__all__ = ["to_plain", "write_csv"]

_BATCH = 10_000


def _table(block: Table) -> dict[str, Any]:
    return {
        "columns": [{"name": c.name, "title": c.title, "unit": c.unit} for c in block.columns],
        "rows": block.rows,
        "total": block.count,
    }


def _chart(block: Bars | Spans | Boxes | Strip | Treemap | Flame) -> dict[str, Any]:
    if isinstance(block, Strip):
        lanes = [{"title": n.title, "unit": n.unit, "values": n.values} for n in block.lanes]
        return {"lanes": lanes, "width": block.width, "end": block.end}
    if isinstance(block, Flame):
        return {"stacks": [{"frames": list(frames), "seconds": time} for frames, time in block.stacks]}
    if isinstance(block, Treemap):
        return {"tiles": [{"name": t.name, "value": t.value} for t in block.tiles], "unit": block.unit}
    if isinstance(block, Bars):
        series = [{"name": s.name, "title": s.title, "values": s.values} for s in block.series]
        return {"categories": block.categories, "series": series, "unit": block.unit}
    if isinstance(block, Boxes):
        return {"categories": block.categories, "boxes": block.boxes, "unit": block.unit}
    spans = [
        {"row": block.rows[s.row], "start": s.start, "end": s.end, "kind": s.series} for s in block.spans
    ]
    return {"spans": spans, "unit": "seconds"}


def _block(block: Block) -> dict[str, Any]:
    kind = type(block).__name__.removesuffix("Block").lower()
    head = {"kind": kind, "id": getattr(block, "id", None), "title": getattr(block, "title", None)}
    if isinstance(block, Note):
        return {"kind": kind, "about": block.kind, "text": block.text}
    if isinstance(block, Facts):
        return {**head, "facts": [{"name": n, "value": v, "unit": u} for n, v, u in block.rows]}
    if isinstance(block, Table):
        return {**head, **_table(block), "note": block.note}
    if isinstance(block, (Bars, Spans, Boxes, Strip, Treemap, Flame)):
        return {**head, **_chart(block), "note": block.note}
    if isinstance(block, FindingBlock):
        return {
            **head,
            "severity": block.severity,
            "message": block.message,
            "facts": dict(block.facts),
            "advice": [{"text": t, "snippet": s, "language": n} for t, s, n in block.advice],
            "evidence": [{"title": e.title, **_table(e)} for e in block.evidence],
            "references": block.references,
        }
    # Heat maps, timelines, offsets, definitions: their words; `iolens sql` gives what they are drawn from.
    return {**head, "note": getattr(block, "note", getattr(block, "definition", ""))}


def _sections(sections: list[Section]) -> list[dict[str, Any]]:
    return [{"id": s.id, "title": s.title, "blocks": [_block(b) for b in s.blocks]} for s in sections]


def to_plain(document: Document) -> dict[str, Any]:
    """The document as dictionaries and lists."""
    return {
        "iolens": document.version,
        "title": document.title,
        "overview": _sections(document.overview),
        "jobs": [
            {
                "title": job.title,
                "subtitle": job.subtitle,
                "verdict": job.verdict,
                "headline": job.headline,
                "ended": job.ended,
                "action": job.action,
                "sections": _sections(job.sections),
            }
            for job in document.jobs
        ],
        "definitions": _sections([document.definitions]) if document.definitions else [],
    }


def write_csv(data: Dataset, document: Document, folder: Path) -> int:
    """Every table of the document, all of its rows, as a file of its id in the folder; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = [block for block in walk(document) if isinstance(block, Table)]
    for table in tables:
        with whole(folder / f"{table.id}.csv") as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not table.sql or table.total <= len(table.rows):
                writer.writerow(column.name for column in table.columns)
                writer.writerows(table.rows)
                continue
            result = data.query(table.sql)
            writer.writerow(column[0] for column in result.description or ())
            while rows := result.fetchmany(_BATCH):
                writer.writerows(rows)
    return len(tables)
