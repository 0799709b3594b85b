"""A document as one HTML file: everything inside, nothing fetched, nothing run but what the page itself brings.

Users choose the names in logs: all text is escaped, data travels as compressed base64, and the page's own policy
forbids every script and style but the ones whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from iolens.report import flame, fluid, svg, treemap
from iolens.report.document import (
    Bars,
    Block,
    Boxes,
    Document,
    Facts,
    FindingBlock,
    Flame,
    Heat,
    Job,
    Note,
    Offsets,
    Section,
    Spans,
    Strip,
    Table,
    Timeline,
    Treemap,
    walk,
)
from iolens.report.palette import SERIES, VIRIDIS, css
from iolens.report.units import clean, counted, write

__all__ = ["block_html", "blocks_html", "drawing_script", "sections_html", "style", "to_html", "verdict_html"]

ROWS = 25
"""Rows of a table that are in the page itself; a browser without scripts shows these."""

DRAWING = (
    "units.js",
    "table.js",
    "canvas.js",
    "heat.js",
    "timeline.js",
    "offsets.js",
    "flame.js",
    "drawing.js",
)
SCRIPTS = (*DRAWING, "page.js")

_DARK = (
    "--page:#0d1117;--panel:#161b22;--text:#e6edf3;--faint:#9aa4af;--line:#30363d;--link:#79b8ff;"
    "--high:#ff7b72;--medium:#f0a04b;--low:#c9c46a;--info:#79b8ff;--good:#56d364;--shade:#fff3;color-scheme:dark;"
)
_PRINT = "--page:#fff;--panel:#f6f8fa;--text:#000;--faint:#444;--line:#ccc;color-scheme:light;"
_VERDICTS = {
    "problem": "I/O is a problem",
    "look": "Worth a look",
    "good": "I/O is fine",
    "unknown": "Not known",
}
_NOTES = {"warning": "Incomplete", "missing": "Not known", "info": "Note", "good": "Good"}

TALL = 10
"""Pixels: the heights of canvases are multiples of it, up to ``TALLEST`` of them."""
TALLEST = 60


@cache
def style() -> str:
    """The page's, and of every page that shows its blocks."""
    text = files("iolens.report").joinpath("page").joinpath("style.css").read_text(encoding="utf-8")
    series = "".join(f".s-{n}{{fill:var(--{n})}}.b-{n}{{background:var(--{n})}}" for n in SERIES)
    # The page's policy allows no style in an element, and a canvas must have its height before it is drawn: links
    # into the page would lead elsewhere.
    series += "".join(f".tall-{n}{{height:{n * TALL}px}}" for n in range(7, TALLEST + 1))
    series += flame.STYLE
    for name, value in (
        ("DARKROOT", _DARK + css(True)),
        ("PRINTROOT", _PRINT + css(False)),
        ("LIGHT", css(False)),
        ("SERIES", series),
    ):
        text = text.replace(name, value)
    return text


def _joined(names: Iterable[str], more: str = "") -> str:
    folder = files("iolens.report").joinpath("page")
    parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in names]
    text = "\n".join([*parts, more]).replace("PALETTE", json.dumps(VIRIDIS), 1)
    return f'"use strict";\n(() => {{\n{text}\n}})();\n'


@cache
def _script() -> str:
    return _joined(SCRIPTS)


def drawing_script(more: str) -> str:
    """What draws and sorts the blocks of a page, and more that uses it (``drawing.js`` says how)."""
    return _joined(DRAWING, more)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(value: str) -> str:
    return escape(clean(value))


# ---- what JavaScript draws and sorts ----


