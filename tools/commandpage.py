#!/usr/bin/env python3
"""Write the reference page of all commands, or a man page of each, from what they print with --help.

usage: commandpage.py FILE.md                             the page, of the iolens of this Python's environment
       commandpage.py --man IOLENS PACKAGE FOLDER FILE.d  man pages, by the build: IOLENS is the native program,
                                                          PACKAGE the folder with iolens's Python sources; FILE.d
                                                          tells Ninja what was read
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

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
[settings](settings.md). Every command takes `-h` or `--help`. *Also*: options that stand [at the
end](#options-of-several-commands)."""

_COMMON = "Options of several commands"
# From so many commands on, an option that says the same stands at the end.
_SEVERAL = 2


Help = Callable[..., str]
"""Of a command, by its words: what it prints with ``--help``, on a terminal of 80 columns."""


def ask(iolens: Path, *words: str) -> str:
    done = subprocess.run(
        [str(iolens), *words, "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    return done.stdout.rstrip() + "\n"


def installed(*words: str) -> str:
    return ask(Path(sys.executable).parent / "iolens", *words)


def commands(overview: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Headings of the overview with their commands and what these do in a line."""
    for part in re.split(r"\n(?=\S)", overview):
        found = re.findall(r"^  ([a-z]+)  +(.+)$", part, re.M)
        if found:
            yield part.partition(":\n")[0], found


def below(text: str) -> list[tuple[str, str]]:
    """Commands of a command, from its help, with what each does in a line."""
    return re.findall(r"^  ([a-z]+)  +(.+)$", text.partition("\nCommands:\n")[2], re.M)


def options(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of a help: the lines of each option; the option, and what it says without line breaks."""
    for found in re.finditer(r"^  (?:    )?(-\S.*?)(?:  +(\S.*))?\n((?: {10,}\S.*\n)*)", text, re.M):
        yield found[0], (found[1], " ".join(f"{found[2] or ''} {found[3]}".split()))


def shortened(text: str, common: Container[tuple[str, str]]) -> Iterator[str]:
    """A help without commands, which follow, and options of several commands."""
    text = text.partition("\nCommands:\n")[0].rstrip() + "\n"
    also = []
    for lines, option in options(text):
        if option in common:
            text = text.replace(lines, "", 1)
            also += re.findall(r"--[a-z-]+", option[0])[:1]
    text = re.sub(r"\nOptions:\n(?! )|\n(?=\n\n)", "", text)
    yield from ("```text", text.rstrip(), "```", "")
    also.remove("--help")
    if also:
        yield from (f"Also: {', '.join(f'`{name}`' for name in also)}.", "")


def page(help_of: Help) -> str:
    overview = help_of()
    helps = {
        (name, *inner): help_of(name, *inner)
        for _, listed in commands(overview)
        for name, _ in listed
        for inner in [(), *((one,) for one, _ in below(help_of(name)))]
    }
    seen = Counter(option for text in helps.values() for _, option in options(text))
    most: dict[str, str] = {}
    for (option, says), number in seen.most_common():
        if number >= _SEVERAL:
            most.setdefault(option, says)
    common = set(most.items()) | {one for one in seen if "--help" in one[0]}
    lines = [_HEAD, "", "```text", overview.rstrip(), "```", ""]
    for heading, listed in commands(overview):
        lines += [f"## {heading}", ""]
        for name, _ in listed:
            for words in (one for one in helps if one[0] == name):
                lines += [f"{'#' * (len(words) + 2)} iolens {' '.join(words)}", ""]
                lines += shortened(helps[words], common)
    listed_last = sorted(
        (option.lstrip("-"), option, says) for option, says in common if "--help" not in option
    )
    lines += [f"## {_COMMON}", "", "```text"]
    lines += [f"{option:32} {says}" for _, option, says in listed_last] + ["```", ""]
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


def man_pages(help_of: Help) -> Iterator[tuple[str, str]]:
    """(name of the file, text) of each."""
    overview = help_of()
    listed = [one for _, found in commands(overview) for one in found]
    names = [f"iolens-{name}" for name, _ in listed]
    does = overview.partition("\n")[0].removeprefix("iolens shows ").rstrip(".")
    yield "iolens.1", man("", f"shows {does}", overview.partition("\n\n")[2], names)
    for name, says in listed:
        text = help_of(name)
        inner = [one for one, _ in below(text)]
        others = ["iolens", *(f"iolens-{name}-{one}" for one in inner)]
        yield f"iolens-{name}.1", man(name, says, text, others)
        for one, does in below(text):
            own = man(f"{name}-{one}", does.rstrip("."), help_of(name, one), ["iolens", f"iolens-{name}"])
            yield f"iolens-{name}-{one}.1", own


# ---- in the build ----

# What commands import at their head, and the build does not have.
AWAY = ("arro3", "deltalake", "duckdb", "mpmath")


class Attributes(type):
    """Has every attribute."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class Anything(Exception, metaclass=Attributes):
    """In place of what is in such a module: a base, an error to catch, a function called at the head of a file."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __iter__(self) -> Iterator[object]:
        return iter(())


class Absent(ModuleType):
    """In place of a module that only running a command needs."""

    def __getattr__(self, name: str) -> object:
        return Attributes.__getattr__(Anything, name)


class Absence(MetaPathFinder, Loader):
    """The last to be asked for a module: a help is printed before DuckDB and the like are installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        away = fullname.partition(".")[0] in AWAY or fullname == "iolens.log._native"
        return ModuleSpec(fullname, self, is_package=True) if away else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def built(iolens: Path, package: Path) -> Help:
    """Of the native program, and of the sources in Python in this process."""
    sys.path.insert(0, str(package))
    sys.dont_write_bytecode = True
    sys.meta_path.append(Absence())
    os.environ["COLUMNS"] = "80"
    import iolens as sources

    vars(sources)["__version__"] = ""  # which only what is installed has
    from iolens.cli.command import command_names
    from iolens.cli.command import iolens as group

    interpreted = command_names()

    def help_of(*words: str) -> str:
        if words[:1] not in [(name,) for name in interpreted]:
            return ask(iolens, *words)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            group.main([*words, "--help"], prog_name="iolens", standalone_mode=False)
        return printed.getvalue().rstrip() + "\n"

    return help_of


def write_man(iolens: Path, package: Path, folder: Path, depfile: Path) -> None:
    pages = dict(man_pages(built(iolens, package)))
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [str(getattr(module, "__file__", None) or "") for module in sys.modules.values()]
    read = sorted({file for file in files if file.startswith(f"{package}/")})
    folders = [str(package / "iolens" / "cli"), str(package / "iolens" / "cli" / "fleet")]
    inputs = " ".join(path.replace(" ", "\\ ") for path in [*folders, *read])
    depfile.write_text(f"{folder}: {inputs}\n", encoding="utf-8")


def main(args: list[str]) -> None:
    if len(args) == 5 and args[0] == "--man":
        write_man(*map(Path, args[1:]))
    elif len(args) == 1:
        Path(args[0]).write_text(page(installed), encoding="utf-8")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
