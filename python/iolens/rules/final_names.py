"""Files that were written under a temporary name and renamed, by the names under which a reader knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from iolens.metrics import Dataset
from iolens.rules.finding import Evidence

__all__ = ["Names", "final_names", "shown_values", "under_final_names"]

Names = Mapping[int, Mapping[str, str]]
"""Log -> name -> "FINAL, written as NAME"."""

# What a message names: its file, and the one that it is worst for.
_NAMED = ("name", "worst")
# Columns of evidence that hold names of files.
_COLUMNS = ("name", "example")


def final_names(data: Dataset) -> Names:
    """Empty where no file was renamed, which is found out at once."""
    if (
        data.lacks("posix")
        or not data.query("SELECT 1 FROM posix WHERE renamed_from <> 0 LIMIT 1").fetchall()
    ):
        return {}
    found: dict[int, dict[str, str]] = {}
    rows = data.query("SELECT log, name, shown FROM written_as JOIN name_of USING (log, id)").fetchall()
    for log, name, shown in rows:
        found.setdefault(log, {})[name] = shown
    return found


def shown_values(values: Mapping[str, Any], final: Mapping[str, str]) -> dict[str, str]:
    """Those of a message's values that are names of such files."""
    named = ((key, values.get(key)) for key in _NAMED)
    return {key: final[value] for key, value in named if isinstance(value, str) and value in final}


def under_final_names(evidence: Evidence, final: Mapping[str, str]) -> Evidence:
    """The rows with such names replaced."""
    at = {evidence.columns.index(column) for column in _COLUMNS if column in evidence.columns}
    if not final or not at:
        return evidence
    rows = tuple(
        tuple(final.get(value, value) if n in at else value for n, value in enumerate(row))
        for row in evidence.rows
    )
    return replace(evidence, rows=rows)
