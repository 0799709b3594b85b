"""The answer: is I/O a problem, why, what to do first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from iolens.report.document import Block, Column, FindingBlock, Note, Section, Table
from iolens.report.source import Source
from iolens.report.units import write
from iolens.rules import opened_by, overlap
from iolens.rules.instead import computes_io, hdf5_times, instead, is_more, is_most, names_hdf5, takes
from iolens.rules.load import LOOK, SEVERITY
from iolens.rules.text import within

__all__ = ["NOTHING", "answer", "first_action", "headline", "judge"]

PROBLEM, SHORT = (SEVERITY[name].default for name in ("high", "seconds"))
"""The share of the run time from which I/O is a problem; seconds of I/O that are none."""

SHORT_RUN = 4 * SHORT
"""Seconds of a run that is too short to matter, where I/O is short."""

_ORDER = {"high": 0, "medium": 1, "low": 2, "info": 3, "good": 4}


EXPLAINED = 0.1
"""Of the time in I/O: what accounts for less does not explain it."""

UNEVEN = 0.5
"""An average rank with less than this part of the slowest one's share is worth a word."""

SAME = 0.01
"""Findings whose costs differ by less account for the same seconds."""


def _amounts(row: dict[str, Any]) -> str:
    return f"{write(row['bytes_read'], 'bytes')} read, {write(row['bytes_written'], 'bytes')} written"


def _why(findings: list[Any], spent: float | None) -> str:
    """The first cause with its own gain. Findings overlap: neither their sum nor another one's gain belongs to it."""
    serious = [f for f in findings if f.severity in ("high", "medium")]
    if not serious:
        return ""
    first = serious[0]
    text = f" First cause: {within(first.title)}."
    if first.gain and first.gain[1] > 0:
        low, high = (write(v, "seconds") for v in first.gain)
        text += f" Acting on it could save {high if low == high else f'{low} to {high}'}."
    most = max(f.time_lost or 0 for f in serious)
    if spent and most < EXPLAINED * spent:
        text += f" No rule explains more than {write(most, 'seconds')} of the time in I/O."
    return text


NOTHING = "No I/O was seen"
"""The label where the log has no records of I/O."""


def first_action(source: Source) -> tuple[str, str]:
    """What to do first, and the id of the finding that says more: of the first cause; "" where there is none."""
    for number, finding in enumerate(source.findings):
        if finding.severity in ("high", "medium"):
            text = finding.advice[0].text if finding.advice else ""
            return text, f"{source.prefix}finding-{number}"
    return "", ""


def headline(source: Source) -> tuple[str, str]:
    """The verdict (problem, look, good, unknown) and one or two sentences with numbers."""
    if not source.interfaces:
        if any(finding.severity == "good" for finding in source.findings):
            return "good", "No file was read or written: I/O is not what makes this job slow."
        return (
            "unknown",
            "The log has no records of I/O: nothing can be said about what this job read and wrote.",
        )
    rows = source.metric("headline")
    if not rows:
        return "unknown", "How much of the run time I/O takes is not known."
    row = rows[0]
    findings = sorted(source.findings, key=lambda f: _ORDER.get(f.severity, 5))
    share, spent = row["io_share"], row["io_time"]
    why = _why(list(findings), spent)
    if share is None:
        known = (
            f"I/O took {write(spent, 'seconds')}" if spent is not None else "How long I/O took is not known"
        )
        return "unknown", f"{known}; the run time is not known, so its share is not. {_amounts(row)}.{why}"
    (counted,) = source.metric("verdict_time")
    spent, share = spent - counted["waited"], share - counted["waited"] / row["run_time"]
    estimate = "about " if row["basis"] == "records" and share >= 0.001 else ""
    took = f"I/O takes {estimate}{write(min(share, 1.0), 'percent')} of the run time"
    locks = counted["locks"] / row["run_time"]  # counted as metadata
    parts = {name: row[f"{name}_share"] or 0 for name in ("read", "write", "meta")}
    parts["meta"] = max(0.0, parts["meta"] - locks)
    scale = share / (row["io_share"] - locks) if row["io_share"] > locks else 1
    kinds = {name: scale * part for name, part in parts.items()}
    if share >= LOOK:
        took += _kinds(kinds, share)
    took += f" ({write(spent, 'seconds')} of {write(row['run_time'], 'seconds')}; {_amounts(row)})"
    took += _on_average(source, share)
    if counted["queued"]:
        part = write(counted["queued"] / row["run_time"], "percent")
        took += f"; for {part} more, the program waited for a processor in I/O calls"
    hdf5 = hdf5_times(source.data).get(source.log)
    above = counted["hdf5"]
    if hdf5 and above > spent:
        took += f"; {takes(hdf5, row['run_time'])}"
    verdict, words = judge(counted["value"], row["run_time"])
    if verdict == "problem" and not why:
        why = " No rule explains it."
    not_known = _not_known(source)
    unknown = bool(not_known) and not _is_settled(source, counted["value"], row["run_time"])
    others = (
        _instead(source, share, row["run_time"], spent, unknown, hdf5)
        if unknown or share >= LOOK or not (why or above > spent)
        else ""
    )
    if unknown:
        return "unknown", f"{took}, but {not_known}.{why}{others}"
    return verdict, f"{took}: {words}.{why}{others}" + (f" But {not_known}." if not_known else "")


