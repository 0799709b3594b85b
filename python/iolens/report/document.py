"""The document: what a report says, whatever it is written as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Union

__all__ = [
    "Bars",
    "Block",
    "Boxes",
    "Column",
    "Document",
    "Facts",
    "FindingBlock",
    "Flame",
    "Heat",
    "Job",
    "Lane",
    "Note",
    "Offsets",
    "Section",
    "Series",
    "Span",
    "Spans",
    "Strip",
    "Table",
    "Term",
    "Tile",
    "Timeline",
    "Traced",
    "Treemap",
    "walk",
]


@dataclass(frozen=True)
class Column:
    """unit says how values are written: text, path, bytes, seconds, count, percent (a share), rate "
    "(bytes/s), factor, number."""

    name: str
    title: str
    unit: str = "text"
    explain: str = ""

    @property
    def left(self) -> bool:
        """Text begins at the left; numbers end at the right."""
        return self.unit in ("text", "path", "")


@dataclass(frozen=True)
class Table:
    id: str
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Any]]
    note: str = ""
    total: int = 0
    """How many rows there are; ``rows`` may be fewer."""
    sql: str = ""
    """What gives all rows."""
    indent: tuple[int, ...] = ()
    """A tree: the depth of each row. Its order is kept."""
    metric: str = ""
    """Where the definition is."""
    links: tuple[tuple[str, str], ...] = ()
    """Where else it is to be had: words and address. Only a page of others has such."""

    @property
    def count(self) -> int:
        """Of all rows, those that are not here too."""
        return max(self.total, len(self.rows))


@dataclass(frozen=True)
class Facts:
    """Names and what they are, in order."""

    id: str
    title: str
    rows: list[tuple[str, Any, str]]
    """Name, value, unit."""


@dataclass(frozen=True)
class Note:
    """kind: missing (something is not known), warning, info, good."""

    kind: str
    text: str


@dataclass(frozen=True)
class Series:
    """name picks the colour: read, write, meta, wait, and others in turn."""

    name: str
    title: str
    values: list[float | None]


@dataclass(frozen=True)
class Bars:
    """Bars from left to right, a group per category."""

    id: str
    title: str
    categories: list[str]
    series: list[Series]
    unit: str
    stacked: bool = False
    whole: float | None = None
    """What 100 % is, for a second axis."""
    note: str = ""
    metric: str = ""
    long_names: bool = False
    """Each name stands above its bar, and bars are as long as ``whole`` lets them."""
    half: bool = True
    """Whether it shares a line of the page with a neighbour."""
    axis: str = ""
    """What is counted."""


@dataclass(frozen=True)
class Span:
    row: int
    start: float
    end: float
    series: str
    title: str


@dataclass(frozen=True)
class Spans:
    """Stretches of time, a row each: when something was first and last done."""

    id: str
    title: str
    rows: list[str]
    spans: list[Span]
    start: float
    end: float
    legend: list[tuple[str, str]]
    note: str = ""
    metric: str = ""


@dataclass(frozen=True)
class Boxes:
    """Quartiles of a distribution per category."""

    id: str
    title: str
    categories: list[str]
    boxes: list[tuple[float, float, float, float, float]]
    """Least, first quartile, median, third quartile, most."""
    unit: str
    note: str = ""
    metric: str = ""


@dataclass(frozen=True)
class Heat:
    """Bytes per rank (or group of ranks) and stretch of time."""

    id: str
    title: str
    rows: int
    bins: int
    end: float
    per_row: int
    """Ranks in a row."""
    ranks: int
    cells: list[tuple[int, int, int, int]]
    """Row, bin, bytes read, bytes written; what is not named is zero."""
    note: str = ""
    rank: str = "rank"
    """What a row is."""
    drawn: float = 0.0
    """Bins up to the end of the run, which ends within the last one; 0: all."""

    @property
    def drawn_bins(self) -> float:
        return self.drawn or float(self.bins)

    @property
    def drawn_end(self) -> float:
        return self.end * self.drawn_bins / self.bins


@dataclass(frozen=True)
class Timeline:
    """What each rank did when, at several levels of detail.

    A level has ``bins`` stretches of equal length from 0 to ``end``; its cells are (row, bin, shares of the stretch
    spent reading, writing and in metadata, bytes).
    ``accesses`` are exact: (row, start, duration, kind, bytes, offset, file).
    """

    id: str
    title: str
    rows: list[str]
    end: float
    levels: list[tuple[int, list[tuple[int, int, float, float, float, int]]]]
    accesses: list[tuple[int, float, float, int, int, int, int]]
    files: list[str]
    complete: bool
    """Whether ``accesses`` are all there are."""
    note: str = ""
    titles: list[str] = field(default_factory=list)
    """Rows with all that is known of them, as ``rows`` if empty."""


