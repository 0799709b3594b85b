"""A job as a scheduler accounts for it, and what all formats of accounting share: times, durations, states."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple

__all__ = ["AccountedJob", "Reading", "duration", "state_of", "whole"]


class AccountedJob(NamedTuple):
    """One run of a job. Times: seconds since 1970. What the source does not tell is None."""

    cluster: str | None
    job_id: int
    array_job: int | None
    array_task: int | None
    user: str | None
    account: str | None
    partition: str | None
    name: str | None
    state: str
    submit: float | None
    start: float
    end: float | None
    """None: it runs."""
    cores: int | None
    nodes: int | None
    core_seconds: int | None
    observed: bool | None
    """It ran under iolens, whether it left a log or not; None: not told."""


MOST_PROBLEMS = 5
"""So many lines that cannot be read are named, the others counted."""


@dataclass
class Reading:
    """A file of accounting as it is read: where it is from, what could not be read, what was left out."""

    path: str
    zone: tzinfo | None = None
    """Of times that name none; None: this machine's."""
    cluster: str | None = None
    """Of jobs that name none."""
    problems: list[str] = field(default_factory=list)
    damaged: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    _hours: dict[str, float] = field(default_factory=dict)

    def problem(self, line: int, text: str) -> None:
        """A line that cannot be read."""
        self.damaged += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{self.path}: line {line}: {text}")

    def time(self, text: str) -> float | None:
        """Seconds since 1970 of "2013-01-31T12:00:00", with a zone or without, or of a number; None: not known.

        Raises ValueError with what is wrong.
        """
        if not text or text[0] in "UNn-":  # Unknown, None, null, N/A
            return None
        hour = self._hours.get(text[:13])
        if hour is not None and len(text) == 19:
            return hour + 60 * int(text[14:16]) + int(text[17:19])
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text) or None
        try:
            moment = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1] in "zZ" else text)
            if moment.tzinfo:
                return moment.timestamp()
            seconds = moment.replace(tzinfo=self.zone).timestamp()
        except (ValueError, OverflowError) as error:
            raise ValueError(f'"{text}" is no time as 2013-01-31T12:00:00') from error
        if len(text) == 19:
            self._hours[text[:13]] = seconds - 60 * moment.minute - moment.second
        return seconds


def whole(text: str) -> int | None:
    """A number that may be left out. Raises ValueError with what is wrong."""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    if not re.fullmatch(r"\d+(\.0*)?", text):
        raise ValueError(f'"{text}" is no whole number')
    return int(text.split(".", maxsplit=1)[0])


_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")


def duration(text: str) -> int | None:
    """Seconds of "1-02:03:04", "02:03:04", "03:04" or "184". Raises ValueError with what is wrong."""
    if not text or text[0] in "UNn":
        return None
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return int(float(text))
    found = _DURATION.fullmatch(text)
    if not found:
        raise ValueError(f'"{text}" is no duration as 1-02:03:04')
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_STATES = (
    *("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"),
    *("DEADLINE", "REVOKED", "REQUEUED", "RUNNING", "PENDING", "SUSPENDED", "RESIZING"),
)
_SHORT = {
    **{"CD": "COMPLETED", "F": "FAILED", "TO": "TIMEOUT", "CA": "CANCELLED", "OOM": "OUT_OF_MEMORY"},
    **{"NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "RV": "REVOKED"},
    **{"RQ": "REQUEUED", "R": "RUNNING", "PD": "PENDING", "S": "SUSPENDED", "RS": "RESIZING"},
    **{"COMPLETE": "COMPLETED", "DONE": "COMPLETED", "SUCCESS": "COMPLETED", "OK": "COMPLETED"},
    **{"EXIT": "FAILED", "ERROR": "FAILED", "CANCELED": "CANCELLED", "TIMED_OUT": "TIMEOUT"},
}


def state_of(text: str) -> str:
    """Slurm's long word of a state: of "CANCELLED by 1000", of "OUT_OF_ME+", of "CD"; else the word itself."""
    word = text.split(" ", 1)[0].upper().rstrip("+")
    if word in _STATES:
        return word
    if word in _SHORT:
        return _SHORT[word]
    if text.endswith("+"):
        return next((state for state in _STATES if state.startswith(word)), word)
    return word or "UNKNOWN"
