"""A finding in one job of a fleet, with what tells people which job it is."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from iolens.rules.finding import Evidence
from iolens.rules.text import clean, counted, write
from iolens.values import iso, plain

__all__ = ["Occurrence", "table_lines"]


@dataclass(frozen=True)
class Occurrence:
    """What a rule found in a job. Times in seconds; ``start`` in UTC; None for what the log does not tell."""

    rule: str
    title: str
    severity: str
    message: str
    user: str
    application: str
    log: int
    """Its number in the lake."""
    path: str
    """Of the log."""
    job_id: int
    time_lost: float | None = None
    share: float | None = None
    start: datetime.datetime | None = None
    run_time: float | None = None
    nprocs: int | None = None
    cluster: str = ""
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    """Of each advice; "" for none."""

    def plain(self) -> dict[str, Any]:
        """As it stands in JSON."""
        evidence = [
            {**asdict(one), "rows": [[plain(v) for v in row] for row in one.rows]} for one in self.evidence
        ]
        start = iso(self.start) if self.start else None
        numbers = {"time_lost": plain(self.time_lost), "share": plain(self.share)}
        return {**asdict(self), **numbers, "start": start, "evidence": evidence}

    @property
    def job(self) -> str:
        """Which job it is."""
        return clean(f"{self.application}, job {self.job_id}")

    def job_lines(self) -> list[str]:
        """The job as it stands in a mail, above its findings."""
        where = [self.cluster] if self.cluster else []
        where += [counted(self.nprocs, "process")] if self.nprocs else []
        where += [f"{self.start:%Y-%m-%d %H:%M} UTC"] if self.start else []
        where += [f"ran {write(self.run_time, 'seconds')}"] if self.run_time else []
        return [f"{self.job} of {clean(self.user)}", *([clean(", ".join(where))] if where else [])]

    def lines(self, before: Sequence[Occurrence] = ()) -> list[str]:
        """As it stands in a mail. before: findings of the same job that stand there already."""
        told = [f"{self.title}  [{self.rule}, {self.severity}]", f"  {clean(self.message)}"]
        if self.time_lost is not None:
            share = f", {write(self.share, 'percent')} of the run time" if self.share is not None else ""
            same = next((f.title for f in before if _is_same(f.time_lost, self.time_lost)), "")
            told.append(
                f"  costs {write(self.time_lost, 'seconds')}{share}{same and f', the same time as: {same}'}."
            )
        known = {text for one in before for text in one.advice}
        for number, text in enumerate(self.advice[:2]):
            if text in known:
                continue
            told.append(f"  -> {text}")
            code = self.code[number] if number < len(self.code) else ""
            told += [f"       {line}".rstrip() for line in code.strip().splitlines()]
        for evidence in self.evidence:
            told += [f"  {evidence.title}:", *table_lines(evidence)]
        return told


def _is_same(one: float | None, other: float | None) -> bool:
    """Two causes of equal cost are two names of the same seconds."""
    return bool(one and other) and abs(one - other) <= 0.01 * other  # type: ignore[operator]


def table_lines(evidence: Evidence) -> Iterator[str]:
    """Columns below each other: numbers end at the right."""
    heads = [name.replace("_", " ") for name in evidence.columns]
    cells = [[write(value, unit) for value, unit in zip(row, evidence.units)] for row in evidence.rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells)]
    for row in (heads, *cells):
        texts = (
            text.rjust(width) if unit else text.ljust(width)
            for text, width, unit in zip(row, widths, evidence.units)
        )
        yield f"    {'  '.join(texts)}".rstrip()
