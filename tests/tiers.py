"""Which tests a run takes: the table tests/tiers.toml, and pytest's options --tier and --alone.

Without --tier every test that was named runs, as pytest's users expect.
"""

from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
TABLE = HERE / "tiers.toml"
TIERS = ["quick", "full", "campaign"]
"""The full tier has the quick one in it; campaigns are runs of their own."""


@dataclass(frozen=True)
class Row:
    """One row of the table: what it says of a folder or a file, by its path below tests/."""

    path: str
    tier: str
    why: str = ""
    """Why it is not all in the quick tier."""
    rooms: list[str] = field(default_factory=list)
    """The rooms of the tree that its tests look at (tests/affected.py)."""
    first: bool = False
    """The quick tier has the first case of each test, the full tier all."""
    quick: list[str] = field(default_factory=list)
    """Tests of this tier in a file of another, by name; * stands for anything."""
    full: list[str] = field(default_factory=list)
    campaign: list[str] = field(default_factory=list)
    alone: str = ""
    """Why its tests need the machine to themselves."""

    def tier_of(self, test: str, is_first: bool) -> str:
        for tier in TIERS:
            if any(fnmatch.fnmatchcase(test, name.replace("[", "[[]")) for name in getattr(self, tier)):
                return tier
        return self.tier if is_first or not self.first else "full"


def table(text: str) -> tuple[dict[str, Row], dict[str, list[str]]]:
    """The rows by path, and the tests of each feature that README names."""
    read: dict[str, Any] = tomllib.loads(text)
    features = read.pop("features", {})
    return {path: Row(path, **row) for path, row in read.items()}, features


ROWS, FEATURES = table(TABLE.read_text())


def row_of(path: PurePosixPath) -> Row | None:
    """The row of a test file below tests/: its own, or that of the nearest folder."""
    return next((ROWS[str(at)] for at in (path, *path.parents) if str(at) in ROWS), None)


def place_of(nodeid: str) -> tuple[Row | None, str]:
    """The row of a test, and its name in its file."""
    file, _, test = nodeid.partition("::")
    return row_of(PurePosixPath(file).relative_to("tests")), test


def tier_of(nodeid: str, is_first: bool = True) -> str:
    row, test = place_of(nodeid)
    return row.tier_of(test, is_first) if row else ""


class Tiers:
    """Takes the tests of a tier, and of these the ones that share the machine or those that do not."""

    def __init__(self, tier: str | None, alone: str | None) -> None:
        self.tier, self.alone = tier, alone

    def takes(self, nodeid: str, is_first: bool) -> bool:
        row, _ = place_of(nodeid)
        of = tier_of(nodeid, is_first)
        if self.tier and of != self.tier and (self.tier, of) != ("full", "quick"):
            return False
        return self.alone is None or bool(row and row.alone) == (self.alone == "yes")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Files of which no test can be taken are not imported: this halves what a worker's start takes."""
        if self.tier not in ("quick", "full") or not collection_path.name.startswith("test_"):
            return None
        row = row_of(PurePosixPath(collection_path.relative_to(HERE)))
        if not row or row.tier in ("quick", self.tier) or row.quick:
            return None
        return None if self.tier == "full" and row.full else True

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        seen: set[str] = set()
        taken, left = [], []
        for item in items:
            function = item.nodeid.partition("[")[0]
            (taken if self.takes(item.nodeid, function not in seen) else left).append(item)
            seen.add(function)
        config.hook.pytest_deselected(items=left)
        order = {path: at for at, path in enumerate(ROWS)}
        items[:] = sorted(
            taken, key=lambda item: order.get(getattr(place_of(item.nodeid)[0], "path", ""), len(order))
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "tests/tiers.toml")
    group.addoption("--tier", choices=TIERS, help="only the tests of this tier")
    group.addoption(
        "--alone", choices=["yes", "no"], help="only tests that need the machine to themselves, or no such"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tiers(config.getoption("--tier"), config.getoption("--alone")))
