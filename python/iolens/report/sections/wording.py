"""Words of a report: where no MPI ran, there are processes and no ranks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from iolens.report.document import Block, FindingBlock, Section, Spans, Table
from iolens.report.source import Source

__all__ = ["in_words"]

_RANK = re.compile(r"\b([Rr])ank(s?)\b")
_TEXTS = ("title", "note", "text")


def _processes(text: str) -> str:
    return _RANK.sub(
        lambda found: ("P" if found[1] == "R" else "p") + "rocess" + ("es" if found[2] else ""), text
    )


def _block(block: Any) -> Block:
    if isinstance(block, FindingBlock):  # its sentences are the rule's
        return replace(block, evidence=[_block(table) for table in block.evidence])  # type: ignore[misc]
    changed: dict[str, Any] = {
        name: _processes(text) for name in _TEXTS if isinstance(text := getattr(block, name, None), str)
    }
    if isinstance(block, Table):
        changed["columns"] = tuple(
            replace(column, title=_processes(column.title), explain=_processes(column.explain))
            for column in block.columns
        )
    if isinstance(block, Spans):
        changed["rows"] = [_processes(row) for row in block.rows]
        changed["spans"] = [replace(span, title=_processes(span.title)) for span in block.spans]
    if hasattr(block, "categories"):
        changed["categories"] = [_processes(name) for name in block.categories]
    if hasattr(block, "rank"):
        changed["rank"] = "process"
    made: Block = replace(block, **changed)
    return made


def in_words(source: Source) -> Callable[[Section], Section]:
    """What makes a section of this job speak of what ran."""
    if source.parallel:
        return lambda section: section
    return lambda section: replace(
        section,
        title=_processes(section.title),
        intro=_processes(section.intro),
        blocks=[_block(block) for block in section.blocks],
    )