def _on_average(source: Source, share: float) -> str:
    """Where the slowest rank has much more than the others: the share is that of the slowest."""
    for row in source.metric("run_split") if share >= LOOK else []:
        mean = row["io_time"] / row["run_time"] if row["who"] == "average" else share
        if mean < UNEVEN * share:
            return f", in the slowest rank; {write(mean, 'percent')} in the average one"
    return ""


def _kinds(shares: dict[str, float], share: float) -> str:
    """The kind with more than half of the time in I/O, or the two that take most: as cli/summary/verdict.c."""
    words = {"read": "reading", "write": "writing", "meta": "metadata"}
    largest = sorted(words, key=lambda name: -shares[name])
    chosen = largest[:1] if shares[largest[0]] > 0.5 * share else largest[:2]
    if sum(shares[name] for name in chosen) <= 0.5 * share:
        return ""
    return f", most of it {' and '.join(words[name] for name in words if name in chosen)}"


def _instead(  # noqa: PLR0913, PLR0917
    source: Source, share: float, run_time: float, spent: float, unknown: bool, hdf5: dict[str, Any] | None
) -> str:
    """What the time goes into, where it is not I/O. unknown: I/O may be more than its share."""
    for row in source.metric("pipe_waits"):
        if row["waited"] > 0.2 * run_time:
            part = write(min(1.0, row["waited"] / run_time), "percent")
            return f" It is waiting, {part} of the run, for the other ends of named pipes."
    unwatched = any(row["unwatched"] for row in source.metric("unexplained"))
    for row in source.metric("instead") if not unwatched else []:
        text = instead(row, run_time, hdf5)
        if text and share >= LOOK and not unknown:
            if is_more(row, run_time, spent, hdf5):
                return f" More goes into {text}."
            if hdf5 and names_hdf5(hdf5, run_time):
                return f" {takes(hdf5, run_time)}."
            busy = " The processor is busy all the while, so it does not wait for storage."
            return busy if computes_io(row) else ""
        if text:
            part = "The largest part" if not is_most(row, run_time) else "It"
            return f" {'The largest known part' if unknown else part} is {text}."
    return ""


def _not_known(source: Source) -> str:
    """What moved without a time or an explanation, where it is too much to say that I/O is fine."""
    for row in source.metric("unexplained"):
        if row["much_unexplained"]:
            return f"{write(row['share'], 'percent')} of all bytes are unexplained: the numbers here are incomplete"
        if row["partly"]:
            return (
                f"{write(row['untimed'] + row['unexplained'], 'bytes')} moved in ways whose time is not known"
            )
        if row["unwatched"]:
            (job,) = source.metric("headline")
            part = write(row["unwatched"] / job["run_time"], "percent")
            return f"a program that was not observed waited for {part} of the run, perhaps for I/O"
    return ""


def _is_settled(source: Source, spent: float, run_time: float) -> bool:
    """Is I/O the cause with page faults, or is it not, whatever has no time? As is_open() of cli/summary/verdict.c."""
    lost = source.metric("unexplained")[0]
    for row in source.metric("instead"):
        faults = 0.0 if lost["much_unexplained"] or not row["paged"] else row["fault_time"]
        least = not lost["unwatched"] and spent + lost["possible"] < PROBLEM * run_time
        if spent + faults >= PROBLEM * run_time or (least and is_most(row, run_time)):
            return True
    return spent >= PROBLEM * run_time


