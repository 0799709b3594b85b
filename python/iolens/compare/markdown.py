"""A comparison as GitHub's Markdown: for the summary of a job in CI, or a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iolens.compare.comparison import Comparison, Row
from iolens.compare.text import change, differing, quantity, sentence
from iolens.rules.text import clean

__all__ = ["to_markdown"]

_SIGNS = {"faster": "🟢", "better": "🟢", "slower": "🔴", "failed": "🔴", "worse": "🔴", "unproven": "🟡"}
_WORDS = {"unproven": "not proven", "same": "", "unknown": "unknown"}


def _escaped(text: str) -> str:
    """Text that is not markup, a mention or a link, whatever stands in it: names of files are the program's."""
    return re.sub(r"[^\w /.,;:+%=()-]|_|:(?=//)", lambda c: f"&#{ord(c[0])};", clean(text).replace("\n", " "))


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _table(rows: Sequence[Sequence[str]], left: set[int]) -> Iterator[str]:
    header, *body = rows
    yield f"| {' | '.join(header)} |"
    yield "|" + "|".join(":--" if n in left else "--:" for n in range(len(header))) + "|"
    for row in body:
        yield f"| {' | '.join(row)} |"


def _measures(comparison: Comparison, rows: Sequence[Row]) -> Iterator[str]:
    header = ["", _escaped(comparison.groups[0].name)]
    left = {0}
    for group in comparison.groups[1:]:
        left.add(len(header) + 2)
        header += [_escaped(group.name), "change", ""]
    table = [header]
    for row in rows:
        base = row.samples[0]
        cells = [row.measure.title, quantity(base.mean if base else None, row.measure.unit)]
        for number, other in list(enumerate(row.samples))[1:]:
            word = row.verdicts[number]
            told = f"{_SIGNS.get(word, '')} {_WORDS.get(word, word)}".strip()
            cells += [
                quantity(other.mean if other else None, row.measure.unit),
                change(row.ratios[number]),
                told,
            ]
        table.append(cells)
    yield from _table(table, left)


def _files(comparison: Comparison, limit: int) -> Iterator[str]:
    roles = [r for r in comparison.roles if r.differs]
    if not roles:
        return
    header = ["file"]
    for group in comparison.groups:
        header += [f"{_escaped(group.name)}: moved", "time", "calls"]
    table = [[*header, "change"]]
    for row in roles[:limit]:
        cells = [_code(row.name)]
        for part in row.parts:
            cells += (
                [quantity(part.bytes, "bytes"), quantity(part.time, "s"), f"{part.operations:,}"]
                if part
                else ["-"] * 3
            )
        table.append([*cells, quantity(row.change, "s")])
    yield f"<details><summary>Files that differ: {len(roles):,}, largest change of time first</summary>"
    yield ""
    yield from _table(table, {0})
    if len(roles) > limit:
        yield ""
        yield f"... {len(roles) - limit:,} more: `iolens compare --all`"
    yield ""
    yield "</details>"
    yield ""


def to_markdown(comparison: Comparison, *, everything: bool = False, files: int = 12) -> str:
    """The verdict first, then a table of measures, the files folded away, and what to know before believing it."""
    lines = []
    for number in range(1, len(comparison.groups)):
        sign = _SIGNS.get(comparison.verdicts[number], "⚪")
        lines += [f"### {sign} {_escaped(sentence(comparison, number))}", ""]
    lines += [*_measures(comparison, differing(comparison, everything=everything)), ""]
    lines += _files(comparison, len(comparison.roles) if everything else files)
    lines += [f"- {_escaped(note)}" for note in comparison.notes]
    return "\n".join(lines).rstrip() + "\n"
