"""Charts as SVG: bars, spans of time, box plots. Colours are classes, so that a page's theme decides them.

No charting library: five kinds of chart are all a report draws, they draw without JavaScript, weigh kilobytes, print,
and the same text serves the PDF. docs/decisions/0009 has the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from iolens.report.document import Bars, Boxes, Heat, Offsets, Series, Spans, Strip, Timeline
from iolens.report.palette import SERIES, css, viridis
from iolens.report.units import escape, write

__all__ = [
    "axis_ticks",
    "bars",
    "boxes",
    "heat",
    "long_bars",
    "nice_step",
    "offsets",
    "spans",
    "standalone",
    "strip",
    "tick_text",
    "timeline",
]

WIDTH = 480
_CHAR = 6.8
_BAR = 13
_GAP = 9
_TOP = 6
_AXIS = 34

Scale = Callable[[float], float]


def standalone(svg: str) -> str:
    """The chart as a file of its own, with the colours of a light page."""
    style = (
        f"svg{{{css(False)}}}text{{font:11px 'DejaVu Sans',sans-serif;fill:#1f2328}}.grid{{stroke:#d0d7de}}"
        + ".empty{fill:#f0f2f4}.tile{fill-opacity:.4}.faint{fill:#57606a}"
        + ".median{stroke:#1f2328;stroke-width:2}.box{fill-opacity:.5}"
        # Not every SVG renderer knows variables, so each class has its colour too.
        + "".join(f".s-{name}{{fill:{light}}}" for name, (light, _) in SERIES.items())
    )
    head, rest = svg.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}'


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else "…" + text[-room + 1 :]


def _label_width(labels: list[str]) -> float:
    return min(175, max((len(label) for label in labels), default=0) * _CHAR + 14)


def nice_step(top: float, count: int = 5, whole: bool = False) -> float:
    """A round number that goes about ``count`` times into the top. whole: there is nothing between 2 and 3."""
    raw = max(top / count, 1.0) if whole else top / count
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    choice = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    return next(m * power for m in choice if m * power >= raw * 0.999)


def _byte_step(top: float, count: int) -> float:
    unit = 1024.0 ** max(0, math.floor(math.log(max(top, 1), 1024)))
    return nice_step(top / unit, count) * unit


def axis_ticks(top: float, unit: str, count: int = 5) -> list[float]:
    """Round numbers from 0 to the top, about so many."""
    bytes_ = unit in ("bytes", "rate")
    step = _byte_step(top, count) if bytes_ else nice_step(top, count, whole=unit == "count")
    return [step * n for n in range(math.floor(top / step + 1e-9) + 1)]


def tick_text(tick: float, unit: str) -> str:
    """As a value, but seconds stay seconds: their round numbers are not those of minutes."""
    return f"{tick:,.0f} s" if unit == "seconds" and tick >= 100 else write(tick, unit)


SAID = 40
"""Values in the name of a chart: a screen reader takes too long for more."""


def _open(title: str, height: float, values: list[str] | None = None) -> str:
    """values: what the chart shows, for screen readers."""
    listed = values or []
    rest = f"; and {len(listed) - SAID} more" if len(listed) > SAID else ""
    name = ": ".join(filter(None, (title, "; ".join(listed[:SAID]) + rest)))
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(name)}">'


@dataclass(frozen=True)
class _Frame:
    """Where values lie: from left to right, above bottom."""

    left: float
    right: float
    bottom: float
    place: Scale

    def x(self, value: float) -> float:
        return self.left + self.place(value) * (self.right - self.left)


def _axis(frame: _Frame, ticks: list[float], unit: str) -> list[str]:
    parts = []
    last = -1e9
    for tick in ticks:
        x, bottom = frame.x(tick), frame.bottom
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}"/>')
        text = tick_text(tick, unit)
        if x - last > len(text) * _CHAR + 6:
            parts.append(
                f'<text class="faint" x="{x:.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{escape(text)}</text>'
            )
            last = x
    return parts


def _bar(x: float, y: float, width: float, series: Series, text: str) -> str:
    seen = max(width, 1.0) if width > 0 else 0
    return (
        f'<rect class="s-{series.name}" x="{x:.1f}" y="{y:.1f}" width="{seen:.1f}" height="{_BAR - 2}" rx="1.5">'
        f"<title>{escape(text)}</title></rect>"
    )


def _under(x: float, y: float, width: float, text: str) -> str:
    """The area next to a short bar that a pointer finds, or nothing."""
    return (
        f'<rect class="under" x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{_BAR - 2}" '
        f'fill="none" pointer-events="all"><title>{escape(text)}</title></rect>'
    )


def _listed(chart: Bars, number: int) -> str:
    return ", ".join(f"{s.title.lower()} {write(s.values[number], chart.unit)}" for s in chart.series)


def _end(chart: Bars, number: int) -> str:
    """What stands behind a stacked bar: its sum, and that as a part of the whole."""
    total = sum(series.values[number] or 0 for series in chart.series)
    share = f" = {write(total / chart.whole, 'percent')}" if chart.whole else ""
    return write(total, chart.unit) + share


def _end_width(chart: Bars) -> float:
    if chart.stacked:
        texts = [_end(chart, number) for number in range(len(chart.categories))]
    else:
        texts = [write(v, chart.unit) if v is not None else "unknown" for s in chart.series for v in s.values]
    return max((len(text) for text in texts), default=0) * 6.2 + 12


def _bar_rows(chart: Bars, left: float, right: float, place: Scale) -> tuple[list[str], float]:
    parts: list[str] = []
    y = float(_TOP)
    height = _BAR if chart.stacked else _BAR * len(chart.series)
    for number, category in enumerate(chart.categories):
        room = int((left - 10) / _CHAR)
        parts.append(
            f'<text x="{left - 8:.1f}" y="{y + height / 2 + 3.5:.1f}" text-anchor="end">'
            f"{escape(_shorten(category, room))}<title>{escape(category)}</title></text>"
        )
        x = left
        if chart.stacked:
            parts.append(_under(left, y, right - left, f"{category}: {_listed(chart, number)}"))
        for place_in_group, series in enumerate(chart.series):
            value = series.values[number]
            text = f"{category}, {series.title}: {write(value, chart.unit)}"
            width = place(value or 0) * (right - left)
            if chart.stacked:
                parts.append(_bar(x, y, width, series, text) if width > 0 else "")
                x += width
                continue
            row = y + place_in_group * _BAR
            parts.append(_under(left, row, right - left, text))
            parts.append(_bar(left, row, width, series, text))
            label = "unknown" if value is None else write(value, chart.unit)
            parts.append(
                f'<text class="faint" x="{left + width + 5:.1f}" y="{row + 9:.1f}">{escape(label)}</text>'
            )
        if chart.stacked:
            label = _end(chart, number)
            parts.append(f'<text class="faint" x="{x + 5:.1f}" y="{y + 9.5:.1f}">{escape(label)}</text>')
        y += height + _GAP
    return parts, y


def bars(chart: Bars) -> str:
    values = [v or 0.0 for s in chart.series for v in s.values]
    if chart.stacked:
        values = [sum(s.values[n] or 0 for s in chart.series) for n in range(len(chart.categories))]
    top = max([0.0, *values]) or 1.0

    def place(value: float) -> float:
        return max(value, 0.0) / top  # a damaged log may have less

    left, right = _label_width(chart.categories), WIDTH - _end_width(chart)
    rows, bottom = _bar_rows(chart, left, right, place)
    said = [f"{category}: {_listed(chart, number)}" for number, category in enumerate(chart.categories)]
    return "".join(
        (
            _open(chart.title, bottom + _AXIS, said),
            *_axis(_Frame(left, right, bottom, place), axis_ticks(top, chart.unit), chart.unit),
            *rows,
            f'<text class="faint" x="{WIDTH}" y="{bottom + 30:.0f}" text-anchor="end">{escape(chart.axis)}</text>',
            "</svg>",
        )
    )


def long_bars(chart: Bars) -> str:
    """Stacked bars below their names, for paper."""
    whole = chart.whole or max(
        sum(s.values[n] or 0 for s in chart.series) for n in range(len(chart.categories))
    )
    room = int(WIDTH / _CHAR)
    parts, y = [], 0.0
    for number, category in enumerate(chart.categories):
        parts.append(f'<text x="0" y="{y + 10:.1f}">{escape(_shorten(category, room))}</text>')
        x = 0.0
        for series in chart.series:
            width = max(0.0, series.values[number] or 0) / (whole or 1) * WIDTH
            text = f"{series.title}: {write(series.values[number], chart.unit)}"
            parts.append(_bar(x, y + 15, width, series, text))
            x += width
        y += 15 + _BAR + _GAP
    return "".join((_open(chart.title, y), *parts, "</svg>"))


def spans(chart: Spans) -> str:
    left, right = _label_width(chart.rows), WIDTH - 14.0
    length = max(chart.end - chart.start, 1e-12)
    step = max(3.0, min(18.0, 480 / max(1, len(chart.rows))))

    def place(value: float) -> float:
        return (value - chart.start) / length

    bottom = _TOP + step * len(chart.rows) + 4
    parts = [_open(chart.title, bottom + _AXIS - 10, [span.title for span in chart.spans])]
    ticks = [chart.start + t for t in axis_ticks(length, "seconds")]
    parts += _axis(_Frame(left, right, bottom, place), ticks, "seconds")
    shown_rows = max(1, math.ceil(12 / step))
    for number, row in enumerate(chart.rows):
        if number % shown_rows == 0:
            y = _TOP + step * (number + 0.5) + 3.5
            text = escape(_shorten(row, int((left - 10) / _CHAR)))
            parts.append(
                f'<text x="{left - 8:.1f}" y="{y:.1f}" text-anchor="end">{text}<title>{escape(row)}</title></text>'
            )
    for span in chart.spans:
        x = left + place(span.start) * (right - left)
        width = max(1.5, place(span.end) * (right - left) + left - x)
        lane = next((n for n, (name, _) in enumerate(chart.legend) if name == span.series), 0)
        high = step / max(1, len(chart.legend))
        y = _TOP + step * span.row + lane * high
        parts.append(
            f'<rect class="s-{span.series}" x="{x:.1f}" y="{y + high * 0.08:.1f}" width="{width:.1f}" '
            f'height="{high * 0.84:.1f}" rx="1"><title>{escape(span.title)}</title></rect>'
        )
    return "".join((*parts, "</svg>"))


def boxes(chart: Boxes) -> str:
    left, right = _label_width(chart.categories), WIDTH - 20.0
    top = max((box[4] for box in chart.boxes), default=0) or 1.0
    step = max(6.0, min(20.0, 900 / max(1, len(chart.boxes))))

    def place(value: float) -> float:
        return value / top

    bottom = _TOP + step * len(chart.boxes) + 4
    words = ("least", "first quartile", "median", "third quartile", "most")
    said = [
        f"{category}: " + ", ".join(f"{w} {write(v, chart.unit)}" for w, v in zip(words, box))
        for category, box in zip(chart.categories, chart.boxes)
    ]
    parts = [_open(chart.title, bottom + _AXIS - 10, said)]
    parts += _axis(_Frame(left, right, bottom, place), axis_ticks(top, chart.unit), chart.unit)
    for number, (category, box) in enumerate(zip(chart.categories, chart.boxes)):
        y = _TOP + step * number
        least, low, middle, high, most = (left + place(v) * (right - left) for v in box)
        text = said[number]
        if step >= 10 or number % math.ceil(12 / step) == 0:
            parts.append(
                f'<text x="{left - 8:.1f}" y="{y + step / 2 + 4:.1f}" text-anchor="end">{escape(category)}</text>'
            )
        parts.append(
            f'<g><title>{escape(text)}</title><line class="grid" x1="{least:.1f}" x2="{most:.1f}" '
            f'y1="{y + step / 2:.1f}" y2="{y + step / 2:.1f}"/><rect class="s-first box" x="{low:.1f}" '
            f'y="{y + step * 0.15:.1f}" width="{max(1.5, high - low):.1f}" height="{step * 0.7:.1f}"/>'
            f'<line class="median" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y + step * 0.1:.1f}" '
            f'y2="{y + step * 0.9:.1f}"/></g>'
        )
    return "".join((*parts, "</svg>"))


_TALL = 64
"""Rows of a still picture of a heat map or timeline."""


def _picture(
    title: str, names: list[str], end: float, cells: list[tuple[float, float, float, float, str]]
) -> str:
    """Rows over time; a cell is where it begins and ends (0 to 1), its row and a part of it, its height and colour."""
    rows = len(names)
    step = max(4.0, min(14.0, 260 / rows))
    left, right, bottom = _label_width(names), WIDTH - 14.0, _TOP + step * rows + 4
    parts = [_open(title, bottom + _AXIS - 10)]
    parts += _axis(_Frame(left, right, bottom, lambda t: t / end), axis_ticks(end, "seconds"), "seconds")
    every = max(1, math.ceil(12 / step))
    for row in range(0, rows, every):
        text = escape(_shorten(names[row], int((left - 10) / _CHAR)))
        parts.append(
            f'<text x="{left - 8:.1f}" y="{_TOP + step * (row + 0.5) + 3.5:.1f}" text-anchor="end">{text}</text>'
        )
    for first, last, top, height, colour in cells:
        x, width = left + first * (right - left), max(0.7, (last - first) * (right - left))
        y = _TOP + step * (math.floor(top) + 0.92 * (top - math.floor(top)))
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.2f}" width="{width:.1f}" height="{step * 0.92 * height:.2f}" fill="{colour}"/>'
        )
    return "".join((*parts, "</svg>"))


def heat(chart: Heat) -> str:
    """A still picture of a heat map, for paper."""
    together = math.ceil(chart.rows / _TALL)
    sums: dict[tuple[int, int], int] = {}
    for row, place, read, written in chart.cells:
        key = row // together, place
        sums[key] = sums.get(key, 0) + read + written
    least, most = min(sums.values(), default=1), max(sums.values(), default=1)
    spread = math.log(most / least) or 1.0
    names = [str(row * chart.per_row) for row in range(0, chart.rows, together)]
    cells = [
        (
            place / chart.drawn_bins,
            min(1.0, (place + 1) / chart.drawn_bins),
            float(row),
            1.0,
            viridis(0.08 + 0.92 * math.log(v / least) / spread),
        )
        for (row, place), v in sums.items()
        if v > 0
    ]
    return _picture(chart.title, names, chart.drawn_end, cells)


def timeline(chart: Timeline) -> str:
    """A still picture of a timeline, for paper: what each rank did in each stretch, by area."""
    bins, listed = chart.levels[0]
    together = math.ceil(len(chart.rows) / _TALL)
    colours = [SERIES[name][0] for name in ("read", "write", "meta")]
    cells = []
    for row, place, *shares, _ in listed:
        if row % together:
            continue
        free, whole = 1.0, max(1.0, sum(shares))
        for share, colour in zip(shares, colours):
            height = share / whole
            free -= height
            if height > 0:
                cells.append(
                    (place / bins, (place + 1) / bins, row // together + max(0.0, free), height, colour)
                )
    return _picture(chart.title, chart.rows[::together], chart.end, cells)


def strip(chart: Strip) -> str:
    """A still picture of a strip, for paper."""
    bins = chart.end / chart.width
    cells = []
    for row, lane in enumerate(chart.lanes):
        most = max(lane.values, default=0) or 1
        colour = SERIES[lane.name][0]
        cells += [
            (place / bins, min(1.0, (place + 1) / bins), float(row), math.sqrt(value / most), colour)
            for place, value in enumerate(lane.values)
            if value > 0
        ]
    return _picture(chart.title, [lane.title for lane in chart.lanes], chart.end, cells)


def offsets(chart: Offsets) -> str:
    """A still picture of the first file, for paper."""
    file = chart.files[0]
    left, right, bottom, size = 70.0, WIDTH - 14.0, 200.0, max(1, file.size)
    parts = [_open(f"{chart.title}: {file.name}", bottom + _AXIS)]
    frame = _Frame(left, right, bottom, lambda t: t / chart.end)
    parts += _axis(frame, axis_ticks(chart.end, "seconds"), "seconds")
    for tick in axis_ticks(size, "bytes"):
        y = bottom - tick / size * (bottom - _TOP)
        text = write(tick, "bytes")
        parts.append(f'<text class="faint" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    marks = [
        (s / chart.end, d / chart.end, at / size, n / size, kind) for s, d, at, n, kind, _ in file.accesses
    ]
    wide, tall = chart.grid
    marks += [(t / wide, 1 / wide, at / tall, 1 / tall, kind) for t, at, kind, _, _ in file.cells]
    for start, long, place, part, kind in marks:
        height = max(1.0, part * (bottom - _TOP))
        parts.append(
            f'<rect class="s-{("read", "write")[kind]}" x="{frame.left + start * (right - left):.1f}" '
            f'y="{bottom - place * (bottom - _TOP) - height:.1f}" width="{max(1.0, long * (right - left)):.1f}" '
            f'height="{height:.1f}"/>'
        )
    return "".join((*parts, "</svg>"))
