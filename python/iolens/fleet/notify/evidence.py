"""The rows of a log behind a finding: the lake keeps the sentence, the log has the rest."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from iolens.error import IolensError
from iolens.fleet.notify.occurrence import Occurrence
from iolens.metrics import Dataset
from iolens.rules import Catalog, find

__all__ = ["with_evidence"]


def with_evidence(one: Occurrence, catalog: Catalog, own: Container[str] = ()) -> Occurrence | None:
    """The same with evidence and advice, if its log can be read and the rule finds it there.

    own: rules that have thresholds of the site. What one of them does not find in the log by these is None.
    """
    if one.rule not in catalog.rules:
        return one
    try:
        with Dataset([one.path]) as data:
            found = find(data, catalog=catalog.of([one.rule]))
    except (IolensError, OSError):
        return one
    if not found:
        return None if one.rule in own else one
    advice = tuple(piece.text for piece in found[0].advice)
    return replace(one, evidence=found[0].evidence, advice=advice)
