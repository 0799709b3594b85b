"""The chart of an application's runs: a point per run, the band of those before, and what lies outside of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from iolens.portal.web.widgets import Chart
from iolens.report.svg import axis_ticks, tick_text
from iolens.report.units import escape, write

__all__ = ["Band", "Run", "draw"]

WIDTH, HEIGHT = 540, 190
LEFT, RIGHT, TOP, BOTTOM = 82, 12, 10, 10

ORDERS = 50
"""So many times the median is another order of magnitude."""


@dataclass(frozen=True)
class Run:
    value: float | None
    title: str
    url: str
    marked: bool = False


@dataclass(frozen=True)
class Band:
    """First quartile, median, third quartile."""

    low: float
    middle: float
    high: float


class _Scale:
    """Where values stand, from 0 below to 1 above; logarithmic where a few runs would flatten all others."""

    def __init__(self, values: Sequence[float], band: Band | None, unit: str) -> None:
        self.top = max([*values, band.high if band else 0.0, 1e-12]) * 1.05
        positive = sorted(value for value in values if value > 0)
        self.logarithmic = len(positive) > 1 and self.top > ORDERS * positive[len(positive) // 2]
        self._low = math.floor(math.log10(positive[len(positive) // 20])) if self.logarithmic else 0
        if self.logarithmic:
            decades = range(self._low, math.floor(math.log10(self.top)) + 1)
            self.ticks = [10.0**n for n in decades][:: math.ceil(len(decades) / 6)]
        else:
            self.ticks = axis_ticks(self.top, unit, count=4)

    def __call__(self, value: float) -> float:
        if not self.logarithmic:
            return max(0.0, value) / self.top
        return max(0.0, math.log10(max(value, 1e-300)) - self._low) / (math.log10(self.top) - self._low)


def draw(id: str, title: str, unit: str, runs: Sequence[Run], band: Band | None) -> Chart:
    """In order of time from left to right. A run that drifted has a ring."""
    values = [run.value for run in runs if run.value is not None]
    scale = _Scale(values, band, unit)
    inner = HEIGHT - TOP - BOTTOM

    def y(value: float) -> float:
        return TOP + inner * (1 - scale(value))

    def x(number: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / max(1, len(runs))

    parts = [
        f'<svg class="chart runs" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(title)}">'
    ]
    for tick in scale.ticks:
        at = y(tick)
        words = escape(tick_text(tick, unit))
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="faint" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{words}</text>'
        )
    if band:
        low, middle, high = (write(value, unit) for value in (band.low, band.middle, band.high))
        at = y(band.middle)
        words = f"quartiles of earlier runs: {low} to {high}, median {middle}"
        parts.append(
            f'<rect class="band" x="{LEFT}" width="{WIDTH - LEFT - RIGHT}" y="{y(band.high):.1f}" '
            f'height="{max(1.0, y(band.low) - y(band.high)):.1f}"><title>{escape(words)}</title></rect>'
            f'<line class="median" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        )
    for number, run in enumerate(runs):
        if run.value is None:
            continue
        words = f"{run.title}: {write(run.value, unit)}"
        ring = (
            f'<circle class="drift" cx="{x(number):.1f}" cy="{y(run.value):.1f}" r="7"/>'
            if run.marked
            else ""
        )
        parts.append(
            f'<a href="{escape(run.url)}" aria-label="{escape(words)}"><title>{escape(words)}</title>{ring}'
            f'<circle class="s-first" cx="{x(number):.1f}" cy="{y(run.value):.1f}" r="3.2"/></a>'
        )
    note = "Band and line: quartiles and median of all but the last runs." if band else ""
    note += " The scale is logarithmic." if scale.logarithmic else ""
    parts.append("</svg>")
    return Chart(
        Markup(
            f'<figure class="chart-box" id="{escape(id)}"><figcaption><h3>{escape(title)}</h3></figcaption>'
            f'{"".join(parts)}<p class="remark">{escape(note)}</p></figure>'
        )
    )
