"""All rules there are: those that iolens brings, and a site's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Union

from iolens.error import USAGE, IolensError
from iolens.rules.rule import Rule, RuleError, Threshold, own_tables, parse, rule_of

__all__ = ["LOOK", "SEVERITY", "Catalog", "load", "severity_of"]

AnyPath = Union[str, "os.PathLike[str]"]

SEVERITY = {
    "high": Threshold(
        "high", 0.25, "share of run time", "The share from which the verdict calls I/O a problem."
    ),
    "medium": Threshold(
        "medium", 0.10, "share of run time", "The share from which a cause is worth work on the program."
    ),
    "seconds": Threshold(
        "seconds",
        1.0,
        "seconds",
        "What costs less is not of high severity, what costs less than a tenth of it is of low, however short the run.",
    ),
}
"""The scale of findings: thresholds that are no rule's, ``severity.NAME`` for users."""

LOOK = 0.05
"""Of the run time: the verdict finds I/O worth a look from here on, and a problem from that of high on."""

_SECONDS_OF_MEDIUM = 0.1
"""Of those of high: runs of a few seconds have findings of medium severity, too."""


def severity_of(scale: Mapping[str, float], share: float, lost: float) -> str:
    """The severity of so many seconds, which are this share of the run time."""
    if share >= scale["high"] and lost >= scale["seconds"]:
        return "high"
    return "medium" if share >= scale["medium"] and lost >= _SECONDS_OF_MEDIUM * scale["seconds"] else "low"


@dataclass(frozen=True)
class Catalog:
    """Rules by id, in the order of topics and names, with thresholds as they are set."""

    rules: dict[str, Rule]
    severity: dict[str, float]
    problems: list[str] = field(default_factory=list)
    """A line for each rule of a site that cannot be used: its file and what is wrong."""

    def find(self, name: str) -> Rule:
        """The rule of this id, or of this code of another tool. Raises IolensError, naming near ones."""
        if name in self.rules:
            return self.rules[name]
        for rule in self.rules.values():
            if name.upper() in rule.aliases:
                return rule
        raise _unknown("rule", name, self.rules)

    def of(self, names: Iterable[str]) -> Catalog:
        """These rules only."""
        return replace(self, rules={name: self.rules[name] for name in names})

    def with_thresholds(self, settings: dict[str, float]) -> Catalog:
        """``RULE.NAME`` sets one, ``NAME`` that of every rule which has it. Raises IolensError for what no rule has."""
        rules, severity = dict(self.rules), dict(self.severity)
        for key, value in settings.items():
            rule, _, name = key.rpartition(".")
            if rule == "severity" and name in severity:
                severity[name] = value
                continue
            hit = [r for r in rules.values() if name in r.thresholds and rule in ("", r.id)]
            if not hit:
                known = [f"{r.id}.{n}" for r in rules.values() for n in r.thresholds]
                known += [f"severity.{n}" for n in severity]
                raise _unknown("threshold", key, known)
            for one in hit:
                changed = {**one.thresholds, name: replace(one.thresholds[name], default=value)}
                rules[one.id] = replace(one, thresholds=changed)
        return replace(self, rules=rules, severity=severity)


def _unknown(what: str, name: str, known: Iterable[str]) -> IolensError:
    from iolens.log.unknown import unknown_text

    return IolensError(unknown_text(what, name, known, "`iolens explain` lists them"), exit_code=USAGE)


@cache
def _own() -> tuple[Rule, ...]:
    return tuple(rule_of(name, table) for name, table in own_tables()["rules"].items())


def _site(directory: AnyPath, problems: list[str]) -> list[Rule]:
    folder = Path(directory)
    if not folder.is_dir():
        raise IolensError("no directory of rules", os.fspath(directory), exit_code=USAGE)
    found = []
    for path in sorted(folder.glob("*.toml")):
        try:
            found.append(parse(path.stem, path.read_text(encoding="utf-8"), str(path)))
        except (RuleError, OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            problems.append(f"{path}: {reason}".replace("\n", " "))
    return found


def _order(rule: Rule) -> tuple[Any, ...]:
    from iolens.rules.rule import TOPICS

    return list(TOPICS).index(rule.topic), rule.id


def load(directories: Iterable[AnyPath] = ()) -> Catalog:
    """iolens' rules and those of the directories; of two rules of one name the later counts."""
    problems: list[str] = []
    rules = list(_own())
    for directory in directories:
        rules += _site(directory, problems)
    by_name = {rule.id: rule for rule in rules}
    ordered = {rule.id: rule for rule in sorted(by_name.values(), key=_order)}
    return Catalog(ordered, {name: one.default for name, one in SEVERITY.items()}, problems)
