"""The document of a dataset: its logs one by one, and what they are together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from iolens.log import _native
from iolens.metrics import Dataset, metrics
from iolens.report.document import Document, Job, Section, Term, walk
from iolens.report.sections.answer import NOTHING, answer, first_action, headline
from iolens.report.sections.cost import cost
from iolens.report.sections.ending import command, ending, title
from iolens.report.sections.files import files
from iolens.report.sections.glance import glance
from iolens.report.sections.interfaces import interfaces
from iolens.report.sections.job import job
from iolens.report.sections.observation import limits, moved, observation
from iolens.report.sections.overview import overview
from iolens.report.sections.processes import processes
from iolens.report.sections.storage import storage
from iolens.report.sections.time import time
from iolens.report.sections.wording import in_words
from iolens.report.source import Source, stamp
from iolens.report.units import counted, write

__all__ = ["JOBS", "build", "head", "own_version"]

JOBS = 20
"""Logs that get pages of their own; of more, those with most time in I/O."""


def own_version() -> str:
    return _native.version


def _subtitle(source: Source) -> str:
    row = source.job
    count = row["nprocs"] or 1
    parts = [] if source.number is None else [f"job {source.number}"]
    parts.append(counted(count, "process"))
    hosts = [name for (name,) in source.ask("SELECT DISTINCT host FROM process WHERE log = {log} AND host <> ''")]
    if hosts:
        parts.append(f"on {hosts[0]}" if len(hosts) == 1 else f"on {counted(len(hosts), 'node')}")
    if row["run_time"]:
        parts.append(f"{write(row['run_time'], 'seconds')} run time")
    return " · ".join([*parts, *filter(None, [stamp(row["start"])])])


def head(source: Source) -> Job:
    """The answer: is I/O a problem, how much of one, what to do first. Without sections."""
    verdict, sentence = headline(source)
    action, place = first_action(source)
    return Job(
        title(source),
        _subtitle(source),
        verdict,
        sentence,
        [],
        label="" if source.interfaces else NOTHING,
        ended=ending(source),
        action=action,
        action_at=place,
        command=command(source),
    )


OPEN = ("glance", "findings")
"""Sections to read where I/O is fine."""

MORE = ("time", "cost", "files", "storage")
"""And where it is not."""


def _folded(section: Section, source: Source, verdict: str) -> Section:
    """Details that few readers want are there at a click."""
    name = section.id.removeprefix(source.prefix)
    return replace(section, folded=name not in (OPEN if verdict == "good" else (*OPEN, *MORE)))


def _job(source: Source, problems: list[str]) -> Job:
    made = head(source)
    notes = limits(source, problems)

    def first(source: Source) -> Section:
        found = answer(source, ended=bool(made.ended))
        return Section(found.id, found.title, [*notes, *found.blocks, *moved(source)])

    def each(make: Callable[[Source], Section]) -> Callable[[], list[Section]]:
        return lambda: [make(source)]

    costs = [each(cost)] if source.interfaces else []
    parts = [each(glance), each(first), each(time), *costs, each(files), lambda: interfaces(source)]
    parts += [each(part) for part in (storage, processes, observation, job)]
    sections = [section for made in source.data.together(parts) for section in made()]
    words = in_words(source)
    return replace(
        made, sections=[words(_folded(s, source, made.verdict)) for s in sections if s.blocks]
    )


def _definitions(document: Document) -> Section:
    """What the shown metrics are: from the headers of their files."""
    shown = {getattr(block, "metric", "") for block in walk(document)} | {"headline"}
    terms = [
        Term(f"metric-{m.name}", m.title, m.definition, m.unit, m.caveats, m.source)
        for m in metrics().values()
        if m.name in shown
    ]
    return Section("definitions", "Definitions", list(terms))


def _chosen(data: Dataset) -> list[int]:
    """The logs that get pages of their own."""
    if len(data.paths) <= JOBS:
        return list(range(len(data.paths)))
    rows = data.query(
        f"SELECT log FROM job LEFT JOIN (SELECT log, sum(total_time) AS spent FROM file_of GROUP BY log) USING (log) "
        f"ORDER BY spent DESC NULLS LAST, log LIMIT {JOBS}"
    ).fetchall()
    return sorted(row[0] for row in rows)


def build(data: Dataset, findings: Sequence[Any] = ()) -> Document:
    """The report of the dataset's logs, with what the rules found in them."""
    several = len(data.paths) > 1
    jobs = []
    for log in _chosen(data):
        own = [f for f in findings if f.log == log]
        source = Source(data, log, f"job{log}-" if several else "", own)
        damage = [str(p.problem) for p in data.problems if str(p.path) == data.paths[log]]
        jobs.append(_job(source, damage))
    head = counted(len(data.paths), "job") if several else jobs[0].title
    document = Document(head, own_version(), jobs, overview(data, findings) if several else [])
    return Document(head, document.version, jobs, document.overview, _definitions(document))
