#!/usr/bin/env python3
"""Write the reference page of all rules from their files.

usage: rulepage.py FILE.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from iolens.rules import Rule, load
from iolens.rules.rule import TOPICS

_HEAD = """\
# Rules

Made by `make docs` from `python/iolens/rules/catalog/*.toml`: do not edit.

A rule is a condition on [metrics](metrics.md). Where it holds, `iolens findings` and `iolens report` say so, with what
it costs, evidence, and what to change. `iolens explain RULE` prints the same with the condition's SQL. How rules are
set, and how a site adds its own: [findings](../guide/findings.md)."""


def _entry(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}"
    codes = f" (Drishti: {', '.join(rule.aliases)})" if rule.aliases else ""
    severity = rule.cap if rule.cap == rule.floor else f"{rule.cap} at most, by the time lost"
    yield f"**{rule.title}**{codes}. Severity: {severity}; confidence: {rule.confidence}."
    yield ""
    yield rule.why
    yield ""
    for one in rule.thresholds.values():
        yield f"* `{one.name}` = {f'{one.default:.12g} {one.unit}'.rstrip()}. {one.reason}"
    if rule.needs:
        yield f"* needs: {', '.join(rule.needs)}"
    yield from (f"* change: {advice.text}" for advice in rule.advice)
    if rule.gain:
        yield f"* gain: {rule.gain.assumptions}"
    yield from (f"* see: {reference}" for reference in rule.references)
    yield ""


def page() -> str:
    lines = [_HEAD, ""]
    for topic, heading in TOPICS.items():
        lines += [f"## {heading}", ""]
        lines += [line for rule in load().rules.values() if rule.topic == topic for line in _entry(rule)]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
