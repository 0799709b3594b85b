#!/usr/bin/env python3
"""Write the list of all modules from the build's schema and the first sentence of each module's README.

usage: modulepage.py FILE.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from iolens.log.modules import KNOWN

ROOT = Path(__file__).parent.parent

_HEAD = """\
# Modules

Made by `make docs` from the modules' own files: do not edit. A module is an instrumented interface. What each of its
counters means: [counters](counters.md)."""


def about(readme: Path) -> str:
    """The first sentence below the title."""
    parts = readme.read_text(encoding="utf-8").split("\n\n")
    text = next((p for p in parts if not p.startswith(("#", "|", "```", "!"))), "")
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))  # links are the README's own
    return re.split(r"(?<=\.) ", text)[0]


def page() -> str:
    lines = [_HEAD, "", "## Recorded by iolens", ""]
    for folder in sorted(
        p.parent for p in (ROOT / "modules").glob("*/README.md") if p.parent.name != "template"
    ):
        lines += [f"* [{folder.name}](../../modules/{folder.name}/README.md): {about(folder / 'README.md')}"]
    lines += ["", "## Read from logs", "", "| module | table | what it is |", "|---|---|---|"]
    for module in KNOWN:
        if module.key and module.key != "null":
            title = module.title if module.title != module.darshan else ""
            lines.append(f"| {module.darshan} | `{module.key}` | {title or ''} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
