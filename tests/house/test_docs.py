"""What is written down stays reachable: links resolve, decisions are listed, make help names every target."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def pages(root: Path) -> Iterator[Path]:
    yield from sorted(root.glob("*.md"))
    for room in ("docs", "modules", "bench", "tests", "demo"):
        yield from sorted((root / room).rglob("*.md"))


def test_links_lead_somewhere(root: Path) -> None:
    dead = []
    for page in pages(root):
        for target in LINK.findall(page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(root)}: {target}")
    assert not dead, "\n" + "\n".join(dead)


def test_every_decision_is_in_the_index(root: Path) -> None:
    folder = root / "docs" / "decisions"
    numbered = sorted(page.name for page in folder.glob("[0-9]*.md"))
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == numbered
    assert [name[:4] for name in numbered] == [f"{n:04}" for n in range(1, len(numbered) + 1)]


def test_make_help_names_every_target(root: Path) -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(
        ["make", "-s", "help"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert [line.split()[0] for line in shown.splitlines()] == targets
