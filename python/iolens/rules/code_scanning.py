"""Findings at their lines: for code scanning and editors (SARIF 2.1.0), and as annotations of GitHub's workflows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from iolens import __version__
from iolens.metrics import Dataset
from iolens.rules.finding import Finding, opened_by
from iolens.rules.rule import Rule

__all__ = ["to_sarif", "workflow_annotations"]

Location = tuple[str, int]
"""Path of a source and the number of a line."""

_LEVELS = {"high": "error", "medium": "warning", "low": "note"}
_COMMANDS = {"high": "error", "medium": "warning", "low": "notice"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(found: Iterable[Finding], data: Dataset, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """One run of the tool. Findings of severity info and good are no defects, and left out."""
    costly = [one for one in found if one.severity in _LEVELS]
    used = sorted({one.rule for one in costly})
    described = [_described(rules[name]) for name in used]
    results = [_result(one, used.index(one.rule), data) for one in costly]
    driver = {"name": "iolens", "version": __version__, "rules": described}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": " ".join(advice.text for advice in rule.advice) or rule.title},
    }


def _result(one: Finding, index: int, data: Dataset) -> dict[str, Any]:
    where = _location(one, data)
    mark = "\n".join([one.rule, *(str(part) for part in where or ())])
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": _LEVELS[one.severity],
        "message": {"text": _text(one)},
        "partialFingerprints": {"ruleAndLine/v1": hashlib.sha256(mark.encode()).hexdigest()},
        "properties": {"log": data.paths[one.log], "timeLost": one.time_lost, "confidence": one.confidence},
    }
    if where:
        path, line = where
        artifact = {"uri": _uri(path)}
        if not Path(_relative(path)).is_absolute():
            artifact["uriBaseId"] = "%SRCROOT%"
        region = {"startLine": line}
        result["locations"] = [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]
    return result


def _text(one: Finding) -> str:
    advice = one.advice[0].text if one.advice else ""
    return " ".join(filter(None, (one.message, opened_by(one), advice)))


def _location(one: Finding, data: Dataset) -> Location | None:
    """The line that costs most of the finding, or opened its files."""
    for evidence in one.evidence:
        if evidence.columns[:1] == ("called_from",):
            row = dict(zip(evidence.columns, evidence.rows[0]))
            return (row["source"], row["line"]) if row["source"] and row["line"] else None
        if evidence.columns[:1] == ("opened_by",):
            query = "SELECT source, line FROM call_site WHERE log = ? AND place = ? AND line > 0 ORDER BY ALL LIMIT 1"
            known = data.query(query, [one.log, evidence.rows[0][0]]).fetchone()
            return (known[0], known[1]) if known else None
    return None


def _relative(path: str) -> str:
    """Below the current directory, which code-scanning services take for the repository's root."""
    inside = os.path.relpath(path) if path.startswith("/") else path
    return path if inside.startswith("..") else inside


def _uri(path: str) -> str:
    from urllib.parse import quote

    shown = _relative(path)
    return ("file://" if shown.startswith("/") else "") + quote(os.fsencode(shown))


def workflow_annotations(found: Iterable[Finding], data: Dataset) -> Iterator[str]:
    """A workflow command for each finding: ::error file=train.py,line=84,title=...::message."""
    for one in found:
        if one.severity not in _COMMANDS:
            continue
        where = _location(one, data)
        parts = {"file": _relative(where[0]), "line": str(where[1])} if where else {}
        parts["title"] = f"iolens: {one.title}"
        told = ",".join(f"{name}={_escaped(text, ':,')}" for name, text in parts.items())
        yield f"::{_COMMANDS[one.severity]} {told}::{_escaped(_text(one))}"


def _escaped(text: str, more: str = "") -> str:
    """As GitHub's runner reads it."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
