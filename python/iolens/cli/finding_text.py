"""Findings and rules as text that fits the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import click

from iolens.rules import Evidence, Finding, Rule, opened_by, overlap
from iolens.rules.text import write

__all__ = ["finding_lines", "rule_lines"]

_COLORS = {"high": "red", "medium": "yellow", "low": "cyan", "info": "blue", "good": "green"}
_COLUMN = 48


def _wrapped(text: str, width: int, indent: str = "  ", first: str | None = None) -> list[str]:
    start = indent if first is None else first
    return textwrap.wrap(
        text, max(width, 40), initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )


def _label(severity: str) -> str:
    return click.style(f"{severity:<7}", fg=_COLORS[severity], bold=severity == "high")


def _short(text: str) -> str:
    """A cell: of a long name the end tells more."""
    return text if len(text) <= _COLUMN else f"...{text[3 - _COLUMN :]}"


def _table(evidence: Evidence) -> Iterator[str]:
    cells = [
        [_short(write(value, unit)) for value, unit in zip(row, evidence.units)] for row in evidence.rows
    ]
    widths = [max(len(text) for text in column) for column in zip(evidence.columns, *cells)]
    right = [all(isinstance(row[i], (int, float)) for row in evidence.rows) for i in range(len(widths))]

    def line(texts: Sequence[str]) -> str:
        parts = [t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right)]
        return ("    " + "  ".join(parts)).rstrip()

    yield f"  {evidence.title}:"
    yield click.style(line(evidence.columns), dim=True)
    yield from (line(row) for row in cells)


def _cost(one: Finding) -> str:
    parts = []
    if one.time_lost is not None:
        parts.append(f"costs {write(one.time_lost, 'seconds')}")
        if one.share is not None:
            parts[0] += f", {write(one.share, 'percent')} of the run time"
    if one.gain is not None:
        parts.append(f"can save {write(one.gain[0], 'seconds')} to {write(one.gain[1], 'seconds')}")
    return "; ".join(parts)


def _whole(one: Finding, width: int, verbose: bool) -> Iterator[str]:
    yield f"{_label(one.severity)} {click.style(one.title, bold=True)}  [{one.rule}]"
    yield from _wrapped(one.message, width)
    cost = _cost(one)
    if cost:
        yield from _wrapped(f"{cost} (confidence: {one.confidence}).", width)
    if opened_by(one):
        yield from _wrapped(opened_by(one), width)
    if verbose:
        if one.gain is not None:
            yield from _wrapped(f"Assumed: {one.assumptions}", width)
        for evidence in one.evidence:
            yield from _table(evidence)
    for advice in one.advice if verbose else one.advice[:2]:
        yield from _wrapped(advice.text, width, "     ", "  -> ")
        if verbose and advice.snippet:
            yield from (f"       {line}".rstrip() for line in advice.snippet.splitlines())
    if verbose:
        for reference in one.references:
            yield from _wrapped(f"See {reference}", width)
    yield ""


LITTLE = 0.01
"""Of the run time: findings that cost less are only counted."""


def finding_lines(
    found: Sequence[Finding], width: int, verbose: bool, every: bool = False, instead: str = ""
) -> Iterator[str]:
    """Findings of one log: what costs time at length, the rest a line each, and how many cost next to nothing.

    instead: a sentence on what the time goes into where it is not I/O; comes first.
    """
    if not found:
        yield "No findings."
        return
    short = [one for one in found if not verbose and one.severity not in ("high", "medium")]
    if instead:
        yield from (*_wrapped(instead, width, ""), "")
    if not every:
        little = [
            one for one in short if one.severity == "low" and one.share is not None and one.share < LITTLE
        ]
        short = [one for one in short if one not in little]
        found = [one for one in found if one not in little]
    for one in found:
        if one not in short:
            yield from _whole(one, width, verbose)
    said = overlap(found)
    if said:
        yield from (*_wrapped(said, width, ""), "")
    for one in short:
        place = f" {opened_by(one)}" if one.severity == "low" and opened_by(one) else ""
        lines = _wrapped(f"{one.message}{place} [{one.rule}]", width - 8, "")
        yield f"{_label(one.severity)} {lines[0]}"
        yield from (f"        {line}" for line in lines[1:])
    if not every and little:
        yield f"{len(little)} more below {LITTLE:.0%} of the run: --all".replace("%", " %", 1)


def rule_lines(rule: Rule, width: int) -> Iterator[str]:
    """What a rule looks at, and its thresholds."""
    yield f"{rule.id}: {rule.title}"
    yield from _wrapped(rule.why, width)
    facts = {
        "severity": rule.cap if rule.cap == rule.floor else f"{rule.cap} to {rule.floor}, by the time lost",
        "confidence": rule.confidence,
        "needs": ", ".join(rule.needs),
        "codes": ", ".join(rule.aliases),
        "gain": rule.gain.assumptions if rule.gain else "",
    }
    for label, text in facts.items():
        if text:
            yield from _wrapped(text, width, " " * 14, f"  {label:<10}  ")
    for threshold in rule.thresholds.values():
        default = f"{threshold.default:.12g} {threshold.unit}".rstrip()
        yield from _wrapped(f"{default}. {threshold.reason}", width, " " * 14, f"  {threshold.name:<10}  ")
    yield from _advice(rule, width)
    yield f"\n{rule.condition}"


def _advice(rule: Rule, width: int) -> Iterable[str]:
    for advice in rule.advice:
        yield from _wrapped(advice.text, width, "     ", "  -> ")
        yield from (f"       {line}".rstrip() for line in advice.snippet.splitlines())
