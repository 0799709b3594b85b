"""The faults of `make seeded-faults` fit the tree, and every room has one: what is not tried is not known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "seeded"))
from faults import read

# With a fault in it the tree is not as the table says, and every other test shall have its chance.
pytestmark = pytest.mark.skipif("SEEDED_FAULT" in os.environ, reason="a seeded fault is in the tree")

TOP = ["format", "runtime", "kernel", "ranges", "cli", "deploy", "api", "python/ext"]
WITHOUT = {
    "modules/h5f": "opens and closes, by the library and the handles of h5d",
    "modules/pnetcdf_file": "opens and closes, by the library and the handles of pnetcdf_var",
    "modules/template": "built by a test of its own",
    "python/iolens/cli": "what it prints comes from the other rooms",
    "python/iolens/log": "its rows are those of python/ext",
    "python/iolens/overhead": "its numbers are those of python/iolens/compare",
    "python/iolens/pydarshan": "compared with PyDarshan as a whole",
}


def rooms(root: Path) -> set[str]:
    """Folders with code that is shipped."""
    modules = (folder for folder in (root / "modules").iterdir() if any(folder.glob("*.c")))
    packages = (folder for folder in (root / "python" / "iolens").iterdir() if any(folder.glob("*.py")))
    found = (folder.relative_to(root).as_posix() for folder in (*modules, *packages))
    return {*TOP, *(name for name in found if name != "python/iolens/schemas")}


def test_each_text_stands_once(root: Path) -> None:
    problems = [f"{fault.id}: {problem}" for fault in read() if (problem := fault.problem(root))]
    assert not problems, "\n".join(problems)


def test_each_fault_changes_its_room(root: Path) -> None:
    faults = read()
    wrong = [f.id for f in faults if f.old == f.new or not f.file.startswith(f"{f.room}/") or not f.seen]
    assert not wrong
    assert len({fault.id for fault in faults}) == len(faults) >= 30


def test_every_room_has_a_fault(root: Path) -> None:
    tried = {fault.room for fault in read()}
    assert tried & set(WITHOUT) == set(), "rooms that are listed as without a fault have one"
    assert tried | set(WITHOUT) == rooms(root)


def test_each_fault_names_tests_of_the_quick_tier(root: Path) -> None:
    named = [fault.tests.partition(" -k ") for fault in read()]
    paths = {path for files, _, _ in named for path in files.split()}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--tier", "quick", *sorted(paths)]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    for files, _, word in named:
        for path in files.split():
            assert any(test.startswith(path) and word in test for test in listed), f"{path} -k '{word}'"
