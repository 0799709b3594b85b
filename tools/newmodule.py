#!/usr/bin/env python3
"""Copy modules/template to modules/NAME, with its words: the start of a module (make module NAME=x).

usage: newmodule.py MODULES NAME

What is left to do: the word NAME in the list `modules` of meson.build, and in NAME.toml the id of format/registry.toml
that the module will have. Until then it is written with id 0, the container's for modules under development.
"""

import re
import sys
from pathlib import Path


def renamed(text: str, name: str) -> str:
    text = text.replace("template", name).replace("TEMPLATE", name.upper())
    return text.replace(f"# {name}\n\nWhat `make module NAME=x` copies: a", f"# {name}\n\nA", 1)


def main(args: list[str]) -> None:
    if len(args) != 2 or not re.fullmatch(r"[a-z][a-z0-9_]*", args[1]):
        sys.exit("newmodule: give the folder of the modules and a name of lower-case letters, digits and _")
    modules, name = Path(args[0]), args[1]
    target = modules / name
    if target.exists():
        sys.exit(f"newmodule: {target} is there already")
    for source in sorted((modules / "template").rglob("*")):
        if source.is_file():
            copy = target / renamed(str(source.relative_to(modules / "template")), name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(renamed(source.read_text(), name))
    print(f"{target} is there. Next: add '{name}' to `modules` in meson.build, then ./bootstrap build")


if __name__ == "__main__":
    main(sys.argv[1:])
