"""A finding in one job of a fleet, with what tells people which job it is."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

from iolens.rules.finding import Evidence
from iolens.rules.text import clean, counted, write
from iolens.values import iso, plain

__all__ = ["Occurrence"]


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

    def plain(self) -> dict[str, Any]:
        """As it stands in JSON."""
        evidence = [
            {**asdict(one), "rows": [[plain(v) for v in row] for row in one.rows]} for one in self.evidence
        ]
        start = iso(self.start) if self.start else None
        numbers = {"time_lost": plain(self.time_lost), "share": plain(self.share)}
        return {**asdict(self), **numbers, "start": start, "evidence": evidence}

    def lines(self, link: str) -> list[str]:
        """As it stands in a mail."""
        where = [self.user, self.application, f"job {self.job_id}"]
        where += [self.cluster] if self.cluster else []
        where += [counted(self.nprocs, "process")] if self.nprocs else []
        where += [f"{self.start:%Y-%m-%d %H:%M} UTC"] if self.start else []
        where += [f"ran {write(self.run_time, 'seconds')}"] if self.run_time else []
        told = [f"{self.title}  [{self.rule}, {self.severity}]", f"  {clean(', '.join(where))}"]
        told.append(f"  {clean(self.message)}")
        if self.time_lost is not None:
            share = f", {write(self.share, 'percent')} of the run time" if self.share is not None else ""
            told.append(f"  costs {write(self.time_lost, 'seconds')}{share}.")
        for evidence in self.evidence:
            told.append(f"  {evidence.title}: {', '.join(evidence.columns)}")
            told += [
                "    " + "  ".join(write(value, unit) for value, unit in zip(row, evidence.units))
                for row in evidence.rows
            ]
        told += [f"  -> {text}" for text in self.advice[:2]]
        told += [f"  {link}"] if link else []
        told.append(f"  log: {clean(self.path)}")
        return told
