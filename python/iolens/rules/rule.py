"""A rule is one TOML file: when it fires, what it says then, and what to change."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from iolens.metrics import MODULES, SECTIONS
from iolens.rules.finding import SEVERITIES, Advice
from iolens.rules.text import FORMATS, fields

__all__ = [
    "CONFIDENCES",
    "FACTS",
    "TOPICS",
    "ConditionalAdvice",
    "EvidenceQuery",
    "Gain",
    "Rule",
    "RuleError",
    "Threshold",
    "own_tables",
    "parse",
    "read_toml",
    "rule_of",
]

TOPICS = {
    "summary": "Is I/O a problem at all?",
    "size": "Size of accesses",
    "pattern": "Order of accesses",
    "metadata": "Metadata",
    "sharing": "Shared files and collective operations",
    "balance": "Balance between ranks and between servers",
    "layout": "Files and file systems",
    "library": "HDF5, PnetCDF and MPI-IO",
    "data": "What the log does not tell",
}
"""Topic -> its heading."""

CONFIDENCES = ("high", "medium", "low")

FACTS = ("mpi", "mpiio", "collective", "hdf5", "pnetcdf", "lustre", "python")
"""What advice may depend on: facts of the metric "facts"."""

_CONDITIONS = (*FACTS, *(f"not {fact}" for fact in FACTS))

_KEYS = {
    "title": str,
    "topic": str,
    "aliases": list,
    "why": str,
    "needs": list,
    "covers": list,
    "condition": str,
    "message": str,
    "severity": dict,
    "confidence": str,
    "thresholds": dict,
    "evidence": list,
    "advice": list,
    "gain": dict,
    "references": list,
}
_REQUIRED = ("title", "topic", "why", "condition", "message", "severity")


class RuleError(ValueError):
    """What is wrong with a rule, in one line without its file."""


@dataclass(frozen=True)
class Threshold:
    """A number that a rule compares with; ``$name`` in its SQL."""

    name: str
    default: float
    unit: str
    reason: str


@dataclass(frozen=True)
class EvidenceQuery:
    """SQL whose rows are shown with a finding. Parameters: $log, the thresholds, and what the condition gave."""

    title: str
    sql: str
    units: Mapping[str, str]


@dataclass(frozen=True)
class Gain:
    """SQL expressions over the condition's columns and run_time and nprocs, in seconds."""

    low: str
    high: str
    assumptions: str


@dataclass(frozen=True)
class ConditionalAdvice(Advice):
    """Advice, and for whom: rules/advice.py chooses."""

    when: tuple[str, ...] = ()
    """Facts of the metric "facts" that must all hold, "not X" for one that must not."""
    python: str = ""
    """The snippet for a Python program."""
    hdf5: str = ""
    """The snippet for a Python program and a file of HDF5."""


@dataclass(frozen=True)
class Rule:
    """See docs/guide/findings.md for how to write one."""

    id: str
    title: str
    topic: str
    why: str
    """Why it costs time, and how the time lost is estimated."""
    condition: str
    """SQL: a row for each log in which the rule fires, with ``log``, ``time_lost`` if known, and what else is used."""
    message: str
    cap: str
    """Severity when it costs most."""
    floor: str
    """Severity when it costs least, or where the cost is unknown."""
    confidence: str = "medium"
    needs: tuple[str, ...] = ()
    """Tables that must have rows: modules and sections of the trailer."""
    aliases: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    """Rules that say less about the same: their findings are dropped where this one accounts for most of their time."""
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    evidence: tuple[EvidenceQuery, ...] = ()
    advice: tuple[ConditionalAdvice, ...] = ()
    gain: Gain | None = None
    references: tuple[str, ...] = ()
    path: str = ""

    @property
    def statement(self) -> str:
        """The condition and the gain. A join takes as long as most conditions: only gains that name the job have it."""
        if not self.gain:
            return self.condition
        gain = f"({self.gain.low}) AS gain_low, ({self.gain.high}) AS gain_high"
        job = ""
        if _OF_JOB.search(gain):
            job = "JOIN (SELECT log, run_time, nprocs FROM job) AS job USING (log)"
        return f"SELECT *, {gain} FROM ({self.condition}\n) AS c {job}"


_OF_JOB = re.compile(r"\b(?:run_time|nprocs)\b")


def _typed(
    table: Mapping[str, Any], where: str, known: Mapping[str, type], required: tuple[str, ...]
) -> None:
    for key, value in table.items():
        if key not in known:
            raise RuleError(f'{where}unknown key "{key}"')
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise RuleError(f'{where}"{key}" must be a {_WORDS[known[key]]}')
    for key in required:
        if not table.get(key) and table.get(key) != 0:
            raise RuleError(f'{where}"{key}" is missing')


_WORDS = {str: "string", list: "list", dict: "table", float: "number"}


def _texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = table.get(key, [])
    if not all(isinstance(v, str) for v in values):
        raise RuleError(f'"{key}" must be a list of strings')
    return tuple(values)


def _tables(table: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_one_of(name, (*MODULES, *SECTIONS), "needs:") for name in _texts(table, "needs"))


