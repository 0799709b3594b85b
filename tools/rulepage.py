#!/usr/bin/env python3
"""Write the reference page of all rules from their files.

usage: rulepage.py FILE.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from iolens.rules import Rule, load
from iolens.rules.rule import TOPICS, Threshold, own_tables

_HEAD = """\
# Rules

Made by `make docs` from `python/iolens/rules/catalog/*.toml`: do not edit.

A rule is a condition on [metrics](metrics.md). If it holds for a log, `iolens findings` and `iolens report` say so.
They also show what it costs, evidence, and what to change. `iolens explain RULE` adds code, the assumptions of the
gain, and the condition's SQL. [Findings](../guide/findings.md) says how to change a threshold (`NAME=VALUE`), and how a
site adds rules.

The brackets after a title have the highest severity (it depends on the time lost), the confidence, and the codes of
Drishti, a tool that judges Darshan's logs. Where no reason follows a threshold, the reason is that values below it cost
nothing. `share` is a part of the run time. A rule needs the module posix unless it names others. Advice that several
rules share is [at the end](#advice-of-several-rules), by name."""

_UNSAID = ("Fewer cost nothing.", "Less costs nothing.")
_SIZES = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}

_ADVICE = "## Advice of several rules"


def _shared_advice() -> dict[str, str]:
    """The names of advice that more than one rule gives, by its text."""
    names = {" ".join(one["text"].split()): name for name, one in own_tables()["advice"].items()}
    given = Counter(advice.text for rule in load().rules.values() for advice in rule.advice)
    return {text: name for text, name in names.items() if given[text] > 1}


def _said(threshold: Threshold) -> str:
    """As --threshold takes it, NAME=VALUE, and the unit."""
    name, value, unit = threshold.name, threshold.default, threshold.unit
    shown = f"{value:.12g}"
    if unit.partition(" ")[0] == "bytes" and value >= 1024:
        whole = [f"{value // size:.0f}{of}" for of, size in _SIZES.items() if not value % size]
        shown, unit = (whole[0], unit.removeprefix("bytes").strip()) if whole else (shown, unit)
    return f"`{name}={shown}`{f' ({unit})' if unit and unit != name and name != 'share' else ''}"


def _thresholds(rule: Rule) -> Iterator[str]:
    every = rule.thresholds.values()
    yield from (f"* {_said(one)}: {one.reason}" for one in every if one.reason not in _UNSAID)
    bare = [_said(one) for one in every if one.reason in _UNSAID]
    if bare:
        yield f"* {', '.join(bare)}"


def _entry(rule: Rule, shared: dict[str, str]) -> Iterator[str]:
    yield f"### {rule.id}"
    codes = f"; {', '.join(rule.aliases)}" if rule.aliases else ""
    yield f"**{rule.title}** ({rule.cap}, {rule.confidence}{codes})."
    yield ""
    yield rule.why
    yield ""
    yield from _thresholds(rule)
    if rule.needs != ("posix",):
        yield f"* needs: {', '.join(rule.needs) or 'any log'}"
    named = [f"`{shared[advice.text]}`" for advice in rule.advice if advice.text in shared]
    if named:
        yield f"* change: {', '.join(named)}"
    yield from (f"* change: {advice.text}" for advice in rule.advice if advice.text not in shared)
    yield from (f"* see: {reference}" for reference in rule.references)
    yield ""


def page() -> str:
    lines = [_HEAD, ""]
    shared = _shared_advice()
    for topic, heading in TOPICS.items():
        lines += [f"## {heading}", ""]
        rules = (rule for rule in load().rules.values() if rule.topic == topic)
        lines += [line for rule in rules for line in _entry(rule, shared)]
    lines += [_ADVICE, "", "| name | advice |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for text, name in sorted(shared.items(), key=lambda one: one[1])]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
