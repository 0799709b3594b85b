"""JSON Schemas of what commands print with --json: a file each, ``NAME.json``. docs/guide/json.md has the policy."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from iolens.error import USAGE, IolensError

__all__ = ["load", "names", "read", "stamped"]

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """All schemas there are, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def read(name: str) -> str:
    """The text of a schema. Raises IolensError if there is none of this name."""
    if name not in names():
        from iolens.log.unknown import unknown_text

        raise IolensError(
            unknown_text("schema", name, names(), "`iolens schema` lists them"), exit_code=USAGE
        )
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")


@cache
def load(name: str) -> dict[str, Any]:
    """A schema as a dictionary. Raises IolensError if there is none of this name."""
    loaded: dict[str, Any] = json.loads(read(name))
    return loaded


def stamped(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """What a command prints: the content behind the name and version of its schema."""
    version = load(name)["properties"]["schema"]["properties"]["version"]["const"]
    return {"schema": {"name": name, "version": version}, **content}