def judge(spent: float, run_time: float) -> tuple[str, str]:
    """What so many seconds of the metric verdict_time mean."""
    share = spent / run_time
    if share >= LOOK and spent < SHORT:
        short = run_time < SHORT_RUN
        words = (
            f"a part worth a look, but the run lasted only {write(run_time, 'seconds')}: observe a longer one"
        )
        return "look", words if short else "a part worth a look"
    if share >= PROBLEM:
        return "problem", "it is a problem"
    return ("look", "worth a look") if share >= LOOK else ("good", "it is not what makes this job slow")


def _unit(name: str, unit: str, values: list[Any]) -> str:
    """Rules name units where there is one; other measures are shown by name and values."""
    if unit:
        return unit
    if name in ("name", "file", "directory"):
        return "path"
    known = [value for value in values if value is not None]
    plain = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)
    return "number" if known and plain else "text"


def _costliest(units: Sequence[str]) -> Callable[[list[Any]], float]:
    """Sorts rows by their largest time, most first; those without keep their order."""
    places = [place for place, unit in enumerate(units) if unit == "seconds"]
    return lambda row: -max((row[place] or 0 for place in places), default=0)


def _evidence(source: Source, number: int, finding: Any) -> list[Table]:
    tables = []
    for place, evidence in enumerate(finding.evidence):
        rows = sorted((list(row) for row in evidence.rows), key=_costliest(evidence.units))
        columns = tuple(
            Column(name, name.replace("_", " "), _unit(name, unit, [row[n] for row in rows]))
            for n, (name, unit) in enumerate(zip(evidence.columns, evidence.units))
        )
        name = f"{source.prefix}finding-{number}-{place}"
        tables.append(Table(id=name, title=evidence.title, columns=columns, rows=rows, total=len(rows)))
    return tables


def _same_as(finding: Any, before: Sequence[Any]) -> str:
    """Two causes of equal cost are two names of the same seconds."""
    lost = finding.time_lost
    if not lost or finding.severity not in ("high", "medium"):
        return ""
    same = (f for f in before if f.time_lost and abs(f.time_lost - lost) <= SAME * lost)
    first = next(same, None)
    return f", the same seconds as “{first.title}”" if first else ""


def _facts(finding: Any, before: Sequence[Any]) -> list[tuple[str, str]]:
    facts = []
    if finding.time_lost is not None:
        share = f" = {write(finding.share, 'percent')} of the run time" if finding.share is not None else ""
        facts.append(("Time lost", write(finding.time_lost, "seconds") + share + _same_as(finding, before)))
    if finding.gain:
        low, high = (write(v, "seconds") for v in finding.gain)
        facts.append(("Could save", low if low == high else f"{low} to {high}"))
    if finding.assumptions:
        facts.append(("Assuming", finding.assumptions))
    facts.append(("Confidence", finding.confidence))
    codes = f" ({', '.join(finding.aliases)})" if finding.aliases else ""
    facts.append(("Rule", finding.rule + codes))
    return facts


def answer(source: Source, *, ended: bool = False) -> Section:
    """The findings, most severe first. ended: the job did not end by itself, which is no detail then."""
    blocks: list[Block] = []
    for number, finding in enumerate(source.findings):
        blocks.append(
            FindingBlock(
                id=f"{source.prefix}finding-{number}",
                severity=finding.severity,
                title=finding.title,
                message=" ".join(filter(None, (finding.message, opened_by(finding)))),
                facts=_facts(finding, source.findings[:number]),
                advice=[(a.text, a.snippet or "", a.language or "") for a in finding.advice],
                evidence=_evidence(source, number, finding),
                references=list(finding.references),
                quiet=finding.severity in ("good", "info") and not (ended and finding.rule == "ended_early"),
            )
        )
    overlapping = overlap(source.findings)
    if overlapping:
        blocks.append(Note("info", overlapping))
    if not blocks:
        blocks.append(Note("info", "No rule found anything to say about this log."))
    return Section(f"{source.prefix}findings", "Findings", blocks)
