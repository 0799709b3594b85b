"""Which system calls iolens adds to programs: by docs/reliability.md, and by strace."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CALL = re.compile(r"^(?:\d+ +)?(\w+)\(", re.MULTILINE)


def section(root: Path) -> str:
    text = (root / "docs" / "reliability.md").read_text()
    return text.partition("## Filters of system calls")[2].partition("\n## ")[0]


def documented(root: Path, *rows: str) -> set[str]:
    """The system calls of rows of the table."""
    lines = {line.split(" | ")[0].strip("| "): line for line in section(root).splitlines() if line[:1] == "|"}
    return {name for row in rows for name in re.findall(r"`(\w+)`", lines[row])}


def all_documented(root: Path) -> set[str]:
    table = [line for line in section(root).splitlines() if line[:1] == "|"]
    return set(re.findall(r"`(\w+)`", "\n".join(table)))


def calls(command: list[str], directory: Path, **env: str) -> set[str]:
    given = [word for item in env.items() for word in ("-E", "=".join(item))]
    trace = directory / "trace"
    done = subprocess.run(["strace", "-f", "-o", trace, *given, *command], cwd=directory, check=False)
    assert done.returncode == 0
    return set(CALL.findall(trace.read_text()))
