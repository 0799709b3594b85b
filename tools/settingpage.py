#!/usr/bin/env python3
"""Write the reference page of all settings, from what `iolens config` prints: the table of runtime/base/config.c.

usage: settingpage.py FILE.md
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

IOLENS = Path(sys.executable).parent / "iolens"

_HEAD = """\
# Settings

Made by `make docs` from `iolens config`: do not edit.

Each setting of the runtime has three spellings: a variable of iolens, one of Darshan, and a line `NAME value` in the
file that `IOLENS_CONFIG_PATH` or `DARSHAN_CONFIG_PATH` names. A variable wins over the file, iolens's over
Darshan's: scripts and files made for Darshan still work. `iolens config` prints every value, where it comes from, and
mistakes. A mistake never stops a program.
More about them: [run](../guide/run.md)."""

COMMANDS = {
    "IOLENS_PRELOAD": "`iolens run`: the library to preload, if not the one installed with the command",
    "IOLENS_PYTHON": "the native command: the Python that has iolens, for commands that need one "
    "([install](../guide/install.md))",
    "IOLENS_MEMORY": "commands that read logs: memory that a log may take, such as 4G ([python](../guide/python.md))",
    "IOLENS_RULES": "`findings`, `report`, `explain`: directories with rules of the site, `:` between "
    "([findings](../guide/findings.md))",
    "IOLENS_LAKE": "`fleet`: the lake ([fleet](../guide/fleet.md))",
    "IOLENS_SITE": "`fleet notify`: the site's file ([notices](../guide/fleet-notify.md))",
}
"""Variables that commands read themselves."""


def settings() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each, as ``iolens config`` prints them without any set."""
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("IOLENS_", "DARSHAN_"))}
    done = subprocess.run([str(IOLENS), "config"], check=True, capture_output=True, text=True, env=bare)
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"(\S+)\s+(.*?)\s+default\s+# (.+)", line)
        if not found:
            sys.exit(f"settingpage.py: iolens config printed {line!r}")
        yield found[1], found[2], found[3]
    yield "DUMP_CONFIG", "off", "print all settings on standard error"  # what iolens config itself sets


def page() -> str:
    lines = [_HEAD, "", "| variable | Darshan's | default | what it does |", "|---|---|---|---|"]
    for name, default, about in settings():
        value = "" if default == "-" else f"`{default}`"
        lines.append(
            f"| `IOLENS_{name}` | `DARSHAN_{name}` | {value} | {about.replace('|', chr(92) + '|')} |"
        )
    lines += ["", "## Variables of the commands", "", "| variable | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {about} |" for name, about in sorted(COMMANDS.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
