"""A document as PDF, set by Typst: a library that needs no TeX, no browser and no system package.

The template reads the document as data, so nothing in a log can be mistaken for markup.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from iolens.extras import lacks
from iolens.report import flame, svg, treemap
from iolens.report.document import (
    Bars,
    Boxes,
    Document,
    Facts,
    FindingBlock,
    Flame,
    Heat,
    Note,
    Offsets,
    Section,
    Spans,
    Strip,
    Table,
    Term,
    Timeline,
    Treemap,
)
from iolens.report.palette import SERIES
from iolens.report.units import clean, counted, write

__all__ = ["to_pdf"]

ROWS = 20
COLUMNS = 9
"""What fits across a page."""


def _table(block: Table) -> dict[str, Any]:
    columns = block.columns[:COLUMNS]
    rows = []
    for number, row in enumerate(block.rows[:ROWS]):
        cells = [write(value, column.unit) for value, column in zip(row, columns)]
        if block.indent:
            cells[0] = "\u2003" * block.indent[number] + cells[0]
        rows.append(cells)
    cut = f"{ROWS:,} of {counted(block.count, 'row')}. " if block.count > ROWS else ""
    return {
        "kind": "table",
        "title": clean(block.title),
        "heads": [clean(column.title) for column in columns],
        "left": [column.left for column in columns],
        "rows": rows,
        "note": cut + block.note,
    }


def _chart(block: Bars | Spans | Boxes | Treemap | Flame) -> dict[str, Any]:
    drawn, legend = "", []
    if isinstance(block, Bars):
        drawn = svg.long_bars(block) if block.long_names else svg.bars(block)
        legend = [(SERIES[s.name][0], s.title) for s in block.series] if len(block.series) > 1 else []
    elif isinstance(block, Flame):
        drawn = flame.drawing(block.stacks, "seconds")
    elif isinstance(block, Treemap):
        drawn = treemap.draw(block)
        legend = [(SERIES[name][0], title) for name, title in block.legend]
    elif isinstance(block, Spans):
        drawn = svg.spans(block)
        legend = [(SERIES[name][0], title) for name, title in block.legend] if len(block.legend) > 1 else []
    else:
        drawn = svg.boxes(block)
    return {
        "kind": "chart",
        "title": clean(block.title),
        "svg": svg.standalone(drawn),
        "legend": legend,
        "note": block.note,
    }


def _image(block: Heat | Timeline | Strip | Offsets) -> dict[str, Any]:
    if isinstance(block, (Heat, Timeline)):
        drawn = svg.heat(block) if isinstance(block, Heat) else svg.timeline(block)
    else:
        drawn = svg.strip(block) if isinstance(block, Strip) else svg.offsets(block)
    names = {
        Timeline: (("read", "Reading"), ("write", "Writing"), ("meta", "Metadata")),
        Offsets: (("read", "Reading"), ("write", "Writing")),
    }.get(type(block), ())
    legend = [(SERIES[name][0], title) for name, title in names]
    return {
        "kind": "chart",
        "title": clean(
            f"{block.title}: {block.files[0].name}" if isinstance(block, Offsets) else block.title
        ),
        "svg": svg.standalone(drawn),
        "legend": legend,
        "note": block.note,
    }


def _finding(block: FindingBlock) -> dict[str, Any]:
    return {
        "kind": "finding",
        "severity": block.severity,
        "title": clean(block.title),
        "message": clean(block.message),
        "facts": [[name, clean(value)] for name, value in block.facts],
        "advice": [[clean(text), snippet.strip()] for text, snippet, _ in block.advice],
        "evidence": [_table(table) for table in block.evidence],
        "references": [clean(text) for text in block.references],
    }


def _facts(block: Facts) -> dict[str, Any]:
    rows = [[name, write(value, unit)] for name, value, unit in block.rows]
    return {"kind": "facts", "title": clean(block.title), "rows": rows}


def _note(block: Note) -> dict[str, Any]:
    return {"kind": "note", "about": block.kind, "text": clean(block.text)}


def _term(block: Term) -> dict[str, Any]:
    return {"kind": "term", "title": block.title, "text": block.definition, "caveats": block.caveats}


_RENDER: dict[type, Callable[[Any], dict[str, Any]]] = {
    Bars: _chart,
    Boxes: _chart,
    Facts: _facts,
    FindingBlock: _finding,
    Flame: _chart,
    Heat: _image,
    Note: _note,
    Offsets: _image,
    Spans: _chart,
    Strip: _image,
    Table: _table,
    Term: _term,
    Timeline: _image,
    Treemap: _chart,
}


def _sections(sections: list[Section]) -> list[dict[str, Any]]:
    return [{"title": clean(s.title), "blocks": [_RENDER[type(b)](b) for b in s.blocks]} for s in sections]


def to_pdf(document: Document) -> bytes:
    """The document's pages. Raises IolensError where Typst is not installed."""
    try:
        import typst
    except ImportError:
        raise lacks("a PDF", "typst", "pdf") from None
    content = {
        "title": clean(document.title),
        "version": document.version,
        "overview": _sections(document.overview),
        "jobs": [
            {
                "title": clean(job.title),
                "subtitle": clean(job.subtitle),
                "verdict": job.verdict,
                "headline": clean(" ".join(filter(None, (job.ended, job.headline)))),
                "action": clean(job.action),
                "sections": _sections(job.sections),
            }
            for job in document.jobs
        ],
        "definitions": _sections([document.definitions]) if document.definitions else [],
    }
    with tempfile.TemporaryDirectory(prefix="iolens-") as folder:
        place = Path(folder)
        (place / "report.json").write_text(json.dumps(content), encoding="utf-8")
        template = files("iolens.report").joinpath("page").joinpath("report.typ").read_text(encoding="utf-8")
        (place / "report.typ").write_text(template, encoding="utf-8")
        made = typst.compile(str(place / "report.typ"), root=folder)
    assert isinstance(made, bytes)
    return made
