"""The chart of an application's runs: a point per run, the band of those before, and what lies outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from iolens.portal.shown import Chart
from iolens.report.svg import nice_step
from iolens.report.units import escape, write

__all__ = ["Band", "Run", "draw"]

WIDTH, HEIGHT = 640, 190
LEFT, RIGHT, TOP, BOTTOM = 78, 12, 10, 22


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


def draw(id: str, title: str, unit: str, runs: Sequence[Run], band: Band | None) -> Chart:
    """In order of time from left to right. A run that drifted has a ring."""
    values = [run.value for run in runs if run.value is not None]
    top = max([*values, band.high if band else 0.0, 1e-12]) * 1.05
    inner = HEIGHT - TOP - BOTTOM

    def y(value: float) -> float:
        return TOP + inner * (1 - max(0.0, value) / top)

    def x(number: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / max(1, len(runs))

    parts = [
        f'<svg class="chart runs" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
    ]
    step = nice_step(top, 4)
    for number in range(int(top / step) + 1):
        at = y(step * number)
        words = escape(write(step * number, unit))
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
            f'<a href="{escape(run.url)}"><title>{escape(words)}</title>{ring}'
            f'<circle class="s-first" cx="{x(number):.1f}" cy="{y(run.value):.1f}" r="3.2"/></a>'
        )
    note = "Band and line: quartiles and median of all but the last runs." if band else ""
    parts.append("</svg>")
    return Chart(
        Markup(
            f'<figure class="chart-box" id="{escape(id)}"><figcaption><h3>{escape(title)}</h3></figcaption>'
            f'{"".join(parts)}<p class="remark">{escape(note)}</p></figure>'
        )
    )
