"""A lake at one moment: which files count."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from iolens.fleet.tables.delta import File

__all__ = ["Place", "Snapshot"]


class Place(Protocol):
    """A lake, for what only needs its folder."""

    path: Path


@dataclass
class Snapshot:
    """What is in a lake at one moment: of each table the files whose rows count."""

    files: dict[str, list[File]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    """Logs that were written again: their rows do not count."""
