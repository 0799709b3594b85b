"""What a rule has found in a log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from iolens.rules.text import counted

__all__ = ["SEVERITIES", "Advice", "Evidence", "Finding", "Findings", "opened_by", "overlap"]

_ADDRESS = re.compile(r"\+0x[0-9a-f]+ \(stripped\)$")

SEVERITIES = ("high", "medium", "low", "info", "good")
"""Most severe first. "info" is a fact to know, "good" something that is as it should be."""


@dataclass(frozen=True)
class Advice:
    """What to change. ``snippet`` is code in ``language`` ("c", "python", "shell", "hints"), empty if there is none."""

    text: str
    snippet: str = ""
    language: str = ""


@dataclass(frozen=True)
class Evidence:
    """Rows of the log behind a finding, at most ten. ``units``: one per column, "" for none."""

    title: str
    columns: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Finding:
    """One rule's result for one log of a dataset."""

    rule: str
    title: str
    severity: str
    """One of SEVERITIES."""
    log: int
    """Number of the log in the dataset."""
    message: str
    """One sentence, with numbers."""
    time_lost: float | None
    """Seconds of wall-clock that the cause accounts for; None if the log does not tell."""
    share: float | None
    """``time_lost`` as a part of the run time, 0 to 1."""
    gain: tuple[float, float] | None
    """Seconds of wall-clock that the advice saves, from and to; None if there is no estimate."""
    assumptions: str
    """What the gain rests on."""
    confidence: str
    """"high", "medium" or "low"."""
    advice: tuple[Advice, ...]
    evidence: tuple[Evidence, ...]
    references: tuple[str, ...]
    aliases: tuple[str, ...]
    """Codes of other tools for the same intent."""
    topic: str
    values: dict[str, Any]
    """What the condition gave, by name: for programs that want numbers and not the sentence."""

    def _repr_html_(self) -> str:
        from iolens.rules.html import finding_html

        return finding_html(self)


class Findings(list[Finding]):
    """Findings in their order: the most severe first. A notebook shows them as a page."""

    def _repr_html_(self) -> str:
        from iolens.rules.html import findings_html

        return findings_html(self, overlap(self))


def opened_by(one: Finding) -> str:
    """A sentence that names the line that costs most of a finding, or opened its files; "" if none is known."""
    places = next((e for e in one.evidence if e.columns[:1] in (("opened_by",), ("called_from",))), None)
    if not places:
        return ""
    called = places.columns[0] == "called_from"
    what, how, other = ("Called from", "from", "line") if called else ("Opened by", "at", "place")
    more = len(places.rows) - 1
    others = f", and {how} {counted(more, f'other {other}')}" if more else ""
    place = _ADDRESS.sub("", str(places.rows[0][0]))  # it means nothing without the library's symbols
    return f"{what} {place}{others}."


def overlap(found: Iterable[Finding]) -> str:
    """A line to say with the findings of one log where several account for time, else ""."""
    costly = [f for f in found if f.severity in ("high", "medium") and f.time_lost]
    if len(costly) < 2:
        return ""
    return f"{len(costly)} findings overlap: do not add their seconds."
