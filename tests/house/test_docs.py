"""What is written down stays reachable: links resolve, decisions are listed, make help names every target."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rooms

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


def test_every_case_of_security_has_its_test(root: Path) -> None:
    page = (root / "docs" / "guide" / "security.md").read_text()
    _, cases, _ = re.split(r"^## (?:Cases|What does not hold)$", page, flags=re.MULTILINE)
    rows = [row for row in cases.splitlines() if row.startswith("|")][2:]
    file, missing = "", []
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", row)
        missing += [] if named else [row]
        for path, test in named:
            file = path or file
            if f"\ndef {test}(" not in (root / file).read_text():
                missing.append(f"{file}::{test}")
    assert len(rows) > 15 and missing == []


def decisions(root: Path) -> list[Path]:
    return sorted((root / "docs" / "decisions").glob("[0-9]*.md"))


def test_every_decision_is_in_the_index_once(root: Path) -> None:
    numbered = [page.name for page in decisions(root)]
    rows = re.findall(
        r"^\| \[(\d{4})\]\((\d{4}-[\w-]+\.md)\) \| (.+?) \|",
        (root / "docs" / "decisions" / "README.md").read_text(),
        re.MULTILINE,
    )
    assert sorted(name for _, name, _ in rows) == numbered
    assert [name[:4] for name in numbered] == [f"{n:04}" for n in range(1, len(numbered) + 1)]
    titles = {page.name: page.read_text().split("\n", 1)[0] for page in decisions(root)}
    assert {name: f"# {number}: {subject}" for number, name, subject in rows} == titles


def test_every_decision_has_a_status(root: Path) -> None:
    """The line below the title; links in it lead to later decisions."""
    other = r"\[\d{4}\]\(\d{4}-[\w-]+\.md\)"
    status = re.compile(
        rf"Status: (accepted( on \d{{4}}-\d\d-\d\d)?(; amended by {other}(, {other})*)?|superseded by {other})"
    )
    wrong = []
    for page in decisions(root):
        line = page.read_text().split("\n")[2]
        later = re.findall(r"\[(\d{4})\]", line)
        if not status.fullmatch(line) or any(number <= page.name[:4] for number in later):
            wrong.append(f"{page.name}: {line}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_make_help_names_every_target(root: Path) -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(
        ["make", "-s", "help"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert [line.split()[0] for line in shown.splitlines()] == targets


# People in place of processes, and words that hide the actor: shared/STYLE names better ones.
VAGUE = re.compile(
    r"\b(whoever|whomever|nobody|somebody|anybody|(?:is|are|was|be) told|tells? of|of (?:today|tomorrow)(?!')|beside)\b"
    r"(?!-others)",
    re.IGNORECASE,
)
VAGUE_ALLOWED = {"CHANGELOG.md"}


def test_pages_and_messages_name_the_actor(root: Path) -> None:
    """Docs (with the reference, made from help, queries and metrics), the portal's pages, texts of the C programs."""
    found = [
        f"{page.relative_to(root)}:{number}: {word}"
        for page in (*pages(root), *sorted((root / "python" / "iolens").rglob("*.html")))
        if str(page.relative_to(root)) not in VAGUE_ALLOWED
        for number, line in enumerate(page.read_text().splitlines(), 1)
        for word in VAGUE.findall(line)
    ]
    for room in ("cli", "runtime", "modules", "format", "api", "kernel"):
        for source in sorted((root / room).rglob("*.c")):
            texts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', source.read_text())
            found += [f"{source.relative_to(root)}: {word}" for text in texts for word in VAGUE.findall(text)]
    assert not found, "\n" + "\n".join(found)


# In comments and texts of the sources, too.
PEOPLE = re.compile(r"\b([Ww]hom?ever|[Nn]obody|[Ss]omebody|[Aa]nybody)\b")


def test_sources_name_the_actor(root: Path) -> None:
    """A process, a thread, a file or a user, by its name."""
    product = [room for room in rooms.ROOMS if room != "tests"]
    wrong = [
        f"{source.relative_to(root)}:{number}: {line.strip()}"
        for source in rooms.sources(root, ".c", ".h", ".py", ".sql", ".toml", ".js", ".sh", rooms=product)
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1)
        if PEOPLE.search(line)
    ]
    assert not wrong, rooms.show(wrong)


def test_the_wrapper_of_contributing_is_one_of_ours(root: Path) -> None:
    sample = re.search(r"^```c\n(WRAP\(.*?)```$", (root / "CONTRIBUTING.md").read_text(), re.M | re.S)
    assert sample and sample[1] in (root / "modules" / "posix" / "wrap.c").read_text()


READER = """#include <fcntl.h>
#include <unistd.h>
int main(int n, char **words) { return read(open(words[0], O_RDONLY), &n, 1) != 1; }
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_the_debugger_stops_where_contributing_says(
    root: Path, compile_program: Callable[[str], Path], preload: Path, tmp_path: Path
) -> None:
    block = re.search(
        r"^export IOLENS.*?^gdb -ex .*?(?=^```$)", (root / "CONTRIBUTING.md").read_text(), re.M | re.S
    )
    assert block
    command = block[0].replace("LOGPATH=/tmp", f"LOGPATH={tmp_path}").replace("gdb ", "gdb -batch ")
    command = command.replace(" run ", " run -ex backtrace ").replace(
        "./program", str(compile_program(READER))
    )
    done = subprocess.run(
        command, shell=True, cwd=root, capture_output=True, text=True, check=True, timeout=300
    )
    assert re.search(r"^#0 +read \(fd=3, .*modules/posix/wrap\.c", done.stdout, re.MULTILINE), done.stdout
