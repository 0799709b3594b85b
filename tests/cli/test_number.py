"""A number and its noun: "1 file", "2 files", in C, in Python and on pages, by one function each that say the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from iolens.report.units import counted
from iolens.rules import load
from iolens.rules.text import agree, within, write
from iolens.rules.text import counted as in_sentences

ROOT = Path(__file__).parents[2]
NUMBERS = [0, 1, 2, 999, 1000, 1234567]
NOUNS = [
    "file",
    "process",
    "access",
    "library",
    "directory",
    "day",
    "stretch",
    "box",
    "push",
    "open",
    "timed one",
]

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "units.h"
int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2)
		puts(COUNTED(atoll(argv[i]), argv[i + 1]));
	return 0;
}
"""


def expected() -> list[str]:
    return [counted(n, noun) for n in NUMBERS for noun in NOUNS]


def test_number_and_noun_agree() -> None:
    assert counted(1, "process") == "1 process" and counted(0, "process") == "0 processes"
    assert counted(1234, "library") == "1,234 libraries" and counted(2, "day") == "2 days"
    assert counted(2, "access") == "2 accesses" and counted(2, "stretch") == "2 stretches"
    assert [in_sentences(n, noun) for n in NUMBERS for noun in NOUNS] == expected()
    assert (agree(1, "is", "are"), agree(0, "is", "are"), agree(2, "is", "are")) == ("is", "are", "are")


def say(program: str, asked: list[str], place: Path) -> list[str]:
    """What it prints, made with the functions of the commands in C."""
    (place / "say.c").write_text(program)
    text = ROOT / "cli" / "text"
    subprocess.run(
        ["cc", "-o", place / "say", f"-I{text}", place / "say.c", text / "units.c", "-lm"], check=True
    )
    done = subprocess.run([place / "say", *asked], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_c_says_the_same(tmp_path: Path) -> None:
    asked = [word for n in NUMBERS for noun in NOUNS for word in (str(n), noun)]
    assert say(PROGRAM, asked, tmp_path) == expected()


SHARES = [
    0,
    1e-9,
    0.0005,
    0.00099,
    0.001,
    0.0101,
    0.0949,
    0.0994,
    0.0996,
    0.105,
    0.355,
    0.3549,
    0.995,
    1,
    1.841,
]


def test_c_rounds_percentages_as_findings_do(tmp_path: Path) -> None:
    program = PROGRAM.replace("i + 1 < argc; i += 2", "i < argc; i++")
    program = program.replace(
        "COUNTED(atoll(argv[i]), argv[i + 1])", "units_percent((char[32]){0}, atof(argv[i]))"
    )
    said = say(program, [str(share) for share in SHARES], tmp_path)
    assert said == [write(share, "percent") for share in SHARES]
    assert said[2] == "less than 0.1 %" and said[6:9] == ["9.5 %", "9.9 %", "10 %"] and said[11] == "35 %"


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_pages_say_the_same() -> None:
    units = (ROOT / "python" / "iolens" / "report" / "page" / "units.js").read_text()
    call = f"for (const n of {NUMBERS}) for (const noun of {NOUNS}) console.log(counted(n, noun));"
    said = subprocess.run(["node", "-e", units + call], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == expected()


def test_titles_keep_the_case_of_names() -> None:
    """Of each rule, as a report has it: "First cause: HDF5's own metadata takes much time"."""
    shown = {rule.title: within(rule.title) for rule in load().rules.values()}
    assert shown["HDF5's own metadata takes much time"].startswith("HDF5's")
    assert shown["All MPI-IO reads block"] == "all MPI-IO reads block"
    wrong = {
        title: text
        for title, text in shown.items()
        if text[:1].islower() and re.match(r"(\w*[A-Z0-9]\w*[A-Z0-9]|Python\b|Lustre\b|Darshan\b)", title)
    }
    assert not wrong


# What is counted in texts; "of 3 logs" and the like, whose number is another one's, too.
WORDS = (
    "accesses|applications|archives|bytes stored|calls|columns|counters|directories|faults|files|findings|hosts|jobs|"
    "libraries|lines|logs|messages|modules|names|nodes|opens|places|problems|processes|programs|ranks|reads|records|"
    "rows|runs|stores|stretches|tables|threads|times|users|uses|writes"
)
BY_C = re.compile(rf'%(?:s|d|i|u|zu|zd|ld|lld|llu|\.0f|" ?PRI\w+ ?") (?:{WORDS})\b')
BY_PYTHON = re.compile(rf"\{{[^{{}}]+\}} (?:{WORDS})\b")
BY_TEMPLATE = re.compile(rf"\}}\}}(?:</\w+>)? (?:{WORDS})\b")

# Texts with a number that is two or more, a part of a whole that is named before it, or a unit of bytes.
KNOWN = {
    "%s runs": "a command's name",
    "%s counters": "a module's name, in Darshan's words",
    "%s reads": "a thousand or more",
    "%lld ranks": "two or more",
    "{agree(waiting, 'names', 'name')} users": "a verb",
    "{len(ends)} runs": "two or more",
    "{GRID[0]} times": "a constant",
    "{_TOP} applications": "a constant",
    "{MOST} runs": "a constant",
    "{module.stored:,} bytes stored": "a section of a log has more",
    "{len(self.paths)} logs": "two or more, or for programmers",
    "{len(self.schema)} columns": "for programmers",
    "{len(self)} records": "for programmers, in PyDarshan's words",
    "{access} files": "a kind of access",
    "{len(costly)} findings": "two or more",
    "}} times": "a factor",
}


def texts() -> Iterator[tuple[str, str]]:
    """Where, and a text in which a number meets the plural of a noun."""
    package = ROOT / "python" / "iolens"
    for where, ending, pattern in (
        (ROOT / "cli", "*.c", BY_C),
        (package, "*.py", BY_PYTHON),
        (package, "*.html", BY_TEMPLATE),
    ):
        for path in sorted(where.rglob(ending)):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for found in pattern.finditer(line):
                    yield f"{path.relative_to(ROOT)}:{number}: {line.strip()[:110]}", found[0]


def test_no_text_has_a_plural_of_its_own() -> None:
    wrong = [where for where, found in texts() if found not in KNOWN]
    assert not wrong, "\n".join(["use COUNTED of units.h, counted() of rules/text.py:", *wrong])