def _one_of(value: str, choice: Any, what: str) -> str:
    if value not in choice:
        raise RuleError(f'{what} "{value}" is none of {", ".join(choice)}')
    return value


def _threshold(name: str, table: Any) -> Threshold:
    if not name.isidentifier() or not isinstance(table, dict):
        raise RuleError(f"thresholds.{name} must be a table with default, unit and reason")
    if isinstance(table.get("default"), int):
        table = {**table, "default": float(table["default"])}
    known = {"default": float, "unit": str, "reason": str}
    _typed(table, f"thresholds.{name}: ", known, ("default", "reason"))
    return Threshold(name, table["default"], table.get("unit", ""), table["reason"])


def _evidence(number: int, table: Any) -> EvidenceQuery:
    if not isinstance(table, dict):
        raise RuleError("evidence must be a list of tables")
    where = f"evidence {number}: "
    _typed(table, where, {"title": str, "sql": str, "units": dict}, ("title", "sql"))
    units = table.get("units", {})
    for column, unit in units.items():
        if unit not in FORMATS:
            raise RuleError(f"{where}unit of {column} is none of {', '.join(FORMATS)}")
    return EvidenceQuery(table["title"], table["sql"], units)


@cache
def own_tables() -> dict[str, dict[str, Any]]:
    """What tools/catalog.py has read of advice.toml ("advice") and of catalog/*.toml ("rules"), by name."""
    text = files("iolens.rules").joinpath("catalog.json").read_text(encoding="utf-8")
    read: dict[str, dict[str, Any]] = json.loads(text)
    return read


@cache
def _shared_advice() -> dict[str, ConditionalAdvice]:
    """Advice that several rules give, by name."""
    return {name: _advice(0, one) for name, one in own_tables()["advice"].items()}


def _conditions(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    return tuple(_one_of(fact, _CONDITIONS, where + "when") for fact in _texts(table, "when"))


def _advice(number: int, table: Any) -> ConditionalAdvice:
    """A piece of advice written here, or one of advice.toml, by ``use``."""
    if not isinstance(table, dict):
        raise RuleError("advice must be a list of tables")
    where = f"advice {number}: "
    if "use" in table:
        _typed(table, where, {"use": str, "when": list}, ("use",))
        shared = _shared_advice()[_one_of(table["use"], _shared_advice(), where + "use")]
        return replace(shared, when=(*shared.when, *_conditions(table, where)))
    known = {"text": str, "snippet": str, "language": str, "when": list, "python": str, "hdf5": str}
    _typed(table, where, known, ("text",))
    when = _conditions(table, where)
    text = " ".join(table["text"].split())
    snippet, python, hdf5 = (table.get(key, "").strip("\n") for key in ("snippet", "python", "hdf5"))
    return ConditionalAdvice(text, snippet, table.get("language", ""), when, python, hdf5)


def _gain(table: Mapping[str, Any]) -> Gain:
    _typed(
        table, "gain: ", dict.fromkeys(("low", "high", "assumptions"), str), ("low", "high", "assumptions")
    )
    return Gain(table["low"], table["high"], " ".join(table["assumptions"].split()))


def read_toml(text: str) -> dict[str, Any]:
    """Raises RuleError for what is not TOML."""
    if sys.version_info >= (3, 11):  # of a site alone: 2 ms
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"not TOML: {error}") from error
    return table


def parse(name: str, text: str, path: str = "") -> Rule:
    """The rule of a file's text. Raises RuleError."""
    return rule_of(name, read_toml(text), path)


def rule_of(name: str, table: Mapping[str, Any], path: str = "") -> Rule:
    """The rule of a file's table. Raises RuleError."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise RuleError("a rule's name (the file's) has small letters, digits and _ only")
    _typed(table, "", _KEYS, _REQUIRED)
    _typed(table["severity"], "severity: ", {"cap": str, "floor": str}, ("cap",))
    cap = _one_of(table["severity"]["cap"], SEVERITIES, "severity")
    floor = _one_of(
        table["severity"].get("floor", cap if cap in ("info", "good") else "low"), SEVERITIES, "severity"
    )
    if SEVERITIES.index(floor) < SEVERITIES.index(cap):
        raise RuleError("severity: the floor is above the cap")
    try:
        fields(table["message"])
    except ValueError as error:
        raise RuleError(f"message: {error}") from error
    return Rule(
        id=name,
        title=table["title"],
        topic=_one_of(table["topic"], TOPICS, "topic"),
        why=" ".join(table["why"].split()),
        condition=table["condition"].strip().rstrip(";"),
        message=" ".join(table["message"].split()),
        cap=cap,
        floor=floor,
        confidence=_one_of(table.get("confidence", "medium"), CONFIDENCES, "confidence"),
        needs=_tables(table),
        aliases=_texts(table, "aliases"),
        covers=_texts(table, "covers"),
        thresholds={n: _threshold(n, t) for n, t in table.get("thresholds", {}).items()},
        evidence=tuple(_evidence(n, t) for n, t in enumerate(table.get("evidence", []), 1)),
        advice=tuple(_advice(n, t) for n, t in enumerate(table.get("advice", []), 1)),
        gain=_gain(table["gain"]) if "gain" in table else None,
        references=_texts(table, "references"),
        path=path,
    )
