"""The truth suite's results in words: a row for each cause, and the scores."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from injected import Case

HEAD = ["cause", "first finding", "seconds in I/O", "without it", "predicted", "saved", "Drishti"]
BEGIN, END = "<!-- make truth: begin -->", "<!-- make truth: end -->"


def seconds(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"


def row(case: Case) -> str:
    cause, bad = case.cause, case.bad
    saved = "-" if case.predicted is None else seconds(case.saved)
    cells = [
        cause.label,
        (bad.first or "none") + ("" if case.named else " (wrong)"),
        seconds(bad.io_time),
        seconds(case.fixed.io_time),
        "–".join(map(seconds, case.gain)) if case.gain else "-",
        saved + (" (wrong)" if case.predicted is False else ""),
    ]
    if bad.triggers and case.twin.triggers:
        cells.append(" ".join(code for code in bad.triggers.codes if code in cause.drishti) or "-")
    return f"| {' | '.join(cells)} |"


def twins(cases: Sequence[Case]) -> str:
    """What the twins have, that have nothing to find: findings, and critical triggers of Drishti by code."""
    found = [f"{case.cause.label}: {case.twin.first}" for case in cases if case.twin.first]
    said = f"Twins with a finding of high or medium severity: {'; '.join(found) or 'none'}."
    codes = Counter(code for case in cases if case.twin.triggers for code in case.twin.triggers.critical)
    if codes:
        said += f" Critical triggers of Drishti in twins: {', '.join(f'{c} in {n}' for c, n in codes.most_common())}."
    return textwrap.fill(said, 119)


def drishti_score(cases: Sequence[Case]) -> tuple[float, float] | None:
    """As iolens' is counted, but that any critical trigger or warning may name the cause, and not the first alone."""
    asked = [c for c in cases if c.bad.triggers and c.twin.triggers]
    if not asked:
        return None
    right = wrong = 0
    for case in asked:
        assert case.bad.triggers and case.twin.triggers
        named = bool(set(case.cause.drishti) & set(case.bad.triggers.codes))
        right += named
        wrong += (not named and bool(case.bad.triggers.critical)) + bool(case.twin.triggers.critical)
    return right / max(1, right + wrong), right / len(asked)


def total(cases: Sequence[Case], score: tuple[float, float]) -> str:
    measured = [c for c in cases if c.predicted is not None]
    said = (
        f"iolens: precision {score[0]:.2f}, recall {score[1]:.2f} of {len(cases)} causes; "
        f"{sum(bool(c.predicted) for c in measured)} of {len(measured)} savings measured lie in the range predicted."
    )
    drishti = drishti_score(cases)
    if drishti:
        said += f"\nDrishti: precision {drishti[0]:.2f}, recall {drishti[1]:.2f}."
    return said


def put(page: Path, cases: Sequence[Case], score: tuple[float, float], took: str) -> None:
    """Between the marks in the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    width = len(row(cases[0]).split("|")) - 2
    head = f"| {' | '.join(HEAD[:width])} |\n|{'---|' * width}"
    body = "\n".join(row(case) for case in cases)
    sums = "\n\n".join([*total(cases, score).splitlines(), twins(cases), took])
    page.write_text(f"{before}{BEGIN}\n{head}\n{body}\n\n{sums}\n{END}{after}", encoding="utf-8")
