"""Rectangles in a rectangle, their areas as values: rows grow while that makes them squarer (Bruls et al., 2000)."""

from __future__ import annotations

from iolens.report.document import Treemap
from iolens.report.units import escape, write

__all__ = ["draw", "layout"]

WIDTH, HEIGHT = 960, 300
_CHAR, _LINE = 6.6, 14

Box = tuple[float, float, float, float]
"""Left, top, width, height."""


def _worst(row: list[float], side: float) -> float:
    """The longest of a row's rectangles: its long side / its short one."""
    total = sum(row)
    return max(max(side * side * v / total**2, total**2 / (side * side * v)) for v in row)


def _row(row: list[float], box: Box) -> tuple[list[Box], Box]:
    """The rectangles of a row along the short side of the box, and what is left of the box."""
    x, y, w, h = box
    thick = sum(row) / min(w, h)
    made, place = [], 0.0
    for value in row:
        long = value / thick
        made.append((x, y + place, thick, long) if w >= h else (x + place, y, long, thick))
        place += long
    return made, ((x + thick, y, w - thick, h) if w >= h else (x, y + thick, w, h - thick))


def layout(values: list[float], box: Box) -> list[Box]:
    """A rectangle per value; values are positive, the largest first."""
    scale = box[2] * box[3] / (sum(values) or 1)
    areas = [value * scale for value in values]
    made: list[Box] = []
    row: list[float] = []
    for area in areas:
        side = max(1e-9, min(box[2], box[3]))
        if row and _worst([*row, area], side) > _worst(row, side):
            done, box = _row(row, box)
            made += done
            row = []
        row.append(area)
    return made + (_row(row, box)[0] if row else [])


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else "…" + text[-room + 1 :]


def _label(name: str, value: str, box: Box) -> str:
    x, y, w, h = box
    room = int((w - 10) / _CHAR)
    if room < 6 or h < _LINE + 4:
        return ""
    second = (
        f'<text class="faint" x="{x + 5:.1f}" y="{y + 13 + _LINE:.1f}">{escape(value)}</text>'
        if h > 2 * _LINE + 6 and len(value) <= room
        else ""
    )
    return f'<text x="{x + 5:.1f}" y="{y + 13:.1f}">{escape(_shorten(name, room))}</text>{second}'


def draw(chart: Treemap) -> str:
    boxes = layout([tile.value for tile in chart.tiles], (0, 0, WIDTH, HEIGHT))
    total = sum(tile.value for tile in chart.tiles) or 1
    parts = []
    said = f"{chart.title}: " + "; ".join(
        f"{tile.name} {write(tile.value, chart.unit)}" for tile in chart.tiles
    )
    for tile, box in zip(chart.tiles, boxes):
        x, y, w, h = box
        value = f"{write(tile.value, chart.unit)} = {write(tile.value / total, 'percent')}"
        text = f"{tile.name}: {value}" + (f"; {tile.explain}" if tile.explain else "")
        parts.append(
            f'<g><title>{escape(text)}</title><rect class="s-{tile.series} tile" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" '
            f'width="{max(0.5, w - 1):.1f}" height="{max(0.5, h - 1):.1f}"/>{_label(tile.name, value, box)}</g>'
        )
    return (
        f'<svg class="chart wide" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">'
        f"{''.join(parts)}</svg>"
    )
