"""A file's name is of words that the pages use, or the glossary says what it holds."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = "api bench cli deploy format kernel modules python ranges runtime tools".split()
SUFFIXES = {".c", ".h", ".py", ".js", ".css", ".html", ".sql", ".toml"}

# Plain words that say nothing as the name of a file: each stands in the glossary, with what the file holds.
RIDDLES = frozenset(
    "beside confined ending heavy instead life look meet moved outside own self told used wake watcher witness".split()
)


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [Path(line) for line in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in SUFFIXES and "programs" not in path.parts]


def words(text: str) -> Iterator[str]:
    yield from re.findall(r"[a-z]+", text.lower())


@cache
def prose() -> frozenset[str]:
    """Words of the pages, without code and addresses: what readers of them know."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("modules/*/*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    text = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    return frozenset(words(text))


@cache
def glossary() -> frozenset[str]:
    """Words of the first column of its tables."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return frozenset(word for row in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE) for word in words(row))


def is_used(word: str) -> bool:
    """In any of its forms: anonymous by anonymize, directories by directory, unmatched by match."""
    short = {word, re.sub(r"^un(?=.{5})", "", word), re.sub(r"(?<=.{4})ing$|s$", "", word)}
    forms = short | {one + end for one in short for end in ("s", "d", "ed")}
    stems = tuple(one[: max(5, len(one) - 5)] for one in short if len(one) > 5)
    return bool(forms & prose()) or any(known.startswith(stems) for known in prose())


def is_plain(word: str) -> bool:
    """One word of the pages, or two written as one: logname."""
    parts = [(word[:at], word[at:]) for at in range(3, len(word) - 2)]
    return is_used(word) or any(first in prose() and rest in prose() for first, rest in parts)


def unclear(names: list[Path]) -> dict[str, str]:
    """Word -> the first file with it."""
    found: dict[str, str] = {}
    for path in names:
        for word in words(path.name.split(".")[0]):
            if word not in glossary() and (word in RIDDLES or not is_plain(word)):
                found.setdefault(word, str(path))
    return found


def test_names_of_files_are_plain_words_or_in_the_glossary() -> None:
    found = unclear(files())
    assert not found, "rename, or a row in docs/glossary.md:\n" + "\n".join(
        f"{word}: {path}" for word, path in sorted(found.items())
    )


def test_what_is_neither_is_found() -> None:
    names = [
        "format/base/squozen.c",
        "cli/summary/told_later.c",
        "format/base/hashes.h",
        "runtime/base/logname.c",
    ]
    assert set(unclear([Path(name) for name in names])) <= {"squozen", "told"}
    assert "squozen" in unclear([Path(names[0])])


def test_file_names_of_the_glossary_exist() -> None:
    """Rows of its last table: each is a name of a file, or words in it."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("\n## File names\n")[2]
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)[1:]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    there = {path.name.split(".")[0] for path in files()}
    missing = [
        name
        for name in named
        if not any(name == file or name in file.split("_") or name in file for file in there)
    ]
    assert named and not missing
