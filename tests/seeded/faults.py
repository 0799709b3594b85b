"""The faults of faults.toml: each a piece of text that stands once in a file of the tree, and what replaces it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Fault", "read"]


@dataclass(frozen=True)
class Fault:
    """room: a folder of docs/architecture.md. tests: arguments of pytest. seen: what a user would see wrong."""

    id: str
    room: str
    tests: str
    file: str
    old: str
    new: str
    seen: str

    def problem(self, tree: Path) -> str:
        """Why it cannot be put into the tree, "" if it can."""
        path = tree / self.file
        if not path.is_file():
            return f"{self.file}: no such file"
        found = path.read_text(encoding="utf-8").count(self.old)
        return "" if found == 1 else f"{self.file}: has the text {found} times: {self.old!r}"


def read() -> list[Fault]:
    with Path(__file__).with_name("faults.toml").open("rb") as file:
        return [Fault(**row) for row in tomllib.load(file)["fault"]]
