#!/usr/bin/env python3
"""Build the documentation site: stage every page where it stands, add one page per rule, and hand them to MkDocs.

usage: site.py SITE_FOLDER [SCRATCH_FOLDER]

The pages are the repository's own; a link to a file that is no page takes the file along, one to a folder leads to its
README. MkDocs is strict: a link or an anchor that leads nowhere, or a page without a place, ends the build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iolens.rules import Rule, load
from iolens.rules.rule import TOPICS

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)#\s]+)(#[^)\s]*)?\)")

ROOMS = ("docs", "modules", "bench", "tests", "demo")
"""Folders whose pages are part of the site."""


def pages() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    for room in ROOMS:
        yield from sorted(p for p in (ROOT / room).rglob("*.md") if "template" not in p.parts)


# ---- staging ----


def _staged(page: Path, scratch: Path) -> str:
    """The page's text; what it links to goes along, and what is no file is no link."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        place = (page.parent / target).resolve()
        if place.is_dir() and (place / "README.md").exists():
            return f"{words}({target.rstrip('/')}/README.md{anchor})"
        if place.suffix == ".md" and "template" not in place.parts:
            return found[0]
        if not place.is_file() or place.suffix == ".md":
            return words[1:-1]
        copy = scratch / place.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(place, copy)
        return found[0]

    return LINK.sub(link, page.read_text(encoding="utf-8"))


def stage(scratch: Path) -> None:
    for page in pages():
        place = scratch / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_staged(page, scratch), encoding="utf-8")


# ---- a page per rule ----


def rule_page(rule: Rule) -> str:
    """What the finding means and how to act on it, in the rule's own words."""
    lines = [
        f"# {rule.title}",
        "",
        f"The finding `{rule.id}` of `iolens findings` and `iolens report`.",
        "",
        rule.why,
        "",
    ]
    if rule.advice:
        lines += ["## What to change", ""]
        for advice in rule.advice:
            lines += [f"* {advice.text}", ""]
            if advice.snippet:
                code = advice.snippet.strip().splitlines()
                lines += [f"    ```{advice.language or ''}", *(f"    {line}" for line in code), "    ```", ""]
    if rule.gain:
        lines += ["## What it can save", "", rule.gain.assumptions, ""]
    if rule.thresholds:
        lines += ["## When it is said", "", "| threshold | value | why |", "|---|---|---|"]
        for one in rule.thresholds.values():
            reason = one.reason.replace("|", "\\|")
            lines.append(f"| `{one.name}` | {f'{one.default:.12g} {one.unit}'.rstrip()} | {reason} |")
        lines += [
            "",
            f"`iolens findings --threshold {rule.id}.NAME=VALUE` sets one, `--skip {rule.id}` leaves it out.",
            "",
        ]
    lines += [f"`iolens explain {rule.id}` prints the condition in SQL.", ""]
    if rule.references:
        lines += ["## Read on", "", *(f"* {_link(reference)}" for reference in rule.references), ""]
    return "\n".join(lines)


def _link(reference: str) -> str:
    return f"<{reference}>" if reference.startswith("http") else reference


def stage_rules(scratch: Path) -> list[Any]:
    """The pages of rules, below docs/howto; their part of the contents."""
    folder = scratch / "docs" / "howto"
    folder.mkdir(parents=True, exist_ok=True)
    index = [
        "# What to do about each finding",
        "",
        "Made from the rules: each page is one finding's own text.",
        "",
    ]
    contents: list[Any] = ["docs/howto/index.md"]
    for topic, heading in TOPICS.items():
        rules = [rule for rule in load().rules.values() if rule.topic == topic]
        if not rules:
            continue
        index += [f"## {heading}", ""]
        for rule in rules:
            (folder / f"{rule.id}.md").write_text(rule_page(rule), encoding="utf-8")
            index.append(f"* [{rule.title}]({rule.id}.md)")
        index.append("")
        contents.append({heading: [{rule.title: f"docs/howto/{rule.id}.md"} for rule in rules]})
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")
    return contents


# ---- contents ----


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)
    return re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", found[1]) if found else page.stem


def _listed(scratch: Path, folder: str) -> list[Any]:
    """The pages of a folder: its README, then those that it names, below its headings, then the rest."""
    place = scratch / folder
    readme = place / "README.md"
    rest = {p.name for p in place.glob("*.md") if p.name != "README.md"}
    found: list[Any] = [f"{folder}/README.md"] if readme.exists() else []
    group = found
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for heading, name in re.findall(r"^## (.+)$|\]\(([\w.-]+\.md)\)", text, re.M):
        if heading:
            group = []
            found.append({heading: group})
        elif name in rest:
            rest.remove(name)
            group.append({_title(place / name): f"{folder}/{name}"})
    found = [part for part in found if not isinstance(part, dict) or [*part.values()] != [[]]]
    return found + [{_title(place / name): f"{folder}/{name}"} for name in sorted(rest)]


def contents(scratch: Path, rules: list[Any]) -> list[Any]:
    single = [p.relative_to(scratch).as_posix() for p in sorted((scratch / "docs").glob("*.md"))]
    others = [
        p.relative_to(scratch).as_posix()
        for room in ROOMS[1:]
        for p in sorted((scratch / room).rglob("*.md"))
    ]
    modules = [{Path(p).parent.name: p} for p in others if p.startswith("modules/")]
    rest = [{_title(scratch / p): p} for p in others if not p.startswith("modules/")]
    return [
        {"Start": ["README.md", {"Tutorials": _listed(scratch, "docs/tutorials")}]},
        {"Guide": _listed(scratch, "docs/guide")},
        {"Findings": rules},
        {
            "Concepts": [
                *({_title(scratch / p): p} for p in single),
                {"Measurements": _listed(scratch, "docs/performance")},
            ]
        },
        {"Reference": [*_listed(scratch, "docs/reference"), {"Modules one by one": modules}]},
        {"Decisions": _listed(scratch, "docs/decisions")},
        {"Develop": [{"Contributing": "CONTRIBUTING.md"}, {"Changelog": "CHANGELOG.md"}, *rest]},
    ]


def build(site: Path, scratch: Path) -> int:
    """Stages and builds; MkDocs' exit code."""
    shutil.rmtree(scratch, ignore_errors=True)
    pages_folder = scratch / "pages"
    stage(pages_folder)
    nav = contents(pages_folder, stage_rules(pages_folder))
    settings = {
        "INHERIT": os.path.relpath(ROOT / "mkdocs.yml", scratch),
        "docs_dir": "pages",
        "site_dir": str(site.resolve()),
        "nav": nav,
    }
    (scratch / "mkdocs.yml").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(scratch / "mkdocs.yml")]
    return subprocess.run(command, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    sys.exit(
        build(target, Path(sys.argv[2]) if len(sys.argv) == 3 else target.with_name(target.name + "-pages"))
    )
