"""The rows of a log behind a finding: the lake keeps the sentence, the log has the rest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container, Iterator
from dataclasses import replace

from iolens.error import IolensError
from iolens.fleet.archive import extracted, sources
from iolens.fleet.notify.occurrence import Occurrence
from iolens.fleet.tables.lake import Lake
from iolens.metrics import Dataset
from iolens.rules import Catalog, find

__all__ = ["with_evidence"]


def with_evidence(
    one: Occurrence, catalog: Catalog, own: Container[str] = (), lake: Lake | None = None
) -> Occurrence | None:
    """The same with evidence and advice, if its log can be read and the rule finds it there.

    own: rules that have thresholds of the site. What one of them does not find in the log by these is None. lake: knows
    the archives of logs that are not at their path any more.
    """
    if one.rule not in catalog.rules:
        return one
    try:
        with _path(one, lake) as path, Dataset([path]) as data:
            found = find(data, catalog=catalog.of([one.rule]))
    except (IolensError, OSError):
        return one
    if not found:
        return None if one.rule in own else one
    advice = tuple(piece.text for piece in found[0].advice)
    code = tuple(piece.snippet for piece in found[0].advice)
    return replace(one, evidence=found[0].evidence, advice=advice, code=code)


@contextlib.contextmanager
def _path(one: Occurrence, lake: Lake | None) -> Iterator[str]:
    if lake is None or os.path.exists(one.path):  # noqa: PTH110
        yield one.path
        return
    day = one.start.date() if one.start else None
    with lake.open(since=day, until=day) as data:
        rows = sources(data, "j.log = ?", [one.log])
    with extracted(lake, rows) as paths:
        yield paths[0] if paths else one.path
