"""Findings as small HTML without style sheets or scripts: what notebooks show."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from iolens.rules.text import clean, write

if TYPE_CHECKING:
    from iolens.rules.finding import Evidence, Finding

__all__ = ["finding_html", "findings_html", "table_html"]

_COLORS = {"high": "#c62828", "medium": "#b26a00", "low": "#1565c0", "info": "#546e7a", "good": "#2e7d32"}


def _text(text: str) -> str:
    return escape(clean(text))


def table_html(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts, which are escaped."""
    head = "".join(f"<th>{_text(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _evidence(evidence: Evidence) -> str:
    rows = ([write(value, unit) for value, unit in zip(row, evidence.units)] for row in evidence.rows)
    return (
        f"<details><summary>{_text(evidence.title)}</summary>{table_html(evidence.columns, rows)}</details>"
    )


def finding_html(one: Finding) -> str:
    """What it is, what it costs, what to change; the evidence folded away."""
    cost = []
    if one.time_lost is not None:
        cost.append(f"costs {write(one.time_lost, 'seconds')}")
    if one.gain is not None:
        cost.append(f"can save {write(one.gain[0], 'seconds')} to {write(one.gain[1], 'seconds')}")
    parts = [
        f'<p><b style="color:{_COLORS[one.severity]}">{one.severity}</b> <b>{_text(one.title)}</b> '
        f"<code>{_text(one.rule)}</code><br>{_text(one.message)}"
        + (f"<br>{'; '.join(cost)} (confidence: {one.confidence})" if cost else "")
        + "</p>"
    ]
    if one.advice:
        parts.append("<ul>")
        for advice in one.advice:
            snippet = f"<pre>{escape(advice.snippet)}</pre>" if advice.snippet else ""
            parts.append(f"<li>{_text(advice.text)}{snippet}</li>")
        parts.append("</ul>")
    return "".join([*parts, *map(_evidence, one.evidence)])


def findings_html(found: Iterable[Finding], note: str) -> str:
    """All of them, in their order, and a note behind them."""
    return "".join(map(finding_html, found)) + (f"<p>{note}</p>" if note else "") or "<p>No findings.</p>"
