"""Every public name is on the reference page, with its attributes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import iolens
import iolens.log
import iolens.pydarshan
import pytest

MODULES = [iolens, iolens.log, iolens.pydarshan]


@pytest.fixture(scope="module")
def sections(root: Path) -> dict[str, str]:
    page = (root / "docs" / "reference" / "python.md").read_text()
    parts = re.split(r"^## `([\w.]+)`$", page, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_public_names_are_there(sections: dict[str, str], module: object) -> None:
    text = sections[module.__name__]  # type: ignore[attr-defined]
    first = "\n".join(re.findall(r"^\| (`.*?) \|", text, re.M))
    there = set(re.findall(r"`(\w+)", first))
    assert there - {"__version__"} == set(module.__all__)  # type: ignore[attr-defined]


def test_attributes_of_the_log_library_are_there(sections: dict[str, str]) -> None:
    lines = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", sections["iolens.log"], re.M))
    missing = []
    for name in iolens.log.__all__:
        kind = getattr(iolens.log, name)
        if not inspect.isclass(kind):
            continue
        public = {a for a in vars(kind) if not a.startswith("_")}
        if dataclasses.is_dataclass(kind):
            public |= {f.name for f in dataclasses.fields(kind)}
        missing += [f"{name}.{a}" for a in sorted(public) if not re.search(rf"\b{a}\b", lines[name])]
    assert missing == []
