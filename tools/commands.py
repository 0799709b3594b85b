#!/usr/bin/env python3
"""Write the table of commands from what each command's own file says of it.

usage: commands.py --sources CLI                             the C sources of that folder, one a line
       commands.py CLI PYTHON FILE.c FILE.d SOURCE...        the table; FILE.d tells Ninja what it was made from

A command in C is a file of CLI with a `const struct command NAME_command`, one in Python a file of PYTHON with a
`COMMAND`. SOURCE... is what the build compiles: Meson lists the folder only when it configures.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HEAD = """\
/* Made by tools/commands.py from cli/ and python/iolens/cli: every command, in the order of iolens --help. */
#include "cli.h"
"""


class Row(NamedTuple):
    name: str
    group: str
    place: int
    definition: str
    """How the table comes to it, in C."""


def fail(text: str) -> None:
    sys.exit(f"commands: {text}")


def groups(cli: Path) -> list[str]:
    """In their order: those of the enum in cli.h."""
    found = re.search(r"enum command_group \{(.*?)\}", (cli / "cli.h").read_text(encoding="utf-8"), re.S)
    return re.findall(r"GROUP_(\w+)", found[1]) if found else []


def native(source: Path) -> Iterator[Row]:
    """The commands of a file in C."""
    text = source.read_text(encoding="utf-8")
    for name, body in re.findall(r"^const struct command (\w+)_command = \{(.*?)^\};", text, re.M | re.S):
        group, place = re.search(r"\.group = GROUP_(\w+)", body), re.search(r"\.place = (\d+)", body)
        if f'.name = "{name}"' not in body or not group or not place:
            fail(f'{source}: {name}_command needs .name = "{name}", .group = GROUP_... and .place = a number')
        else:
            yield Row(name, group[1], int(place[1]), f"extern const struct command {name}_command;")


def declared(source: Path) -> dict[str, object] | None:
    """The words of ``COMMAND = Command(...)`` in a file in Python; None: it is no command."""
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "COMMAND"
            and isinstance(node.value, ast.Call)
        ):
            return {word.arg or "": ast.literal_eval(word.value) for word in node.value.keywords}
    return None


def interpreted(source: Path, known: list[str]) -> Iterator[Row]:
    """The command of a file in Python, or of a folder's ``__init__.py``."""
    words = declared(source)
    if words is None:
        return
    name = source.parent.name if source.name == "__init__.py" else source.stem
    group, place, about = str(words.get("group")).upper(), words.get("place"), words.get("about")
    if group not in known or not isinstance(place, int) or not isinstance(about, str):
        fail(
            f"{source}: COMMAND needs group= one of {', '.join(known).lower()}, place= a number, about= a line"
        )
    fields = [
        f'.name = "{name}"',
        ".main = python_main",
        f".group = GROUP_{group}",
        f".place = {place}",
        f".about = {json.dumps(about, ensure_ascii=False)}",
    ]
    fields += [".reads_logs = true"] * bool(words.get("reads_logs"))
    definition = f"static const struct command {name}_command = {{\n\t" + ",\n\t".join(fields) + ",\n};"
    yield Row(name, group, int(str(place)), definition)


def table(rows: list[Row], known: list[str]) -> str:
    rows = sorted(rows, key=lambda row: (known.index(row.group), row.place, row.name))
    lines = [HEAD, *(row.definition for row in rows), "", "const struct command *const commands[] = {"]
    lines += [
        *(f"\t&{row.name}_command," for row in rows),
        "};",
        f"const size_t command_count = {len(rows)};",
    ]
    return "\n".join(lines) + "\n"


def sources(cli: Path) -> list[Path]:
    return sorted(cli.glob("*.c"))


def main(args: list[str]) -> None:
    if len(args) == 2 and args[0] == "--sources":
        print("\n".join(source.name for source in sources(Path(args[1]))))
        return
    if len(args) < 5:
        sys.exit(__doc__)
    cli, python, output, depfile = map(Path, args[:4])
    native_files, known = sources(cli), groups(cli)
    if changed := {source.name for source in native_files} ^ set(args[4:]):
        fail(
            f"{', '.join(sorted(changed))}: not what Meson has listed: meson setup --reconfigure {Path.cwd()}"
        )
    python_files = sorted([*python.glob("*.py"), *python.glob("*/__init__.py")])
    rows = [row for source in native_files for row in native(source)]
    rows += [row for source in python_files for row in interpreted(source, known)]
    output.write_text(table(rows, known), encoding="utf-8")
    inputs = [cli, python, cli / "cli.h", *native_files, *python_files]
    names = " ".join(str(path).replace(" ", "\\ ") for path in inputs)
    depfile.write_text(f"{output}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
