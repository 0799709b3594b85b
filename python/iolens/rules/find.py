"""Rules applied to a dataset: findings, most severe first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

from iolens.metrics import Dataset
from iolens.metrics.engine import duckdb
from iolens.metrics.views import LISTS
from iolens.progress import each
from iolens.rules.advice import advise, read_facts
from iolens.rules.final_names import Names, final_names, shown_values, under_final_names
from iolens.rules.finding import SEVERITIES, Evidence, Finding, Findings
from iolens.rules.load import AnyPath, Catalog, load, severity_of
from iolens.rules.opened import where_called
from iolens.rules.rule import EvidenceQuery, Rule
from iolens.rules.text import fill

__all__ = ["EVIDENCE_ROWS", "find"]

EVIDENCE_ROWS = 10

Row = dict[str, Any]


def find(  # noqa: PLR0913
    data: Dataset,
    *,
    directories: Iterable[AnyPath] = (),
    thresholds: Mapping[str, float] | None = None,
    catalog: Catalog | None = None,
    problems: list[str] | None = None,
    evidence: bool = True,
) -> Findings:
    """What the rules find in the logs: the most severe first, of these what costs most time.

    directories: rules of the site. thresholds: "rule.name" -> value. catalog: the rules, instead of all of the
    directories'. problems: gets a line for each rule of a site that cannot be used. evidence: False leaves it and
    advice out: for many logs at once.
    Rules of a site see the logs and nothing else: where there are some, the dataset is sealed.
    Raises IolensError for an unknown threshold or a directory that is none.
    """
    used = (catalog or load(directories)).with_thresholds(dict(thresholds or {}))
    wrong = [] if problems is None else problems
    wrong += used.problems
    if any(rule.path for rule in used.rules.values()):
        data.seal()
    found: list[Finding] = []
    most, empty = _ahead(data, used)
    facts = read_facts(data) if evidence else {}
    final = final_names(data)
    jobs = {row.pop("log"): row for row in data.rows("SELECT log, run_time, nprocs FROM job")}
    chosen = [rule for rule in used.rules.values() if not empty.intersection(rule.needs)]

    def look(rule: Rule) -> list[Finding]:
        limit = {} if _BEYOND.intersection(rule.needs) else most
        if not evidence:
            return list(
                _apply(data, replace(rule, evidence=(), advice=()), used.severity, limit, jobs, final)
            )
        return [
            replace(
                f,
                advice=advise(rule.advice, facts[f.log], f.values, f.evidence),
                evidence=tuple(under_final_names(e, final.get(f.log, {})) for e in f.evidence),
            )
            for f in _apply(data, rule, used.severity, limit, jobs, final)
        ]

    looked = data.together([partial(look, rule) for rule in chosen])
    for rule, result in each("looking for causes", list(zip(chosen, looked)), len(chosen)):
        try:
            found += result()
        except (duckdb.Error, KeyError) as error:
            if not rule.path:
                raise
            missing = f'message: no column "{error.args[0]}"' if isinstance(error, KeyError) else str(error)
            wrong.append(f"{rule.path}: {missing.splitlines()[0]}")
    found = _worth_saying(found, used.rules.values(), _partly_explained(data))
    return Findings(
        sorted(found, key=lambda f: (SEVERITIES.index(f.severity), -(f.time_lost or 0), f.rule, f.log))
    )


def _ahead(data: Dataset, used: Catalog) -> tuple[dict[int, float | None], set[str]]:
    """Time in I/O by log, and the tables without rows that rules need."""
    data.expect([_statement(rule) for rule in used.rules.values()])
    named = {name for rule in used.rules.values() for name in rule.needs}
    most: dict[int, float | None] = {}
    empty: set[str] = set()
    for done in data.together(
        [lambda: most.update(_io_times(data)), lambda: empty.update(_empty(data, named))]
    ):
        done()
    return most, empty


def _io_times(data: Dataset) -> dict[int, float | None]:
    """By log, without waits for a processor in calls: no cause of I/O takes that."""
    queued = {row["log"]: row["queued"] for row in data.metric("verdict_time")}
    return {
        row["log"]: row["io_time"] and max(0.0, row["io_time"] - queued.get(row["log"], 0.0))
        for row in data.metric("headline")
    }


def _worth_saying(found: list[Finding], rules: Iterable[Rule], partly: set[int]) -> list[Finding]:
    """Without those that another finding says more about. partly: logs whose I/O cannot be called fine."""
    covering: dict[str, set[str]] = {}
    for rule in rules:
        for covered in rule.covers:
            covering.setdefault(covered, set()).add(rule.id)
    of_log: dict[int, list[Finding]] = {}
    for f in found:
        of_log.setdefault(f.log, []).append(f)
    return [
        f
        for f in found
        if not _covered(f, of_log[f.log], covering) and (f.severity != "good" or f.log not in partly)
    ]


def _partly_explained(data: Dataset) -> set[int]:
    """Logs of which too much moved without a time, or unseen, to call their I/O fine."""
    return {row["log"] for row in data.metric("unexplained") if row["partly"] or row["unwatched"]}


def _empty(data: Dataset, tables: set[str]) -> set[str]:
    """Those of the tables that no log has rows of."""
    lacking = {name for name in tables if data.lacks(name)}
    others = sorted(set(tables) - lacking)
    parts = [f"SELECT '{name}' WHERE NOT EXISTS (SELECT 1 FROM {name})" for name in others]
    asked = data.query(" UNION ALL ".join(parts)).fetchall() if parts else []
    return lacking | {row[0] for row in asked}


def _covered(one: Finding, found: Iterable[Finding], covering: Mapping[str, set[str]]) -> bool:
    """Does another finding of the same log say more about the same time? covering: the rules that may, by rule."""
    rules = covering.get(one.rule, ())
    return bool(rules) and any(
        other.rule in rules and (other.time_lost or 0) >= (one.time_lost or 0) / 2 for other in found
    )


def _ask(data: Dataset, sql: str, values: Mapping[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """A query with those of the values that it names as $name."""
    names = set(re.findall(r"\$(\w+)", sql))
    result = data.query(sql, {name: value for name, value in values.items() if name in names})
    return [column[0] for column in result.description or ()], result.fetchall()


# What these take is more than the time in I/O: calls of libraries, and what a program names itself.
_BEYOND = frozenset({*LISTS["library_interfaces"], "phases"})


def _apply(  # noqa: PLR0913, PLR0917
    data: Dataset,
    rule: Rule,
    severity: Mapping[str, float],
    most: Mapping[int, float | None],
    jobs: Mapping[int, Row],
    final: Names,
) -> Iterator[Finding]:
    """most: of each log the seconds that no cause can exceed. jobs: of each log run_time and nprocs."""
    settings = {name: threshold.default for name, threshold in rule.thresholds.items()}
    names, rows = _ask(data, _statement(rule), settings)
    place = names.index("log") if rows else 0
    for row in sorted(rows, key=itemgetter(place)):
        log = row[place]
        values = {**dict(zip(names, row)), **jobs[log]}
        yield _finding(data, rule, values, settings, severity, _number(most.get(log)), final.get(log, {}))


def _statement(rule: Rule) -> str:
    """The condition and the gain. A join takes as long as most conditions: only gains that name the job have it."""
    if not rule.gain:
        return rule.condition
    gain = f"({rule.gain.low}) AS gain_low, ({rule.gain.high}) AS gain_high"
    job = ""
    if _OF_JOB.search(gain):
        job = "JOIN (SELECT log, run_time, nprocs FROM job) AS job USING (log)"
    return f"SELECT *, {gain} FROM ({rule.condition}\n) AS c {job}"


_OF_JOB = re.compile(r"\b(?:run_time|nprocs)\b")


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _finding(  # noqa: PLR0913, PLR0917
    data: Dataset,
    rule: Rule,
    row: Row,
    settings: Mapping[str, float],
    severity: Mapping[str, float],
    most: float | None,
    final: Mapping[str, str],
) -> Finding:
    run_time = _number(row["run_time"])
    lost = _number(row.get("time_lost"))
    if lost is not None:
        lost = min(max(lost, 0.0), run_time or math.inf, math.inf if most is None else most)
    share = lost / run_time if lost is not None and run_time else None
    values = {**settings, **row, "time_lost": lost, "share": share}
    evidence = tuple(e for q in rule.evidence if (e := _evidence(data, q, values)).rows)
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=_severity(rule, row.get("severity_cap") or rule.cap, lost, share, severity),
        log=row["log"],
        message=fill(rule.message, {**values, **shown_values(values, final)}),
        time_lost=lost,
        share=share,
        gain=_gain(row, _number(row.get("time_lost")), lost),
        assumptions=rule.gain.assumptions if rule.gain else "",
        confidence=row.get("confidence") or rule.confidence,
        advice=rule.advice,
        evidence=(*evidence, *where_called(data, row["log"], rule, evidence)),
        references=rule.references,
        aliases=rule.aliases,
        topic=rule.topic,
        values={name: value for name, value in values.items() if not name.startswith("gain_")},
    )


def _severity(
    rule: Rule, cap: str, lost: float | None, share: float | None, severity: Mapping[str, float]
) -> str:
    """cap: the most severe it may be, of the rule or of this row."""
    level = rule.floor if lost is None or share is None else severity_of(severity, share, lost)
    place = max(SEVERITIES.index(level), SEVERITIES.index(cap))
    return SEVERITIES[min(place, SEVERITIES.index(rule.floor))]


def _gain(row: Row, counted: float | None, lost: float | None) -> tuple[float, float] | None:
    """Never more than what is lost. counted: that before it was cut to the time in I/O: both ends are cut so."""
    low, high = _number(row.get("gain_low")), _number(row.get("gain_high"))
    if low is None or high is None:
        return None
    cut = lost / counted if lost is not None and counted and counted > lost else 1.0
    high = min(max(high * cut, 0.0), math.inf if lost is None else lost)
    return min(max(low * cut, 0.0), high), high


def _evidence(data: Dataset, query: EvidenceQuery, values: Row) -> Evidence:
    columns, rows = _ask(data, f"SELECT * FROM ({query.sql}\n) LIMIT {EVIDENCE_ROWS}", values)
    return Evidence(query.title, tuple(columns), tuple(query.units.get(c, "") for c in columns), tuple(rows))
