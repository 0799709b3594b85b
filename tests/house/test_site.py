"""Reference pages and man pages are complete and up to date; the site builds without a dead link."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from iolens.log.modules import KNOWN
from iolens.metrics import metrics
from iolens.rules import load


def generated(root: Path, tool: str, *targets: Path) -> None:
    subprocess.run([sys.executable, root / "tools" / f"{tool}.py", *targets], check=True, capture_output=True)


def listed(run: str) -> set[str]:
    return set(re.findall(r"^  ([a-z]+)  +\S", run, re.M))


@pytest.mark.parametrize("page", ["settings", "modules"])
def test_generated_pages_are_of_today(root: Path, page: str, tmp_path: Path) -> None:
    generated(root, f"{page[:-1]}page", tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (root / "docs" / "reference" / f"{page}.md").read_text(), (
        "make docs"
    )


def tool(root: Path, name: str) -> ModuleType:
    spec = spec_from_file_location(f"iolens_{name}", root / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def manuals(build_dir: Path) -> dict[str, str]:
    """The man pages that the build made."""
    return {path.name: path.read_text() for path in (build_dir / "cli" / "man1").iterdir()}


def test_the_reference_page_is_up_to_date(root: Path, tmp_path: Path) -> None:
    generated(root, "commandpage", tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (root / "docs" / "reference" / "commands.md").read_text(), (
        "make docs"
    )


def test_man_pages_say_what_the_installed_commands_print(root: Path, manuals: dict[str, str]) -> None:
    """The build makes them before anything that commands need is installed."""
    page = tool(root, "commandpage")
    assert dict(page.man_pages(page.installed)) == manuals


def test_every_command_has_its_place(root: Path, iolens: Path, manuals: dict[str, str]) -> None:
    overview = subprocess.run([iolens, "--help"], check=True, capture_output=True, text=True).stdout
    commands = listed(overview)
    text = (root / "docs" / "reference" / "commands.md").read_text()
    assert len(commands) > 15
    assert {f"### iolens {name}" for name in commands} <= set(text.splitlines())
    inner = {name.replace(" ", "-") for name in re.findall(r"^#### iolens ([a-z]+ [a-z]+)$", text, re.M)}
    assert {f"iolens-{name}.1" for name in commands | inner} | {"iolens.1"} == set(manuals)


def test_every_setting_has_its_place(root: Path) -> None:
    text = (root / "docs" / "reference" / "settings.md").read_text()
    table = (
        (root / "runtime" / "base" / "config.c")
        .read_text()
        .partition("settings[] = {")[2]
        .partition("\n};")[0]
    )
    names = set(re.findall(r'^\t\{"([A-Z_]+)"', table, re.M))
    # Those that iolens run sets itself are nobody else's.
    own = set(re.findall(r'\{"([A-Z_]+)"[^}]*set by iolens run', table))
    assert len(names - own) > 25
    assert {n for n in names - own if f"`IOLENS_{n}` | `DARSHAN_{n}`" not in text} == set()
    read: set[str] = set()
    for source in (
        *root.glob("cli/**/*.c"),
        *root.glob("python/iolens/**/*.py"),
        *root.glob("python/ext/**/*.c"),
    ):
        text_of = source.read_text()
        read |= set(re.findall(r'(?:getenv\(|environ[^"\n]*|envvar=)"IOLENS_(\w+)"', text_of))
        own |= set(re.findall(r'environ\["IOLENS_(\w+)"\] = ', text_of))
    assert {n for n in read - own if f"`IOLENS_{n}`" not in text} == set()


def test_every_module_metric_and_rule_has_its_place(root: Path) -> None:
    reference = root / "docs" / "reference"
    modules, terms, rules = (
        (reference / f"{name}.md").read_text() for name in ("modules", "metrics", "rules")
    )
    assert [m.key for m in KNOWN if m.key and m.key != "null" and f"| `{m.key}` |" not in modules] == []
    assert [name for name in metrics() if f"### {name}\n" not in terms] == []
    assert [name for name in load().rules if f"### {name}\n" not in rules] == []


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_man_pages_have_no_mistakes(build_dir: Path) -> None:
    for page in sorted((build_dir / "cli" / "man1").glob("*.1")):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", str(page)], check=True, capture_output=True, text=True
        )
        assert done.stderr == "", page.name
        text = re.sub(".\b", "", done.stdout)  # bold, as terminals of paper had it
        assert "NAME" in text and "SYNOPSIS" in text


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_man_finds_the_pages_of_the_build_and_of_the_environment(build_dir: Path) -> None:
    for folder in (build_dir / "cli", Path(sys.prefix) / "man"):
        done = subprocess.run(
            ["man", "-M", folder, "-w", "iolens-run"], check=True, capture_output=True, text=True
        )
        assert done.stdout == f"{folder}/man1/iolens-run.1\n"


def test_options_of_a_man_page_are_those_of_the_command(manuals: dict[str, str]) -> None:
    text = manuals["iolens-run.1"]
    assert ".B \\-o, \\-\\-output LOG\nwrite the log to LOG, which must not exist\n" in text
    assert text.count(".TP") >= 7


def test_the_site_builds_and_every_finding_has_its_page(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, root / "tools" / "site.py", tmp_path / "site", tmp_path / "pages"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for rule in load().rules.values():
        page = (tmp_path / "site" / "docs" / "howto" / rule.id / "index.html").read_text()
        assert rule.id in page
    home = (tmp_path / "site" / "index.html").read_text()
    assert not re.search(r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', home), "fetched from elsewhere"


def test_a_dead_link_ends_the_build(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pages = tmp_path / "pages"
    tool(root, "site").stage(pages / "pages")
    (pages / "pages" / "docs" / "glossary.md").write_text("# Glossary\n\n[gone](nowhere.md)\n")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f"]
    (pages / "mkdocs.yml").write_text(
        f"INHERIT: {root / 'mkdocs.yml'}\ndocs_dir: pages\nsite_dir: {tmp_path / 'site'}\n"
    )
    done = subprocess.run([*command, pages / "mkdocs.yml"], check=False, capture_output=True, text=True)
    assert done.returncode != 0 and "nowhere.md" in done.stderr
