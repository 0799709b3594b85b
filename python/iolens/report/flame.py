"""The flame graph of I/O: stacks of lines as a page, as collapsed stacks and for speedscope."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from iolens.metrics import Dataset
from iolens.rules.text import write
from iolens.shown import clean

__all__ = [
    "STYLE",
    "WEIGHTS",
    "Stack",
    "collapsed",
    "drawing",
    "figure",
    "name_of",
    "read_stacks",
    "speedscope",
    "to_html",
]

WEIGHTS = {"seconds": "time", "bytes": "bytes", "calls": "calls"}
"""What the width of a frame stands for -> its column in the table ``line``."""
_UNITS = {"seconds": "seconds", "bytes": "bytes", "calls": "count"}
_PER_SECOND = 1_000_000
_ROW, _WIDTH, _LETTER = 18, 1200, 6.6
_LEAST = 1 / 5000
"""Of the whole: what is narrower is not drawn."""
_COLORS = ("#e8a33d", "#e2784f", "#d9b648", "#d98c6a", "#c9a15a", "#e0915c")
_FRAME = re.compile(r"(.*) \((?:.*/)?(.*:\d+)\)")

Stack = tuple[tuple[str, ...], float]
"""Frames, outermost first, and their weight: seconds, bytes or calls."""


def read_stacks(data: Dataset, by: str, log: int | None = None) -> list[Stack]:
    """The stacks of all calls; the last frame says what was called. Without a stack there is the place of the open.

    log: its number in the dataset, instead of all logs.
    """
    found = data.query(f"""
        SELECT coalesce(nullif(stack, ''), place) AS stack, interface || ' ' || kind AS call,
            sum({WEIGHTS[by]})::DOUBLE AS weight
        FROM line {"" if log is None else f"WHERE log = {log}"}
        GROUP BY ALL HAVING weight > 0 ORDER BY stack, call
    """).fetchall()
    return [((*map(clean, reversed(stack.splitlines())), call), weight) for stack, call, weight in found]


def collapsed(stacks: Iterable[Stack], by: str) -> Iterator[str]:
    """Lines for flame graph tools: frames, ``;`` between, and a whole number of microseconds, bytes or calls."""
    for frames, weight in stacks:
        number = round(weight * (_PER_SECOND if by == "seconds" else 1))
        if number:
            yield f"{';'.join(frame.replace(';', ',') for frame in frames)} {number}"


def speedscope(stacks: list[Stack], by: str, name: str) -> dict[str, Any]:
    """A profile in speedscope's file format."""
    number: dict[str, int] = {}
    samples = [[number.setdefault(frame, len(number)) for frame in frames] for frames, _ in stacks]
    weights = [weight for _, weight in stacks]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": "iolens",
        "shared": {"frames": [{"name": frame} for frame in number]},
        "profiles": [
            {
                "type": "sampled",
                "name": f"{name}: {by}",
                "unit": {"seconds": "seconds", "bytes": "bytes", "calls": "none"}[by],
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }


# ---- the drawing ----


@dataclass
class _Node:
    weight: float = 0.0
    inner: dict[str, _Node] = field(default_factory=dict)


def _tree(stacks: Iterable[Stack]) -> _Node:
    root = _Node()
    for frames, weight in stacks:
        node = root
        node.weight += weight
        for frame in frames:
            node = node.inner.setdefault(frame, _Node())
            node.weight += weight
    return root


def _walk(node: _Node, label: str, at: float, row: int) -> Iterator[tuple[str, float, float, int]]:
    """Label, where it begins, its weight and row of each frame."""
    yield label, at, node.weight, row
    for name, inner in sorted(node.inner.items()):
        yield from _walk(inner, name, at, row + 1)
        at += inner.weight


def name_of(frame: str) -> str:
    """A frame without the folder of its source."""
    return _FRAME.sub(r"\1 (\2)", frame)


def _frame(label: str, said: str, place: tuple[float, float, int], y: int) -> str:
    """said: all that is known of it. place: where it begins and what it takes, of the whole; its row."""
    at, part, row = place
    short = name_of(label)
    x, width = at * _WIDTH, max(part * _WIDTH - 0.5, 0.2)
    room = int((width - 8) / _LETTER)
    shown = "" if room < 4 else short if len(short) <= room else f"{short[: room - 1]}…"
    color = _COLORS[int(hashlib.sha256(short.encode()).hexdigest(), 16) % len(_COLORS)]
    words = ": ".join(said.splitlines())
    return (
        f'<g tabindex="{-1 if row else 0}" role="button" aria-label="{escape(words)}" data-at="{at:.9g}" '
        f'data-part="{part:.9g}" data-row="{row}" data-label="{escape(short)}"><title>{escape(said)}</title>'
        f'<rect fill="{color}" x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_ROW - 1}"/>'
        f'<text x="{x + 4:.2f}" y="{y + 13}">{escape(shown)}</text></g>'
    )


def drawing(stacks: list[Stack], by: str, *, paths: bool = False) -> str:
    """The flame graph as SVG. paths: frames say the folders of their sources, too."""
    root = _tree(stacks)
    whole = root.weight or 1.0
    drawn = [one for one in _walk(root, "all", 0.0, 0) if one[2] >= whole * _LEAST]
    height = (max(row for *_, row in drawn) + 1) * _ROW
    parts = []
    for label, at, weight, row in drawn:
        cost = f"{write(weight, _UNITS[by])} {'' if by == 'seconds' else by}".strip()
        said = f"{label if paths else name_of(label)}\n{cost}, {write(weight / whole, 'percent')}"
        parts.append(_frame(label, said, (at / whole, weight / whole, row), height - (row + 1) * _ROW))
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="group" aria-label="Flame graph, in {by}">{"".join(parts)}</svg>'


STYLE = """
.flame summary{cursor:pointer}
.flame-graph{overflow-x:auto}
.flame-graph svg{display:block;width:100%;min-width:44rem;font:11px ui-monospace,monospace}
.flame-graph g{cursor:pointer;outline:none}
.flame-graph text{pointer-events:none;fill:#1c2128;stroke:none}
.flame-graph .around{opacity:.5}
.flame-graph .match rect{fill:#b967d9}
.flame-graph g:focus-visible rect{stroke:#0b57d0;stroke-width:2}
"""
"""Of what ``figure`` gives. Colors are in the drawing."""


def figure(stacks: list[Stack], by: str, *, paths: bool = False) -> str:
    """The drawing, and controls that the script shows; ``setUpFlame`` of flame.js takes the element around it."""
    return (
        '<p class="tools" hidden><label>Search <input type="search"></label><output></output>'
        '<button type="button">Whole graph</button>'
        "<span>Click or Enter: zoom. Escape: back. Arrows: move. /: search.</span></p>"
        f'<div class="flame-graph">{drawing(stacks, by, paths=paths)}</div>'
    )


# ---- the page ----

_PAGE_STYLE = (
    """
body{font:14px system-ui,sans-serif;margin:1.5em;background:#fff;color:#1c2128}
h1{font-size:1.3em}
.tools>*{margin-right:.5em}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
"""
    + STYLE
)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def to_html(stacks: list[Stack], by: str, name: str) -> str:
    """One page that opens offline: nothing is fetched, and its policy allows its own script and style alone."""
    script = files("iolens.report").joinpath("page").joinpath("flame.js").read_text(encoding="utf-8")
    script += "setUpFlame(document.body);\n"
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(_PAGE_STYLE)}'; script-src 'sha256-{_hash(script)}'"
    )
    title = f"I/O by line, in {by}: {clean(name)}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f"{figure(stacks, by, paths=True)}</main><script>{script}</script></body></html>\n"
    )
