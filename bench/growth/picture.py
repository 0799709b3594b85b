"""Series of (n, seconds) as one picture: a panel each, both axes logarithmic, with n log n through the last point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from fit import growth

Points = Sequence[tuple[int, float]]

WIDTH, HEIGHT, COLUMNS = 270, 230, 4
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 42, 36


def number(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= 0.999 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.1g} s"


class Axis:
    """From values to places; ticks at powers of ten, and at twice and five times these where there are few."""

    def __init__(self, values: Sequence[float], low: float, high: float) -> None:
        self.first, self.last = math.log10(min(values)), math.log10(max(values))
        if self.last - self.first < 1:
            self.first, self.last = self.first - 0.5, self.last + 0.5
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        return self.low + (math.log10(value) - self.first) / (self.last - self.first) * (self.high - self.low)

    def ticks(self) -> list[float]:
        exponents = range(math.floor(self.first), math.ceil(self.last) + 1)
        for steps in ((1,), (1, 2, 5)):
            found = [step * 10.0**e for e in exponents for step in steps]
            found = [value for value in found if self.first - 1e-9 <= math.log10(value) <= self.last + 1e-9]
            if len(found) > 2:
                break
        return found


def _line(points: Sequence[tuple[float, float]], style: str) -> str:
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" {style}/>'


def panel(title: str, what: str, points: Points, at: tuple[int, int]) -> str:
    (n_last, t_last), found = points[-1], growth(points)
    x = Axis([n for n, _ in points], LEFT, WIDTH - RIGHT)
    y = Axis([t for _, t in points], HEIGHT - BOTTOM, TOP)
    parts = [f'<g transform="translate({at[0]},{at[1]})">']
    parts.append(f'<text x="{LEFT}" y="16" class="head">{escape(title)}</text>')
    told = f"n^{found.exponent:.2f}: {found.verdict}" if found.points > 1 else found.verdict
    parts.append(f'<text x="{LEFT}" y="32">{escape(told)}</text>')
    for n in x.ticks():
        parts.append(
            f'<line x1="{x(n):.1f}" x2="{x(n):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="grid"/>'
        )
        parts.append(
            f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{number(n)}</text>'
        )
    for t in y.ticks():
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(t):.1f}" y2="{y(t):.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{seconds(t)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(what)}</text>')
    scale = t_last / (n_last * math.log(n_last))
    law = [(n, scale * n * math.log(n)) for n, _ in points if n > 1]
    law = [(x(n), y(t)) for n, t in law if t >= 10**y.first]
    parts.append(_line(law, 'class="law"'))
    placed = [(x(n), y(t)) for n, t in points]
    parts.append(_line(placed, 'class="line"'))
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in placed]
    return "".join([*parts, "</g>"])


def picture(series: Mapping[str, tuple[str, Points]]) -> str:
    """title -> (what n counts, points)."""
    rows = -(-len(series) // COLUMNS)
    width, height = WIDTH * min(COLUMNS, len(series)), HEIGHT * rows
    panels = [
        panel(title, what, points, (WIDTH * (i % COLUMNS), HEIGHT * (i // COLUMNS)))
        for i, (title, (what, points)) in enumerate(series.items())
    ]
    style = (
        "text{font:11px sans-serif;fill:#333}.head{font-weight:bold;font-size:12px}"
        ".grid{stroke:#ddd}.line{fill:none;stroke:#1f6feb;stroke-width:2}circle{fill:#1f6feb}"
        ".law{fill:none;stroke:#888;stroke-dasharray:4 4}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>Processor time by size; dashed: n log n</title><style>{style}</style>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(panels)}</svg>\n'
    )
