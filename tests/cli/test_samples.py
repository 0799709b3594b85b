"""The sample outputs of README and first-look.md are what iolens prints today, but for their numbers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

PAGES = ["README.md", "docs/guide/first-look.md"]
FEW = 150  # readings, each a transaction: enough for every finding, of less time


@pytest.fixture(scope="module")
def samples(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("samplepages", root / "tools" / "samplepages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def said(samples: ModuleType, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    text = samples.program().replace("range(2000)", f"range({FEW})")
    assert f"range({FEW})" in text
    found: dict[str, list[str]] = samples.outputs(
        tmp_path_factory.mktemp("samples"), root / ".venv" / "bin" / "iolens", text
    )
    return found


# Lines that a run may have or not, as the page cache and other programs will have it.
OPTIONAL = {
    "start-up",
    "paged in",
    "times",
    "small",
    "system files",
    "clock",
    "sockets",
    "stdio",
}


def kept(lines: list[str]) -> list[str]:
    """What does not vary from run to run: names of lines and rules, and the order of both."""
    found = []
    for line in lines:
        name = re.match(r"  ([a-z/]+(?: [a-z]+)*(?: I/O)?)  ", line)
        rule = re.match(r"(?:high|medium) .* (\[\w+\])$", line)
        told = re.match(r"iolens: .*|\w+ is faster than \w+: run time", line)
        found += [name[1]] if name else [rule[1]] if rule else [told[0]] if told else []
    return [name for name in found if name not in OPTIONAL]


@pytest.mark.parametrize("name", PAGES)
def test_samples_are_what_is_printed(
    samples: ModuleType, said: dict[str, list[str]], root: Path, name: str
) -> None:
    seen = []
    for counts, block in samples.blocks((root / name).read_text(encoding="utf-8")):
        parts = re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
        for count, command, text in zip(counts, parts[::2], parts[1::2]):
            shown, printed = kept(text.splitlines()), kept(said[command])
            assert shown and shown == printed[: len(shown)], f"make samples: {name}, {command}"
            assert count or shown == printed
            seen.append(command)
    assert {samples.BEFORE, "iolens findings before.darshan", samples.COMMANDS[-1]} <= set(seen)


def test_the_first_finding_is_the_one_that_iolens_gives(root: Path, said: dict[str, list[str]]) -> None:
    first = next(line for line in said["iolens findings before.darshan"] if line.endswith("]"))
    assert first.endswith("[database_commits]")
    assert "[database_commits]" in (root / "README.md").read_text(encoding="utf-8")


def test_lines_that_are_left_out_are_said(samples: ModuleType) -> None:
    printed = {"iolens a": ["", "  one", "  two"], "iolens b": ["x" * 60 + " " + "y" * 90]}
    block = "$ iolens a\nold\n$ iolens b\nold\n"
    assert list(samples.sample(block, [2, 0], printed)) == [
        *("$ iolens a", "", "  one", "  ..."),
        *("$ iolens b", "x" * 60 + " ..."),
    ]
    page = f"before\n<!-- ran: 2 0 -->\n```\n{block}```\nafter\n"
    filled = samples.filled(page, printed)
    assert (
        filled.startswith("before\n<!-- ran: 2 0 -->\n```\n$ iolens a\n\n  one\n  ...\n")
        and "old" not in filled
    )
    assert filled.endswith("```\nafter\n") and samples.filled(filled, printed) == filled
