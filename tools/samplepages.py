"""Sample outputs in README and the guide, made by running what they show.

A page has `<!-- ran: N... -->` before a block with commands ("$ iolens ..."): of the output of each command the first N
lines stand there, and "..." for more. 0: all of them. The program is the one that first-look.md prints.
samplepages.py PAGE...
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST_LOOK = ROOT / "docs" / "guide" / "first-look.md"
BLOCK = re.compile(r"<!-- ran:((?: \d+)+) -->\n```\n(.*?)```\n", re.S)
WIDTH = 114
PLACE = Path("/tmp/first")

# Debian's Python, whatever else is installed.
ENVIRONMENT = {**os.environ, "PATH": f"/usr/bin:/bin:{os.environ.get('PATH', '')}"}

ARCHIVE = "iolens run -o first.darshan -- tar czf docs.tar.gz docs format"
BEFORE = "iolens run -o before.darshan -- python3 ingest.py"
AFTER = "iolens run -o after.darshan -- python3 ingest.py"
COMMANDS = [
    ARCHIVE,
    BEFORE,
    "iolens findings before.darshan",
    AFTER,
    "iolens compare before.darshan after.darshan",
]


def program() -> str:
    """ingest.py, as the guide prints it."""
    found = re.search(
        r"```\n(import random, sqlite3\n.*?)```\n", FIRST_LOOK.read_text(encoding="utf-8"), re.S
    )
    assert found
    return found[1]


def in_one_transaction(text: str) -> str:
    """As the guide says: begin before the loop, commit after it."""
    loop = text.index("for ")
    return f'{text[:loop]}db.execute("begin")\n{text[loop:]}db.execute("commit")\n'


def outputs(place: Path, iolens: Path, text: str) -> dict[str, list[str]]:
    """What each command prints; without messages, which may be about runs that were killed here. text: the program."""
    for name in ("docs", "format"):
        shutil.copytree(ROOT / name, place / name)
    said = {}
    for command in COMMANDS:
        if command in (BEFORE, AFTER):
            (place / "ingest.py").write_text(text if command == BEFORE else in_one_transaction(text))
            (place / "readings.db").unlink(missing_ok=True)
        words = [str(iolens) if word == "iolens" else word for word in command.split()]
        done = subprocess.run(
            words,
            cwd=place,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), (command, done.stdout)
        said[command] = [line for line in done.stdout.splitlines() if not line.startswith("iolens: run: ")]
    return said


def cut(line: str) -> str:
    """Lines of pages are not as long as a terminal's may be."""
    return line if len(line) <= WIDTH else line[: line.rindex(" ", 0, WIDTH - 4)].rstrip(",;:") + " ..."


def sample(block: str, counts: list[int], said: dict[str, list[str]]) -> Iterator[str]:
    """The block's lines: each command, and of its output as many lines as are asked for."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    for command, count in zip(commands, counts):
        lines = [cut(line) for line in said[command]]
        shown = lines[: count or len(lines)]
        yield f"$ {command}"
        yield from shown
        if len(shown) < len(lines):
            yield "  ..." if lines[len(shown)].startswith("  ") else "..."


def blocks(page: str) -> Iterator[tuple[list[int], str]]:
    for found in BLOCK.finditer(page):
        yield [int(count) for count in found[1].split()], found[2]


def filled(page: str, said: dict[str, list[str]]) -> str:
    def made(found: re.Match[str]) -> str:
        counts = [int(count) for count in found[1].split()]
        return f"<!-- ran:{found[1]} -->\n```\n" + "\n".join(sample(found[2], counts, said)) + "\n```\n"

    return BLOCK.sub(made, page)


def main() -> None:
    PLACE.mkdir()  # names of files stand in what is printed
    try:
        said = outputs(PLACE, ROOT / ".venv" / "bin" / "iolens", program())
    finally:
        shutil.rmtree(PLACE)
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(filled(page.read_text(encoding="utf-8"), said), encoding="utf-8")


if __name__ == "__main__":
    main()
