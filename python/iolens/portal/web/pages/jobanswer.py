"""The answer of a job's page: the verdict, and what the lake's findings of the job are, with what to change."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import duckdb
from markupsafe import Markup

from iolens.portal.data.view import View
from iolens.portal.web.page_request import link
from iolens.portal.web.pages.jobtables import FINDINGS
from iolens.report.build import head
from iolens.report.document import FindingBlock
from iolens.report.html import blocks_html, verdict_html
from iolens.report.sections.answer import answer
from iolens.report.sections.wording import in_words
from iolens.report.source import Source
from iolens.rules import Finding, find, load
from iolens.rules.advice import Facts, advise, read_facts

__all__ = ["JobAnswer", "job_answer"]


class JobAnswer(NamedTuple):
    title: str
    verdict: Markup
    findings: Markup


def _finding(row: dict[str, Any], log: int, again: Finding | None, facts: Facts) -> Finding:
    """What the lake keeps of a finding, with what the rule finds in the job's records again."""
    rule = load().rules.get(row["rule"])  # a site's own is not there
    gain = None if row["gain_low"] is None else (row["gain_low"], row["gain_high"])
    if again is None:
        advice = advise(rule.advice, facts, {}, ()) if rule else ()
    return Finding(
        rule=row["rule"],
        title=row["title"],
        severity=row["severity"],
        log=log,
        message=row["message"],
        time_lost=row["time_lost"],
        share=row["share"],
        gain=gain,
        assumptions=rule.gain.assumptions if rule and rule.gain else "",
        confidence=row["confidence"],
        advice=again.advice if again else advice,
        evidence=again.evidence if again else (),
        references=rule.references if rule else (),
        aliases=rule.aliases if rule else (),
        topic=row["topic"],
        values={},
    )


def _again(view: View, names: list[str]) -> dict[str, Finding]:
    """The findings of these rules in the job's records, by rule; empty where the lake has too little of them."""
    catalog = load()
    try:
        found = find(view.data, catalog=catalog.of(name for name in names if name in catalog.rules))
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return {}
    return {one.rule: one for one in found}


def _findings(view: View, log: int) -> list[Finding]:
    """Of the lake, most severe first."""
    with view.session() as data:
        rows = data.rows(FINDINGS.format(log=log))
    again = _again(view, [row["rule"] for row in rows])
    facts = read_facts(view.data).get(log, Facts())
    return [_finding(row, log, again.get(row["rule"]), facts) for row in rows]


def job_answer(view: View, log: int) -> JobAnswer:
    """view: of this log."""
    found = _findings(view, log)
    source = Source(view.data, log, findings=found)
    job = head(source)
    section = in_words(source)(answer(source, ended=bool(job.ended)))
    blocks = [
        dataclasses.replace(
            block, links=(("Other jobs with this", link("/q/findings", rule=found[at].rule)),)
        )
        if isinstance(block, FindingBlock)
        else block
        for at, block in enumerate(section.blocks)
    ]
    return JobAnswer(job.title, Markup(verdict_html(job)), Markup(blocks_html(blocks)))
