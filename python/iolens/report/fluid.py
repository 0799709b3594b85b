"""Charts as wide as the page, whatever that is: places are per cents, and words are the page's, not the drawing's."""

from __future__ import annotations

import math

from iolens.report.document import Bars, Strip
from iolens.report.svg import nice_step, tick_text
from iolens.report.units import escape, write

__all__ = ["bar", "parts_in_words", "share_in_words", "strip_lane", "time_axis"]

_BAR, _LANE = 18, 16


def _percent(share: float) -> str:
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"


def _rect(place: float, width: float, name: str, text: str, opacity: float = 1.0) -> str:
    shade = "" if opacity >= 1 else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<rect class="s-{name}" x="{_percent(place)}" y="0" width="{_percent(width)}" height="100%"{shade}>'
        f"<title>{escape(text)}</title></rect>"
    )


def bar(chart: Bars, number: int) -> str:
    """The stacked bar of one category, 100 % wide; what remains of the whole is empty."""
    whole = chart.whole or max(
        sum(s.values[n] or 0 for s in chart.series) for n in range(len(chart.categories))
    )
    parts, place = [], 0.0
    for series in chart.series:
        width = max(0.0, series.values[number] or 0) / (whole or 1)
        if width > 0:
            text = f"{series.title}: {write(series.values[number], chart.unit)} = {write(width, 'percent')}"
            parts.append(_rect(place, width, series.name, text))
        place += width
    name = escape(f"{chart.title}, {chart.categories[number]}: {parts_in_words(chart, number)}")
    return (
        f'<svg class="fluid" width="100%" height="{_BAR}" role="img" aria-label="{name}">'
        f'<rect class="empty" width="100%" height="100%"/>{"".join(parts)}</svg>'
    )


def parts_in_words(chart: Bars, number: int) -> str:
    """What a bar is made of, but for what is nothing."""
    return ", ".join(
        f"{series.title.lower() if not series.title.startswith('MPI') else series.title} "
        f"{write(series.values[number], chart.unit)}"
        for series in chart.series
        if series.values[number]
    )


def share_in_words(chart: Bars, number: int) -> str:
    """A bar's part of the whole; "" if it is the whole."""
    total = sum(series.values[number] or 0 for series in chart.series)
    if not chart.whole or total >= 0.9999 * chart.whole:
        return ""
    return f"{write(total, chart.unit)} = {write(total / chart.whole, 'percent')}"


def strip_lane(chart: Strip, number: int) -> str:
    """The cells of one lane, darker for more; the last may end beyond the run and is cut there."""
    lane = chart.lanes[number]
    most = max(lane.values, default=0) or 1
    cells = []
    for place, value in enumerate(lane.values):
        if value <= 0:
            continue
        start, end = place * chart.width, min(chart.end, (place + 1) * chart.width)
        text = f"{write(start, 'seconds')} to {write(end, 'seconds')}: {lane.title.lower()} {write(value, lane.unit)}"
        cells.append(
            _rect(
                start / chart.end,
                (end - start) / chart.end,
                lane.name,
                text,
                0.15 + 0.85 * math.sqrt(value / most),
            )
        )
    name = escape(
        f"{chart.title}: {lane.title}, at most {write(most, lane.unit)} in {write(chart.width, 'seconds')}"
    )
    return (
        f'<svg class="fluid" width="100%" height="{_LANE}" role="img" aria-label="{name}" '
        f'shape-rendering="crispEdges"><rect class="empty" width="100%" height="100%"/>{"".join(cells)}</svg>'
    )


def time_axis(end: float) -> str:
    """Ticks from 0 to the end; the last stands before it, so that its text has room."""
    step = nice_step(end, 4)
    ticks = [step * n for n in range(math.floor(end / step + 1e-9) + 1)]
    parts = []
    for tick in ticks:
        place = _percent(tick / end)
        anchor = "start" if tick == 0 else "end" if tick > 0.94 * end else "middle"
        parts.append(
            f'<line class="grid" x1="{place}" x2="{place}" y1="0" y2="4"/><text class="faint" x="{place}" y="15" '
            f'text-anchor="{anchor}">{escape(tick_text(tick, "seconds"))}</text>'
        )
    return f'<svg class="fluid" width="100%" height="18" aria-hidden="true">{"".join(parts)}</svg>'
