"""The truth suite's results in words: a row for each cause, and the scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from injected import Case

HEAD = [
    "cause",
    "first finding",
    "of its twin",
    "seconds in I/O, without the cause",
    "saving predicted",
    "measured",
    "Drishti",
    "of the twin",
]
BEGIN, END = "<!-- make truth: begin -->", "<!-- make truth: end -->"


def seconds(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"


def row(case: Case) -> str:
    cause, bad, twin = case.cause, case.bad, case.twin
    gain = f"{seconds(case.gain[0])} to {seconds(case.gain[1])}" if case.gain else "-"
    saved = "not here" if case.predicted is None else seconds(case.saved)
    cells = [
        cause.label,
        (bad.first or "none") + ("" if case.named else " (wrong)"),
        twin.first or "-",
        f"{seconds(bad.io_time)}, {seconds(case.fixed.io_time)}",
        gain,
        saved + (" (wrong)" if case.predicted is False else ""),
    ]
    if bad.triggers and twin.triggers:
        hit = [code for code in bad.triggers.codes if code in cause.drishti]
        cells += [" ".join(hit) or "-", " ".join(twin.triggers.critical) or "-"]
    return f"| {' | '.join(cells)} |"


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
    sums = "\n\n".join([*total(cases, score).splitlines(), took])
    page.write_text(f"{before}{BEGIN}\n{head}\n{body}\n\n{sums}\n{END}{after}", encoding="utf-8")
