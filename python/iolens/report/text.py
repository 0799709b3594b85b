"""A document as text: for a terminal, for mail, for a job's output."""

from __future__ import annotations

import shutil
import sys
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from iolens.report.document import (
    Bars,
    Block,
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
    Timeline,
    Treemap,
)
from iolens.report.flame import name_of
from iolens.report.units import clean, counted, write

__all__ = ["print_text"]

ROWS = 10
"""Rows of a table; the page, --json and --csv have more."""

WIDTH = 110
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "blue", "good": "green"}
_VERDICTS = {"problem": "bold red", "look": "bold yellow", "good": "bold green", "unknown": "bold"}
_SHADES = " ░▒▓█"
_SCALE = "░ little, █ much."
_LETTERS = {"read": "r", "write": "w"}
"""Of spans; = is any other one, x where they overlap."""


class _Writer:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = console.width

    def line(self, text: str = "", style: str = "") -> None:
        self.console.print(Text(clean(text), style=style), soft_wrap=True)

    def paragraph(self, text: str, indent: str = "", style: str = "") -> None:
        for line in wrap(clean(text), self.width - len(indent)) or [""]:
            self.line(indent + line, style)

    # ---- blocks ----

    def note(self, block: Note) -> None:
        mark = {"warning": "! ", "missing": "? "}.get(block.kind, "")
        self.paragraph(mark + block.text, style="yellow" if mark else "")

    def facts(self, block: Facts) -> None:
        widest = max(len(name) for name, _, _ in block.rows)
        for name, value, unit in block.rows:
            self.line(f"  {name:<{widest}}  {write(value, unit)}")

    def table(self, block: Table, rows: int = ROWS) -> None:
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        # What fits: a terminal cannot show fourteen columns.
        columns = block.columns[: max(3, self.width // 13)]
        for column in columns:
            grid.add_column(clean(column.title), justify="left" if column.left else "right", overflow="fold")
        for number, row in enumerate(block.rows[:rows]):
            cells = [write(value, column.unit) for value, column in zip(row, columns)]
            if block.indent:
                cells[0] = "  " * block.indent[number] + cells[0]
            grid.add_row(*(Text(cell) for cell in cells))
        self.console.print(grid)
        if block.count > rows:
            self.line(f"  {rows:,} of {counted(block.count, 'row')}")

    def long_bars(self, block: Bars) -> None:
        whole = block.whole or 1
        for number, category in enumerate(block.categories):
            self.line(f"  {clean(category)}")
            for series in block.series:
                value = series.values[number] or 0
                if value:
                    long = round(min(1.0, value / whole) * (self.width - 50))
                    self.line(f"    {series.title:<26}{'█' * long or '▏'} {write(value, block.unit)}")

    def bars(self, block: Bars) -> None:
        if block.long_names:
            self.long_bars(block)
            return
        labels = [
            f"{c} {s.title.lower()}" if len(block.series) > 1 else c
            for c in block.categories
            for s in block.series
        ]
        values = [s.values[n] for n in range(len(block.categories)) for s in block.series]
        most = max((v or 0 for v in values), default=0) or 1
        room = min(38, max(len(label) for label in labels))
        for label, value in zip(labels, values):
            if value or len(labels) < 12:
                long = round((value or 0) / most * (self.width - room - 18))
                self.line(
                    f"  {clean(label)[:room]:<{room}} {'█' * long}{'▏' if value and not long else ''} "
                    f"{write(value, block.unit)}"
                )

    def spans(self, block: Spans) -> None:
        room = min(36, max(len(row) for row in block.rows))
        wide = self.width - room - 4
        length = max(block.end - block.start, 1e-12)
        for row, name in enumerate(block.rows[:40]):
            cells = [" "] * wide
            for span in (s for s in block.spans if s.row == row):
                first = min(wide - 1, max(0, int((span.start - block.start) / length * wide)))
                last = min(wide - 1, max(first, int((span.end - block.start) / length * wide)))
                letter = _LETTERS.get(span.series, "=")
                for place in range(first, last + 1):
                    cells[place] = letter if cells[place] in (" ", letter) else "x"
            self.line(f"  {clean(name)[:room]:<{room}} {''.join(cells).rstrip()}")
        signs = [f"{_LETTERS.get(name, '=')} {title.lower()}" for name, title in block.legend]
        signs += ["x both"] if len(signs) > 1 else []
        times = f"{write(block.start, 'seconds')} to {write(block.end, 'seconds')}"
        self.line(f"  {'':<{room}} {times}. {', '.join(signs)}.")

    def boxes(self, block: Boxes) -> None:
        self.line(f"  {'':<10} first quartile .. median .. third quartile")
        for category, (_, low, middle, high, _) in list(zip(block.categories, block.boxes))[:40]:
            self.line(
                f"  {category:<10} {write(low, block.unit)} .. {write(middle, block.unit)} .. {write(high, block.unit)}"
            )

    def shades(self, cells: dict[tuple[int, int], float], rows: int, bins: int, names: list[str]) -> None:
        """Rows as characters, darker for more."""
        together, beside = -(-rows // 24), -(-bins // (self.width - 16))
        tall, wide = -(-rows // together), -(-bins // beside)
        sums: dict[tuple[int, int], float] = {}
        for (row, place), value in cells.items():
            key = row // together, place // beside
            sums[key] = sums.get(key, 0) + value
        most = max(sums.values(), default=0) or 1
        for row in range(tall):
            line = "".join(
                _SHADES[0 if not (v := sums.get((row, place), 0)) else max(1, round(4 * (v / most) ** 0.25))]
                for place in range(wide)
            )
            self.line(f"  {clean(names[row * together])[:12]:<12} {line.rstrip()}")

    def strip(self, block: Strip) -> None:
        # Lanes have units of their own: each is shaded by itself.
        for lane in block.lanes:
            cells = {(0, place): value for place, value in enumerate(lane.values)}
            self.shades(cells, 1, len(lane.values), [lane.title])
        self.paragraph(f"0 to {write(block.end, 'seconds')}. {_SCALE} {block.note}", "  ")

    def treemap(self, block: Treemap) -> None:
        total = sum(tile.value for tile in block.tiles) or 1
        for tile in block.tiles[:ROWS]:
            part = f"{write(tile.value, block.unit)} = {write(tile.value / total, 'percent')}"
            self.line(f"  {part:>24}  {clean(tile.name)}")

    def flame(self, block: Flame) -> None:
        total = sum(weight for _, weight in block.stacks) or 1
        for frames, weight in sorted(block.stacks, key=lambda stack: -stack[1])[:ROWS]:
            part = f"{write(weight, 'seconds')} = {write(weight / total, 'percent')}"
            self.line(f"  {part:>24}  {clean(' > '.join(map(name_of, frames)))}")

    def offsets(self, block: Offsets) -> None:
        for one in block.files:
            self.line(
                f"  {counted(one.count, 'access'):>21}, up to {write(one.size, 'bytes')}: {clean(one.name)}"
            )

    def heat(self, block: Heat) -> None:
        cells = {(row, place): float(read + written) for row, place, read, written in block.cells}
        names = [str(row * block.per_row) for row in range(block.rows)]
        self.shades(cells, block.rows, block.bins, names)
        self.paragraph(f"0 to {write(block.end, 'seconds')}. {_SCALE} {block.note}", "  ")

    def timeline(self, block: Timeline) -> None:
        bins, cells = block.levels[0]
        busy = {(row, place): read + written + meta for row, place, read, written, meta, _ in cells}
        self.shades(busy, len(block.rows), bins, block.rows)
        self.paragraph(f"0 to {write(block.end, 'seconds')}. {_SCALE} {block.note}", "  ")

    def finding(self, block: FindingBlock) -> None:
        facts = dict(block.facts)
        lost = f" ({facts['Time lost']})" if "Time lost" in facts else ""
        self.line(f"{block.severity.upper()}  {clean(block.title)}{lost}", _COLOURS[block.severity])
        self.paragraph(block.message, "  ")
        if block.quiet:
            return
        for text, snippet, _ in block.advice:
            self.paragraph(f"> {text}", "  ")
            for line in snippet.strip().splitlines():
                self.line(f"      {line}")
        if "Could save" in facts:
            assuming = f". {facts['Assuming']}" if facts.get("Assuming") else ""
            self.paragraph(f"Could save {facts['Could save']}{assuming}", "  ")
        for table in block.evidence[:1]:
            self.table(table, 5)

    def block(self, block: Block) -> None:
        titled = not isinstance(block, (Note, FindingBlock))
        if titled:
            self.line()
            self.line(clean(getattr(block, "title", "")), "bold")
        shown: dict[type, Any] = {
            Note: self.note,
            Facts: self.facts,
            Table: self.table,
            Bars: self.bars,
            Spans: self.spans,
            Boxes: self.boxes,
            Heat: self.heat,
            Timeline: self.timeline,
            Strip: self.strip,
            Treemap: self.treemap,
            Flame: self.flame,
            Offsets: self.offsets,
            FindingBlock: self.finding,
        }
        shown[type(block)](block)
        if isinstance(block, FindingBlock):
            self.line()

    def section(self, section: Section) -> None:
        self.line()
        self.line(f"== {section.title} ".ljust(self.width, "="), "bold")
        quiet = [b for b in section.blocks if isinstance(b, FindingBlock) and b.quiet]
        for block in section.blocks:
            if len(quiet) < 2 or not any(block is one for one in quiet):
                self.block(block)
            elif block is quiet[0]:
                self.paragraph(f"Good, or to know: {'; '.join(one.title for one in quiet)}.")


def _write(document: Document, console: Console) -> None:
    writer = _Writer(console)
    if document.overview:
        writer.line(document.title, "bold")
        for section in document.overview:
            writer.section(section)
    for job in document.jobs:
        writer.line()
        writer.line(clean(job.title), "bold")
        writer.line(clean(job.subtitle))
        writer.line()
        if job.ended:
            writer.paragraph(job.ended, style=_VERDICTS["look"])
        writer.paragraph(job.headline, style=_VERDICTS[job.verdict])
        if job.action:
            writer.paragraph(f"Do this first: {job.action}")
        for section in job.sections:
            writer.section(section)


def print_text(document: Document, path: Path | None = None) -> None:
    """On standard output, as wide as the terminal; or into a file."""
    if path is None:
        wide = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
        _write(document, Console(width=max(60, wide), highlight=False))
        return
    buffer = StringIO()
    _write(document, Console(file=buffer, width=WIDTH, highlight=False))
    path.write_text(buffer.getvalue(), encoding="utf-8")
