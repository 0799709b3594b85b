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

__all__ = ["WEIGHTS", "Stack", "collapsed", "read_stacks", "speedscope", "to_html"]

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


def read_stacks(data: Dataset, by: str) -> list[Stack]:
    """The stacks of all calls; the last frame says what was called. Without a stack there is the place of the open."""
    found = data.query(f"""
        SELECT coalesce(nullif(stack, ''), place) AS stack, interface || ' ' || kind AS call,
            sum({WEIGHTS[by]})::DOUBLE AS weight
        FROM line GROUP BY ALL HAVING weight > 0 ORDER BY stack, call
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


# ---- the page ----


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


def _frame(label: str, place: tuple[float, float, int], y: int, cost: str) -> str:
    """place: where it begins and what it takes, of the whole; its row."""
    at, part, row = place
    short = _FRAME.sub(r"\1 (\2)", label)
    x, width = at * _WIDTH, max(part * _WIDTH - 0.5, 0.2)
    room = int((width - 8) / _LETTER)
    shown = "" if room < 4 else short if len(short) <= room else f"{short[: room - 1]}…"
    color = int(hashlib.sha256(short.encode()).hexdigest(), 16) % len(_COLORS)
    return (
        f'<g tabindex="0" data-at="{at:.9g}" data-part="{part:.9g}" data-row="{row}" data-label="{escape(short)}">'
        f"<title>{escape(label)}\n{escape(cost)}</title>"
        f'<rect class="c{color}" x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_ROW - 1}"/>'
        f'<text x="{x + 4:.2f}" y="{y + 13}">{escape(shown)}</text></g>'
    )


def _drawing(stacks: list[Stack], by: str) -> str:
    root = _tree(stacks)
    whole = root.weight or 1.0
    drawn = [one for one in _walk(root, "all", 0.0, 0) if one[2] >= whole * _LEAST]
    height = (max(row for *_, row in drawn) + 1) * _ROW
    parts = []
    for label, at, weight, row in drawn:
        cost = f"{write(weight, _UNITS[by])} {'' if by == 'seconds' else by}".strip()
        share = write(weight / whole, "percent")
        place = (at / whole, weight / whole, row)
        parts.append(_frame(label, place, height - (row + 1) * _ROW, f"{cost}, {share}"))
    return f'<svg id="flame" viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(parts)}</svg>'


_STYLE = """
body{font:14px system-ui,sans-serif;margin:1.5em;background:#fff;color:#1c2128}
h1{font-size:1.3em}
svg{width:100%;font:11px ui-monospace,monospace}
g{cursor:pointer;outline:none}
text{pointer-events:none;fill:#1c2128}
g.around{opacity:.5}
g.match rect{fill:#b967d9}
g:focus-visible rect{stroke:#0b57d0;stroke-width:2}
input{margin-right:.5em}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
""" + "".join(f".c{n}{{fill:{color}}}" for n, color in enumerate(_COLORS))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def to_html(stacks: list[Stack], by: str, name: str) -> str:
    """One page that opens offline: nothing is fetched, and its policy allows its own script and style alone."""
    script = files("iolens.report").joinpath("page").joinpath("flame.js").read_text(encoding="utf-8")
    policy = f"default-src 'none'; style-src 'sha256-{_hash(_STYLE)}'; script-src 'sha256-{_hash(script)}'"
    title = f"I/O by line, in {by}: {clean(name)}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        '<p id="controls" hidden><label>Search <input id="search" type="search"></label><span id="found"></span> '
        '<button id="whole">Whole graph</button> Click or Enter: zoom. Escape: back. Arrows: move. /: search.</p>'
        f"{_drawing(stacks, by)}<script>{script}</script></body></html>\n"
    )
