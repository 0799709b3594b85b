#!/usr/bin/env python3
"""Refill the paragraphs and list items of Markdown pages that have a line of 120 columns or more.

`wrap.py` mends the pages written by hand, `wrap.py PAGE...` those named. Tables, code, headings and generated pages
stay as they are, and so do paragraphs that are narrow already.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 119
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([*+-]|\d+\.)(\s+)")
# A line that starts with one of these is not the next line of a paragraph; nor may a refilled line start with one.
ALONE = re.compile(r"\s*(\||#|>|!\[|<|\[[^\]]+\]:)")
# A span of code and the address of a link are not broken.
WORD = re.compile(r"(?:`[^`]*`|\]\([^)]*\)|[^\s`])+|`")


def generated(text: str) -> bool:
    """Whether a page says in its first lines that a program makes it."""
    return re.search(r"^(Generated|Made) by `", "\n".join(text.splitlines()[:5]), re.MULTILINE) is not None


def pages(root: Path) -> Iterator[Path]:
    """The pages written by hand, whose lines are to be narrow."""
    for page in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]:
        if not generated(page.read_text()):
            yield page


def prose(text: str) -> Iterator[tuple[int, int]]:
    """The blocks of prose of a page: from which line to which."""
    lines = [*text.splitlines(), ""]
    start, code = None, False
    for number, line in enumerate(lines):
        fence = FENCE.match(line) is not None
        ends = code or fence or not line.strip() or ALONE.match(line) is not None
        if start is not None and (ends or ITEM.match(line)):
            yield start, number
            start = None
        if start is None and not ends:
            start = number
        code ^= fence


def words(text: str) -> list[str]:
    """What may begin a line; a word that looks like a list's or a table's sign stays with the one before it."""
    found: list[str] = []
    for word in WORD.findall(text):
        if found and (ITEM.match(word + " ") or ALONE.match(word)):
            found[-1] += " " + word
        else:
            found.append(word)
    return found


def wide(lines: list[str]) -> bool:
    """Whether one of the lines is wider than it may be and could be broken."""
    return any(len(line) > WIDTH and len(words(line)) > 1 for line in lines)


def refill(lines: list[str]) -> list[str]:
    """The words of one block on lines as full as they may be, under the item's sign."""
    item = ITEM.match(lines[0])
    first = item[0] if item else re.match(r"\s*", lines[0])[0]  # type: ignore[index]
    rest = " " * len(first)
    filled = [first]
    for word in words(" ".join([lines[0][len(first) :], *lines[1:]])):
        if filled[-1] in (first, rest):
            filled[-1] += word
        elif len(filled[-1]) + 1 + len(word) <= WIDTH:
            filled[-1] += " " + word
        else:
            filled.append(rest + word)
    return filled


def wrapped(text: str) -> str:
    """A page with its wide blocks refilled."""
    lines = text.splitlines()
    for start, end in reversed(list(prose(text))):
        if wide(lines[start:end]):
            lines[start:end] = refill(lines[start:end])
    return "\n".join(lines) + "\n"


def main() -> None:
    """Wrap the pages named, or all that are written by hand."""
    root = Path(__file__).resolve().parent.parent
    for page in map(Path, sys.argv[1:]) if len(sys.argv) > 1 else pages(root):
        text = page.read_text()
        if wrapped(text) != text:
            page.write_text(wrapped(text))


if __name__ == "__main__":
    main()
