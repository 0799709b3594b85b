"""The guide says what is there: every option, label, field and kind, and nothing that is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics.views import LISTS
from observed import Observe


@pytest.fixture
def guide(root: Path) -> Path:
    return root / "docs" / "guide"


PAGES = [("run", "run"), ("files", "files"), ("show", "show"), ("recover", "recover")]


@pytest.mark.parametrize(("command", "page"), PAGES)
def test_every_option_has_its_place(run_iolens: Any, guide: Path, command: str, page: str) -> None:
    options = set(re.findall(r"--[a-z-]+[a-z]", run_iolens([command, "--help"]).stdout)) - {"--help"}
    text = (guide / f"{page}.md").read_text()
    written = set(re.findall(r"`(--[a-z-]+[a-z])[` ]", text))
    assert options - set(re.findall(r"--[a-z-]+[a-z]", text)) == set()
    assert written - options - {"--help", "--ext"} == set()


def test_every_line_of_the_summary_is_explained(root: Path, guide: Path) -> None:
    source = "".join((root / "cli" / "summary" / name).read_text() for name in ("summary.c", "moved.c"))
    labels = set(re.findall(r'label\(out, "([^"]+)"\)', source)) | set(
        re.findall(r'\.label = "([^"]+)"', source)
    )
    labels |= {"system files", "not files", *LISTS["recorded_interfaces"]}
    rows = re.findall(r"^\| (`.+?`) \|", (guide / "first-look.md").read_text(), re.M)
    assert labels - set(re.findall(r"`([^`]+)`", " ".join(rows))) == set()


def test_every_field_of_the_json_is_explained(observe: Observe, guide: Path, tmp_path: Path) -> None:
    observe(["true"], options=("-q", "--json", str(tmp_path / "a.json")))
    fields = set(json.loads((tmp_path / "a.json").read_text()))
    text = (guide / "run.md").read_text().partition("## JSON")[2]
    assert set(re.findall(r"`(\w+)`", text)) - {*LISTS["recorded_interfaces"]} >= fields


def test_every_kind_is_explained(root: Path, guide: Path) -> None:
    classes = (
        (root / "format" / "store" / "process_state.h")
        .read_text()
        .partition("STATE_CLASSES(X)")[2]
        .partition("\n\n")[0]
    )
    kinds = set(re.findall(r'X\(\w+, "(\w+)"', classes))
    rows = re.findall(r"^\| (`.+?`) \|", (guide / "seen-and-unseen.md").read_text(), re.M)
    ways = {
        "libaio",
        "io_uring",
        "mapped",
        "unobserved",
    }  # what moves bytes without a descriptor's read or write
    named = {
        name for name in re.findall(r"`(\w+)`", " ".join(rows)) if not name.startswith("__")
    }  # libc's own
    assert kinds == named - {"syscall", *ways}


def test_links_lead_somewhere(root: Path, guide: Path) -> None:
    wrong = [
        f"{page.name}: {target}"
        for page in guide.glob("*.md")
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert wrong == []
