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
from iolens.rules.rule import TOPICS, own_tables

_HEAD = """\
# Rules

Made by `make docs` from `python/iolens/rules/catalog/*.toml`: do not edit.

A rule is a condition on [metrics](metrics.md). Where it holds, `iolens findings` and `iolens report` say so, with what
it costs, evidence, and what to change. `iolens explain RULE` prints the same with the condition's SQL. How rules are
set, and how a site adds its own: [findings](../guide/findings.md).

In brackets: the severity ("up to": by the time lost), the confidence, Drishti's codes. Advice that several rules give
stands [at the end](#advice-of-several-rules), by name."""

_ADVICE = "## Advice of several rules"


def _shared_advice() -> dict[str, str]:
    """The names of advice that more than one rule gives, by its text."""
    names = {" ".join(one["text"].split()): name for name, one in own_tables()["advice"].items()}
    given = Counter(advice.text for rule in load().rules.values() for advice in rule.advice)
    return {text: name for text, name in names.items() if given[text] > 1}


def _entry(rule: Rule, shared: dict[str, str]) -> Iterator[str]:
    yield f"### {rule.id}"
    severity = rule.cap if rule.cap == rule.floor else f"up to {rule.cap}"
    codes = f"; {', '.join(rule.aliases)}" if rule.aliases else ""
    yield f"**{rule.title}** ({severity}; confidence {rule.confidence}{codes})."
    yield ""
    yield rule.why
    yield ""
    for one in rule.thresholds.values():
        yield f"* `{one.name}` = {f'{one.default:.12g} {one.unit}'.rstrip()}. {one.reason}"
    if rule.needs:
        yield f"* needs: {', '.join(rule.needs)}"
    named = [f"`{shared[advice.text]}`" for advice in rule.advice if advice.text in shared]
    if named:
        yield f"* change: {', '.join(named)}"
    yield from (f"* change: {advice.text}" for advice in rule.advice if advice.text not in shared)
    if rule.gain:
        yield f"* gain: {rule.gain.assumptions}"
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
