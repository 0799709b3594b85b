"""What tools that make packages do alike: run other commands, and end with one line when something is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

LAST = 4000
"""Characters of what a command printed that are shown when it failed."""


def fail(tool: str, line: str) -> NoReturn:
    raise SystemExit(f"{tool}: {line}")


def epoch(root: Path = Path()) -> str:
    """When the sources were made, in seconds since 1970: SOURCE_DATE_EPOCH, else the last commit's time, else empty."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not told and shutil.which("git"):
        git = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        told = subprocess.run(git, check=False, capture_output=True, text=True).stdout.strip()
    return told


def run(tool: str, *command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """What it prints on both streams; variables are set besides those of this environment."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **variables},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-LAST:])
        fail(tool, f"{' '.join(map(str, command))} ended with {done.returncode}")
    return done.stdout