def _shorter(value: Any) -> Any:
    """Six digits are more than a page shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    """A cell as JSON, which has no infinities and no text that a log might use to confuse a reader."""
    if isinstance(value, float):
        return None if not math.isfinite(value) else _shorter(value)
    return value if isinstance(value, (int, bool, type(None))) else clean(str(value))


def _table_data(table: Table) -> dict[str, Any]:
    data = {
        "units": [column.unit for column in table.columns],
        "rows": [[_plain(cell) for cell in row] for row in table.rows],
        "total": table.count,
    }
    return {**data, "tree": table.indent} if table.indent else data


def _heat_data(heat: Heat) -> dict[str, Any]:
    return {
        "rows": heat.rows,
        "bins": heat.bins,
        "end": _shorter(heat.end),
        "drawn": _shorter(heat.drawn_bins),
        "perRow": heat.per_row,
        "ranks": heat.ranks,
        "rank": heat.rank,
        "cells": heat.cells,
    }


def _timeline_data(line: Timeline) -> dict[str, Any]:
    levels = [
        (bins, [[r, b, *(round(s, 4) for s in shares), n] for r, b, *shares, n in cells])
        for bins, cells in line.levels
    ]
    return {
        "rows": [clean(row) for row in line.rows],
        "titles": [clean(title) for title in line.titles or line.rows],
        "end": line.end,
        "levels": levels,
        "accesses": [(r, round(s, 9), round(d, 9), *rest) for r, s, d, *rest in line.accesses],
        "files": [clean(name) for name in line.files],
        "complete": line.complete,
    }


def _offsets_data(block: Offsets) -> dict[str, Any]:
    files = [
        {
            "name": clean(one.name),
            "size": one.size,
            "count": one.count,
            "accesses": [(round(s, 9), round(d, 9), *rest) for s, d, *rest in one.accesses],
            "cells": one.cells,
        }
        for one in block.files
    ]
    return {"files": files, "end": block.end, "grid": block.grid, "rank": block.rank}


def _data(document: Document) -> str:
    tables, heats, timelines, offsets = {}, {}, {}, {}
    for block in walk(document):
        if isinstance(block, Table):
            tables[block.id] = _table_data(block)
        elif isinstance(block, Heat):
            heats[block.id] = _heat_data(block)
        elif isinstance(block, Timeline):
            timelines[block.id] = _timeline_data(block)
        elif isinstance(block, Offsets):
            offsets[block.id] = _offsets_data(block)
    everything = {"tables": tables, "heats": heats, "timelines": timelines, "offsets": offsets}
    text = json.dumps(everything, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


# ---- blocks ----


def _remark(note: str, metric: str = "") -> str:
    why = (
        f' <span class="why">Definition: <code>iolens explain {_text(metric)}</code></span>' if metric else ""
    )
    return f'<p class="remark">{_text(note)}{why}</p>' if note or why else ""


def _cell(value: Any, unit: str, depth: int = 0) -> str:
    nested = f" depth{min(depth, 9)}" if depth else ""
    return f'<td class="{unit or "text"}{nested}">{escape(write(value, unit))}</td>'


def _table(table: Table, within: str = "") -> str:
    """within: what it belongs to, for a name that no other table of the page has."""
    heads = "".join(
        '<th scope="col" '
        f'class="{c.unit or "text"}"{f" title={chr(34)}{_text(c.explain)}{chr(34)}" if c.explain else ""}>'
        f"{_text(c.title)}</th>"
        for c in table.columns
    )
    rows = []
    for number, row in enumerate(table.rows[:ROWS]):
        depth = table.indent[number] if table.indent else 0
        cells = (_cell(v, c.unit, depth if n == 0 else 0) for n, (v, c) in enumerate(zip(row, table.columns)))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    total = table.count
    count = f"{min(ROWS, total):,} of {counted(total, 'row')}" if total > ROWS else ""
    title = _text(table.title)
    links = " ".join(f'<a href="{_text(url)}">{_text(words)}</a>' for words, url in table.links)
    half = (
        " half"
        if len(table.columns) <= 4 and total <= 12 and not any(c.unit == "path" for c in table.columns)
        else ""
    )
    return (
        f'<figure class="{"evidence" if within else "table"}{half}" id="{table.id}"><figcaption><h3>{title}</h3>'
        f'<span class="status" role="status">{count}</span><span class="tools">{links}</span></figcaption>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}{within and f" ({_text(within)})"}">'
        f"<table><caption>{title}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{_remark(table.note, table.metric)}</figure>"
    )


def _legend(items: Iterable[tuple[str, str]]) -> str:
    parts = [f'<span><i class="swatch b-{name}"></i>{_text(title)}</span>' for name, title in items]
    return f'<span class="legend">{"".join(parts)}</span>' if len(parts) > 1 else ""


def _chart(
    block: Bars | Spans | Boxes | Strip | Treemap, drawing: str, legend: str = "", half: bool = False
) -> str:
    return (
        f'<figure class="chart-box{" half" if half else ""}" id="{block.id}"><figcaption><h3>{_text(block.title)}</h3>'
        f"{legend}</figcaption>{drawing}{_remark(block.note, getattr(block, 'metric', ''))}</figure>"
    )


def _long_bars(block: Bars) -> str:
    rows = []
    for number, category in enumerate(block.categories):
        share = fluid.share_in_words(block, number)
        words = fluid.parts_in_words(block, number)
        rows.append(
            f'<p class="bar-name"><span>{_text(category)}</span><span>{_text(share)}</span></p>'
            f"{fluid.bar(block, number)}" + (f'<p class="bar-parts">{_text(words)}</p>' if not share else "")
        )
    return "".join(rows)


def _bars(block: Bars) -> str:
    if block.long_names:
        legend = _legend((s.name, s.title) for s in block.series)
        return _chart(block, _long_bars(block), legend, half=block.half)
    return _chart(block, svg.bars(block), _legend((s.name, s.title) for s in block.series), half=True)


def _strip(block: Strip) -> str:
    lanes = "".join(
        f"<span>{_text(lane.title)}</span>{fluid.strip_lane(block, number)}"
        for number, lane in enumerate(block.lanes)
    )
    return _chart(
        block, f'<div class="strip">{lanes}<span></span>{fluid.time_axis(block.end)}</div>', half=True
    )


def _height(block: Heat | Timeline | Offsets) -> float:
    """Pixels of its drawing, with axes."""
    if isinstance(block, Heat):
        return 96 + max(60, min(420, block.rows * 14))
    if isinstance(block, Timeline):
        return 30 + max(40, max(4, min(22, 440 / len(block.rows))) * len(block.rows))
    return 300


def _canvas(block: Heat | Timeline | Offsets, kind: str, keys: str) -> str:
    title = _text(block.title)
    tall = min(TALLEST, math.ceil(_height(block) / TALL))
    return (
        f'<figure class="{kind}" id="{block.id}"><figcaption><h3>{title}</h3><span class="status"></span>'
        f'<span class="tools"></span></figcaption><canvas class="tall-{tall}" tabindex="0" role="img" '
        f'aria-label="{title}. {_text(block.note)} {keys}">'
        f"</canvas><noscript><p>This chart is drawn by JavaScript; its numbers are in the tables.</p></noscript>"
        f"{_remark(block.note)}</figure>"
    )


def _flame(block: Flame) -> str:
    inner = flame.figure(block.stacks, "seconds")
    if block.folded:
        inner = f"<details><summary>By the places that opened the files</summary>{inner}</details>"
    return (
        f'<figure class="flame" id="{block.id}"><figcaption><h3>{_text(block.title)}</h3></figcaption>'
        f"{inner}{_remark(block.note)}</figure>"
    )


def _facts(block: Facts) -> str:
    rows = "".join(
        f"<dt>{_text(name)}</dt><dd>{escape(write(value, unit))}</dd>" for name, value, unit in block.rows
    )
    return f'<div class="facts half" id="{block.id}"><h3>{_text(block.title)}</h3><dl>{rows}</dl></div>'


def _note(block: Note) -> str:
    return f'<p class="note {block.kind}"><b>{_NOTES[block.kind]}.</b>{_text(block.text)}</p>'


def _reference(text: str) -> str:
    known = text.startswith(("https://", "http://"))
    return f'<a href="{_text(text)}" rel="noreferrer">{_text(text)}</a>' if known else _text(text)


def _finding(block: FindingBlock) -> str:
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in block.facts)
    advice = []
    for text, snippet, language in block.advice:
        code = ""
        if snippet:
            code = (
                '<pre class="snippet" tabindex="0"><code '
                f'class="{_text(language)}">{escape(snippet.strip())}</code></pre>'
            )
        advice.append(f"<li>{_text(text)}{code}</li>")
    lost = next((value for name, value in block.facts if name == "Time lost"), "")
    opened = " open" if block.severity in ("high", "medium") else ""
    references = "; ".join(_reference(r) for r in block.references)
    links = " ".join(f'<a href="{_text(url)}">{_text(words)}</a>' for words, url in block.links)
    return (
        f'<details class="finding {_text(block.severity)}" id="{block.id}"{opened}><summary><span '
        f'class="badge">{block.severity}'
        f"</span><h3>{_text(block.title)}</h3><span "
        f'class="lost">{_text(lost)}</span></summary><p>{_text(block.message)}</p>'
        + (f'<p><b>What to change</b></p><ul class="advice">{"".join(advice)}</ul>' if advice else "")
        + "".join(_table(table, block.title) for table in block.evidence)
        + f"<dl>{facts}</dl>"
        + (f'<p class="references">See {references}.</p>' if references else "")
        + (f'<p class="references">{links}</p>' if links else "")
        + "</details>"
    )


_KEYS_HEAT = "Arrow keys walk over it."
_KEYS_TIMELINE = "Plus and minus zoom, arrow keys move, Home shows all."

_KEYS_OFFSETS = "Arrow keys walk over the accesses."

_RENDER: dict[type, Callable[[Any], str]] = {
    Bars: _bars,
    Boxes: lambda block: _chart(block, svg.boxes(block)),
    Facts: _facts,
    FindingBlock: _finding,
    Flame: _flame,
    Heat: lambda block: _canvas(block, "heat", _KEYS_HEAT),
    Note: _note,
    Offsets: lambda block: _canvas(block, "offsets", _KEYS_OFFSETS),
    Spans: lambda block: _chart(block, svg.spans(block), _legend(block.legend), half=True),
    Strip: _strip,
    Table: _table,
    Timeline: lambda block: _canvas(block, "timeline", _KEYS_TIMELINE),
    Treemap: lambda block: _chart(block, treemap.draw(block), _legend(block.legend)),
}


def _paired(parts: list[str]) -> list[str]:
    """Small charts stand side by side; one without a neighbour takes the line."""
    left = False
    for number, part in enumerate(parts):
        half = ' half" id=' in part[:80]
        follows = number + 1 < len(parts) and ' half" id=' in parts[number + 1][:80]
        if half and not left and not follows:
            parts[number] = part.replace(' half" id=', ' alone" id=', 1)
        left = half and not left
    return parts


def _quiet(found: list[FindingBlock]) -> str:
    """Findings that ask for nothing, in a line that opens."""
    good = sum(f.severity == "good" for f in found)
    counts = ", ".join(
        counted(count, word) for count, word in ((good, "good sign"), (len(found) - good, "note")) if count
    )
    titles = "; ".join(f.title for f in found)
    kind = "quiet" if good == len(found) else "quiet notes"
    return (
        f'<details class="{kind}"><summary><b>{counts}</b> {_text(titles)}</summary>'
        f'<div class="blocks">{"".join(_finding(f) for f in found)}</div></details>'
    )


def _rendered(blocks: list[Block]) -> list[str]:
    quiet = [b for b in blocks if isinstance(b, FindingBlock) and b.quiet]
    if len(quiet) < 2:
        return [_RENDER[type(b)](b) for b in blocks]
    return [
        _quiet(quiet) if b is quiet[0] else _RENDER[type(b)](b)
        for b in blocks
        if b is quiet[0] or not any(b is one for one in quiet)
    ]


def _section(section: Section) -> str:
    blocks = "".join(_paired(_rendered(section.blocks)))
    intro = f'<p class="intro">{_text(section.intro)}</p>' if section.intro else ""
    head = f'<h2 id="{section.id}-title">{_text(section.title)}</h2>'
    inner = f'{intro}<div class="blocks">{blocks}</div>'
    if section.folded:
        head, inner = f'<details class="part"><summary>{head}</summary>', f"{inner}</details>"
    return f'<section id="{section.id}" aria-labelledby="{section.id}-title">{head}{inner}</section>'


def block_html(block: Block) -> str:
    """One block, for a page of others with this style."""
    return _RENDER[type(block)](block)


def blocks_html(blocks: list[Block]) -> str:
    """The blocks of a section, for a page of others with this style; their tables do not sort."""
    return f'<div class="blocks">{"".join(_paired(_rendered(blocks)))}</div>'


def sections_html(sections: list[Section]) -> str:
    """Sections for a page of others, with the data that ``drawing_script`` draws and sorts."""
    inner = "".join(_section(section) for section in sections)
    data = _data(Document("", "", [Job("", "", "unknown", "", sections)]))
    return f'{inner}<script type="application/octet-stream" id="data">{data}</script>'


# ---- the page ----


def verdict_html(job: Job) -> str:
    """The answer: how the job ended if not by itself, whether I/O is a problem, how much of one, what to do."""
    early = bool(job.ended) and job.verdict in ("good", "unknown")
    label = "Ended early" if early else job.label or _VERDICTS[job.verdict]
    ended = f'<p class="ended">{_text(job.ended)}</p>' if job.ended else ""
    link = f' <a href="#{job.action_at}">Why, and how</a>' if job.action_at else ""
    action = (
        f'<p class="action-line"><b>Do this first:</b> {_text(job.action)}{link}</p>' if job.action else ""
    )
    return (
        f'<div class="verdict {"look" if early else job.verdict}">{ended}<strong>{_text(label)}</strong>'
        f"{_text(job.headline)}{action}</div>"
    )


def _job(job: Job, number: int, several: bool) -> str:
    head = "h2" if several else "h1"
    command = (
        f'<details class="command"><summary><span class="unseen">Command line: </span><code>{_text(job.command)}'
        "</code></summary></details>"
        if job.command
        else ""
    )
    return (
        f'<div data-job="{number}"><header><{head} '
        f'class="title">{_text(job.title)}</{head}>{command}<p>{_text(job.subtitle)}</p>'
        f"{verdict_html(job)}</header>"
        f"{''.join(_section(s) for s in job.sections)}</div>"
    )


def _links(sections: Iterable[Section], job: int | None = None) -> str:
    parts = (f'<li><a href="#{s.id}">{_text(s.title)}</a></li>' for s in sections)
    mark = "" if job is None else f' data-job="{job}"'
    return f"<ol{mark}>{''.join(parts)}</ol>"


def _contents(document: Document) -> str:
    several = bool(document.overview)
    parts = [f"<strong>{_text(document.title)}</strong>"]
    if several:
        options = "".join(
            f'<option value="{n}">{_text(job.title)} · {_text(job.subtitle)}</option>'
            for n, job in enumerate(document.jobs)
        )
        parts.append(_links(document.overview))
        parts.append(f'<label>Job <select id="job-choice">{options}</select></label>')
    parts += [_links(job.sections, n) for n, job in enumerate(document.jobs)]
    parts.append(
        '<label hidden>Theme <select id="theme"><option value="auto">as the system</option>'
        '<option value="light">light</option><option value="dark">dark</option></select></label>'
    )
    # Open for a browser without scripts; page.js folds it where it would fill the screen.
    return (
        '<nav aria-label="Contents"><details class="menu" open><summary>Contents</summary>'
        f"{''.join(parts)}</details></nav>"
    )


def to_html(document: Document) -> str:
    """The whole page."""
    several = bool(document.overview)
    script, rules = _script(), style()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(rules)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    main = [f'<header><h1 class="title">{_text(document.title)}</h1></header>'] if several else []
    main += [_section(section) for section in document.overview]
    main += [_job(job, number, several) for number, job in enumerate(document.jobs)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{_text(document.title)} – I/O report</title><link rel="icon" '
        f'href="data:,"><style>{rules}</style></head>'
        '<body><a class="skip" href="#main">To the report</a>'
        f'<div class="layout">{_contents(document)}<main id="main">{"".join(main)}'
        f"<footer>iolens {_text(document.version)}. This file needs no network. Definitions: <code>iolens "
        "explain</code>. All rows of all tables: <code>iolens report --csv DIR LOG</code>.</footer></main></div>"
        '<script type="application/octet-stream" '
        f'id="data">{_data(document)}</script><script>{script}</script></body></html>\n'
    )
