#!/usr/bin/env python3
"""Write the reference page of all commands, and a man page of each, from what they print with --help.

usage: commandpage.py FILE.md MAN_FOLDER
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

IOLENS = Path(sys.executable).parent / "iolens"

EXIT_CODES = {
    "0": "ok",
    "1": "findings or differences, of commands that look for them",
    "2": "wrong usage",
    "3": "input that cannot be read, or output that cannot be written",
    "4": "what there was has been shown, and some is missing",
}

_HEAD = """\
# Commands

Made by `make docs` from what each command prints with `--help`: do not edit. The same are man pages: `man iolens-run`.
What they are good for, with examples: the [guide](../guide/README.md). Settings by environment variable and file:
[settings](settings.md)."""


def help_of(*command: str) -> str:
    """What ``iolens COMMAND... --help`` prints, on a terminal of 80 columns."""
    done = subprocess.run(
        [str(IOLENS), *command, "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    return done.stdout.rstrip() + "\n"


def commands(overview: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Headings of the overview with their commands and what these do in a line."""
    for part in re.split(r"\n(?=\S)", overview):
        found = re.findall(r"^  ([a-z]+)  +(.+)$", part, re.M)
        if found:
            yield part.partition(":\n")[0], found


def below(text: str) -> list[tuple[str, str]]:
    """Commands of a command, from its help, with what each does in a line."""
    return re.findall(r"^  ([a-z]+)  +(.+)$", text.partition("\nCommands:\n")[2], re.M)


def page() -> str:
    overview = help_of()
    lines = [_HEAD, "", "```text", overview.rstrip(), "```", ""]
    for heading, listed in commands(overview):
        lines += [f"## {heading}", ""]
        for name, _ in listed:
            text = help_of(name)
            lines += [f"### iolens {name}", "", "```text", text.rstrip(), "```", ""]
            for inner, _ in below(text):
                lines += [
                    f"#### iolens {name} {inner}",
                    "",
                    "```text",
                    help_of(name, inner).rstrip(),
                    "```",
                    "",
                ]
    return "\n".join(lines)


# ---- man pages ----


def _roff(text: str) -> str:
    """The text with nothing in it that troff would take for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def _body(lines: list[str]) -> Iterator[str]:
    """Paragraphs are filled, options are a list, what is indented otherwise stays as it is."""
    verbatim = listed = False
    for line in lines:
        option = re.fullmatch(r"  (?:    )?(-.*?)(?:   *(\S.*))?", line)
        goes_on = re.fullmatch(r" {10,}(\S.*)", line) if listed else None
        plain = not line.startswith(" ") or option is not None or goes_on is not None
        if verbatim and plain and line:
            yield ".fi"
            verbatim = False
        if option:
            yield from (".TP", ".B " + _roff(option[1].strip()), _roff(option[2] or ""))
            listed = True
        elif goes_on:
            yield _roff(goes_on[1])
        elif not line:
            if not verbatim:
                yield ".PP"
            listed = False
        elif not plain and not verbatim:
            yield from (".nf", _roff(line))
            verbatim, listed = True, False
        else:
            yield _roff(line)
    if verbatim:
        yield ".fi"


def man(name: str, does: str, text: str, others: list[str]) -> str:
    """A man page of section 1 from a command's help."""
    title = f"iolens-{name}" if name else "iolens"
    usage = next((n for n, line in enumerate(text.splitlines()) if line.lower().startswith("usage:")), 0)
    lines = text.splitlines()
    synopsis = lines[usage].partition(":")[2].strip()
    rest = [line for n, line in enumerate(lines) if n != usage]
    while rest and not rest[0]:
        rest.pop(0)
    body = [line for line in _body(rest) if line]
    page = [f'.TH {title.upper()} 1 "" iolens "User commands"', ".SH NAME", f"{title} \\- {_roff(does)}"]
    page += [".SH SYNOPSIS", ".B " + _roff(synopsis), ".SH DESCRIPTION"]
    for number, line in enumerate(body):
        # A .PP before a list, or at the end, is nothing.
        after = body[number + 1] if number + 1 < len(body) else ".TP"
        if not (line == ".PP" and after in (".TP", ".PP")):
            page.append(line)
    if not name:
        page.append(".SH EXIT STATUS")
        for code, meaning in EXIT_CODES.items():
            page += [".TP", f".B {code}", meaning]
    page += [".SH SEE ALSO", ", ".join(f"{other}(1)" for other in others)]
    return "\n".join(page) + "\n"


def write_man(folder: Path) -> None:
    overview = help_of()
    listed = [one for _, found in commands(overview) for one in found]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    names = [f"iolens-{name}" for name, _ in listed]
    does = overview.partition("\n")[0].removeprefix("iolens shows ").rstrip(".")
    (folder / "iolens.1").write_text(man("", f"shows {does}", overview.partition("\n\n")[2], names))
    for name, says in listed:
        text = help_of(name)
        inner = [one for one, _ in below(text)]
        others = ["iolens", *(f"iolens-{name}-{one}" for one in inner)]
        (folder / f"iolens-{name}.1").write_text(man(name, says, text, others))
        for one, does in below(text):
            own = man(f"{name}-{one}", does.rstrip("."), help_of(name, one), ["iolens", f"iolens-{name}"])
            (folder / f"iolens-{name}-{one}.1").write_text(own)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    write_man(Path(sys.argv[2]))
