#!/usr/bin/env python3
"""The tests that can notice what has changed, for a developer's inner loop: `make affected`.

usage: tests/affected.py [--since COMMIT] [ARGUMENTS OF PYTEST...]
A changed file belongs to a room. Rooms that use this room, by the arrows of tests/house/test_architecture.py, are
affected too. A folder of tests is chosen if tests/tiers.toml says that it tests an affected room. It prints what it
chose and why, then runs the quick tier of these folders.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path.insert(0, str(TESTS))

from run import run_parts  # noqa: E402
from tiers import ROWS  # noqa: E402

EVERYTHING = {"meson.build", "meson.options", "pyproject.toml", "bootstrap"}


def arrows() -> dict[str, set[str]]:
    """Each room, and the rooms that it uses."""
    house = runpy.run_path(str(TESTS / "house" / "test_architecture.py"))
    used = {
        room: set(others)
        for room, others in house["MAY_INCLUDE"].items()
        if room not in ("modules", "python")
    }
    modules = {path.parent.name for path in ROOT.glob("modules/*/*.toml")}
    for module in modules:
        known = [*house["MODULE_KNOWS"].get(module, []), *house["MODULE_KNOWS"]["*"]]
        used[f"modules/{module}"] = {"runtime", "format", *(f"modules/{other}" for other in known)}
    used["python/ext"] = {"format"}
    below = {"python/ext"}
    python_house = runpy.run_path(str(TESTS / "house" / "test_python_rooms.py"))
    for layer in python_house["LAYERS"]:
        used[f"python/iolens/{layer}"] = set(below)
        below.add(f"python/iolens/{layer}")
    used["python/iolens"] = set(below)
    return used


def room_of(file: str, rooms: Iterable[str]) -> str:
    """The innermost room that a file is in, else its top folder."""
    inside = [room for room in rooms if file.startswith(f"{room}/")]
    return max(inside, key=len) if inside else file.partition("/")[0]


def affected(changed: set[str], used: dict[str, set[str]]) -> dict[str, str]:
    """Each affected room, and the changed room or file that it knows of."""
    found = {room_of(file, used): file for file in sorted(changed, reverse=True)}
    while more := {
        room: found[other] for room in used if room not in found for other in used[room] if other in found
    }:
        found.update(more)
    return found


def changed_since(commit: str) -> set[str]:
    def git(*words: str) -> set[str]:
        return set(
            subprocess.run(
                ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
            ).stdout.split()
        )

    return git("diff", "--name-only", commit) | git("ls-files", "--others", "--exclude-standard")


def users_of(helper: str) -> set[str]:
    """The folders whose tests import a file of tests/ itself, or another one there that imports it."""
    reached, folders, new = {Path(helper).stem}, set(), {Path(helper).stem}
    while new:
        word = re.compile(rf"^(?:from|import) (?:{'|'.join(sorted(new))})\b", re.MULTILINE)
        files = [path.relative_to(TESTS) for path in TESTS.rglob("*.py") if word.search(path.read_text())]
        folders |= {path.parts[0] for path in files if len(path.parts) > 1}
        new = {path.stem for path in files if len(path.parts) == 1} - reached
        reached |= new
    return {path for path in ROWS if "/" not in path} if "conftest" in reached else folders


def choose(changed: set[str]) -> dict[str, str]:
    """Folders of tests, and why each is chosen."""
    if everything := changed & EVERYTHING:
        return dict.fromkeys((path for path in ROWS if "/" not in path), f"{min(everything)} has changed")
    chosen: dict[str, str] = {}
    rooms = affected({file for file in changed if not file.startswith("tests/")}, arrows())
    for path, row in ROWS.items():
        if reached := [room for room in row.rooms if room in rooms]:
            chosen[path] = f"it tests {reached[0]}, and {rooms[reached[0]]} has changed"
    for file in changed:
        if file.startswith("tests/") and file.count("/") > 1:
            chosen.setdefault(file.split("/")[1], f"{file} has changed")
        elif file.startswith("tests/"):
            for folder in users_of(file):
                chosen.setdefault(folder, f"it imports {file}")
    return {path: why for path, why in chosen.items() if (TESTS / path).exists()}


def main(words: list[str]) -> int:
    since = words[1] if words[:1] == ["--since"] else "HEAD"
    chosen = choose(changed_since(since))
    for path, why in chosen.items():
        print(f"tests/{path}: {why}")
    if not chosen:
        print(f"no tests are affected by what has changed since {since}")
        return 0
    arguments = words[2:] if words[:1] == ["--since"] else words
    return run_parts("quick", *(f"tests/{path}" for path in chosen), *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