@dataclass(frozen=True)
class Lane:
    """name picks the colour; a value per stretch of time."""

    name: str
    title: str
    unit: str
    values: list[float]


@dataclass(frozen=True)
class Strip:
    """When how much: lanes of cells over time, from 0 to ``end``, darker for more."""

    id: str
    title: str
    lanes: list[Lane]
    width: float
    """Seconds of a cell."""
    end: float
    note: str = ""


@dataclass(frozen=True)
class Tile:
    """A part of a whole; series picks the colour."""

    name: str
    value: float
    series: str
    explain: str = ""


@dataclass(frozen=True)
class Treemap:
    """Rectangles whose areas are values, largest first."""

    id: str
    title: str
    tiles: list[Tile]
    unit: str
    legend: list[tuple[str, str]]
    note: str = ""
    metric: str = ""


@dataclass(frozen=True)
class Flame:
    """Stacks of lines, each as wide as its seconds of I/O: frames, outermost first."""

    id: str
    title: str
    stacks: list[tuple[tuple[str, ...], float]]
    note: str = ""
    folded: bool = False
    """Whether it shows at a click: there are no stacks, only the places that opened files."""


@dataclass(frozen=True)
class Traced:
    """Where in a file, and when. Either every access or, of many, counts on a grid of times and offsets.

    accesses: (start, duration, offset, length, kind, rank), kind 0 reading and 1 writing, in seconds and bytes.
    cells: (place in time, place in the file, kind, accesses, bytes) on a grid of ``grid`` places each.
    """

    name: str
    size: int
    """Bytes up to the end of the furthest access."""
    count: int
    accesses: list[tuple[float, float, int, int, int, int]]
    cells: list[tuple[int, int, int, int, int]]


@dataclass(frozen=True)
class Offsets:
    """The traced files that were accessed most: offset over time, one file at a time, from 0 to ``end``."""

    id: str
    title: str
    files: list[Traced]
    end: float
    grid: tuple[int, int]
    note: str = ""
    rank: str = "rank"


@dataclass(frozen=True)
class FindingBlock:
    """A finding of the rules, with its evidence as tables."""

    id: str
    severity: str
    title: str
    message: str
    facts: list[tuple[str, str]]
    advice: list[tuple[str, str, str]]
    """Text, snippet, language."""
    evidence: list[Table]
    references: list[str]
    links: tuple[tuple[str, str], ...] = ()
    """Where there is more of it: words and address. Only a page of others has such."""
    quiet: bool = False
    """Whether it asks for nothing: then its title is enough."""


@dataclass(frozen=True)
class Term:
    id: str
    title: str
    definition: str
    unit: str = ""
    caveats: str = ""
    source: str = ""


Block = Union[
    Note, Facts, Table, Bars, Spans, Boxes, Heat, Timeline, Strip, Treemap, Flame, Offsets, FindingBlock, Term
]


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    blocks: list[Block]
    intro: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Job:
    """One log: the answer, then the sections."""

    title: str
    subtitle: str
    verdict: str
    """problem, look, good or unknown."""
    headline: str
    sections: list[Section]
    label: str = ""
    """Stands above the headline; by default what the verdict says of a job."""
    ended: str = ""
    """How the job ended, if not by itself: stands before everything else."""
    action: str = ""
    """What to do first."""
    action_at: str = ""
    """The id of the finding that says more about it."""
    command: str = ""


@dataclass(frozen=True)
class Document:
    """A report. ``overview``: what several jobs are together; empty for one job."""

    title: str
    version: str
    jobs: list[Job]
    overview: list[Section] = field(default_factory=list)
    definitions: Section | None = None
    problems: list[str] = field(default_factory=list)


def _of(sections: Sequence[Section]) -> list[Block]:
    found: list[Block] = []
    for section in sections:
        for block in section.blocks:
            found.append(block)
            if isinstance(block, FindingBlock):
                found.extend(block.evidence)
    return found


def walk(document: Document) -> list[Block]:
    """Every block of the document, in its order."""
    found = _of(document.overview)
    for job in document.jobs:
        found.extend(_of(job.sections))
    return found + (_of([document.definitions]) if document.definitions else [])
