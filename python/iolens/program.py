"""The native command line, for what only it does."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from iolens.error import USAGE, IolensError

__all__ = ["native"]


def native(wanted_by: str) -> str:
    """Path of the native ``iolens``. Raises IolensError if there is none."""
    beside = Path(sys.executable).parent / "iolens"
    found = str(beside) if beside.exists() else shutil.which("iolens")
    if found is None:
        raise IolensError(f"{wanted_by} needs the command iolens in PATH", exit_code=USAGE)
    return found
