"""A comparison of runs by ``iolens.compare``, as a document."""

from __future__ import annotations

from collections.abc import Sequence

from iolens.compare import Comparison, RoleRow, Row
from iolens.compare.text import change, quantity, sentence
from iolens.report.document import Block, Boxes, Column, Document, Facts, Job, Note, Section, Table
from iolens.report.units import counted

__all__ = ["compared"]

UNITS = {"s": "seconds", "bytes": "bytes", "bytes/s": "rate"}
"""Of a measure -> of a column; what is not named is a count."""

_WORST = (
    ("failed", "problem", "Failed"),
    ("slower", "problem", "Slower"),
    ("unproven", "look", "Not proven"),
    ("different", "look", "Different"),
    ("faster", "good", "Faster"),
    ("same", "good", "No difference"),
)
"""Verdict of a comparison, worst first: its colour, its label."""


def _measures(comparison: Comparison) -> Table:
    """One row per measure; units differ from row to row, so values are written here."""
    columns = [Column("measure", "Measure"), Column("base", comparison.groups[0].name)]
    for number, group in enumerate(comparison.groups[1:], 1):
        columns += [Column(f"group{number}", group.name), Column(f"change{number}", "Change")]
        columns += [Column(f"verdict{number}", "Verdict")]
    rows = []
    for row in comparison.rows:
        cells = [
            row.measure.title,
            quantity(row.samples[0].mean if row.samples[0] else None, row.measure.unit),
        ]
        for number in range(1, len(comparison.groups)):
            s = row.samples[number]
            cells += [quantity(s.mean if s else None, row.measure.unit), change(row.ratios[number])]
            cells.append(row.verdicts[number])
        rows.append(cells)
    note = "Means of the runs. A change below the limits, or one that chance explains, is none."
    return Table("measures", "Measures", tuple(columns), rows, note=note, total=len(rows))


def _boxes(comparison: Comparison) -> list[Block]:
    found: list[Block] = []
    for row in comparison.rows:
        repeated = any(s and s.n > 1 for s in row.samples)
        differs = any(v not in ("same", "unknown") for v in row.verdicts[1:])
        if not repeated or not (differs or row.measure.name == "run_time"):
            continue
        named = [(group.name, s) for group, s in zip(comparison.groups, row.samples) if s]
        found.append(
            Boxes(
                f"box-{row.measure.name}",
                row.measure.title.capitalize(),
                [f"{name} (n = {s.n})" for name, s in named],
                [(s.minimum, s.q1, s.median, s.q3, s.maximum) for _, s in named],
                UNITS.get(row.measure.unit, "count"),
                note=_test(comparison, row),
            )
        )
    return found


def _test(comparison: Comparison, row: Row) -> str:
    parts = []
    for group, test in zip(comparison.groups[1:], row.tests[1:]):
        if test:
            parts.append(
                f"{group.name} against {comparison.groups[0].name}: p = {test.p:.3g} (Welch's t = {test.t:.3g}, "
                f"df = {test.df:.4g}), 95 % confidence interval of the difference {test.low:+.4g} to {test.high:+.4g}"
            )
    return "; ".join(parts)


def _files(comparison: Comparison, roles: Sequence[RoleRow]) -> Table:
    columns = [Column("role", "Files", "path")]
    for number, group in enumerate(comparison.groups):
        columns += [
            Column(f"files{number}", f"{group.name}: files", "count"),
            Column(f"size{number}", "size", "bytes"),
            Column(f"bytes{number}", "moved", "bytes"),
            Column(f"time{number}", "time", "seconds"),
            Column(f"calls{number}", "calls", "count"),
            Column(f"seeks{number}", "seeks", "count"),
        ]
    columns.append(Column("change", "Change of time", "seconds"))
    rows = []
    for role in roles:
        cells: list[object] = [role.name]
        for part in role.parts:
            cells += (
                [part.files, part.size, part.bytes, part.time, part.operations, part.seeks]
                if part
                else [None] * 6
            )
        rows.append([*cells, role.change])
    note = "Files are matched by the part they play: # is what varies. Time is that of calls, summed over processes."
    return Table("files", "Files", tuple(columns), rows[:500], note=note, total=len(rows))


def compared(comparison: Comparison, version: str) -> Document:
    """The verdict first, then measures, distributions of repeated runs, and files."""
    worst = next(one for one in _WORST if one[0] in comparison.verdicts)
    if worst[0] == "same" and any(comparison.unexplained):
        worst = ("same", "unknown", "Not known")
    first = Section("verdict", "What differs", [Note("info", note) for note in comparison.notes])
    blocks: list[Block] = [*first.blocks, _measures(comparison)]
    runs = Facts(
        "runs", "Logs", [(group.name, "; ".join(group.paths), "path") for group in comparison.groups]
    )
    sections = [
        Section(first.id, first.title, blocks),
        Section("runs-of-groups", "Repeated runs", _boxes(comparison)),
        Section("files-compared", "Files", [_files(comparison, comparison.roles)]),
        Section("logs", "Logs", [runs]),
    ]
    title = " against ".join([comparison.groups[-1].name, comparison.groups[0].name])
    if len(comparison.groups) > 2:
        title = f"{counted(len(comparison.groups), 'run')} compared"
    job = Job(
        title=title,
        subtitle=", ".join(f"{g.name}: {counted(len(g.paths), 'log')}" for g in comparison.groups),
        verdict=worst[1],
        headline=". ".join(sentence(comparison, n) for n in range(1, len(comparison.groups))) + ".",
        sections=[s for s in sections if s.blocks],
        label=worst[2],
    )
    return Document(title=title, version=version, jobs=[job], problems=[str(p) for p in comparison.problems])
