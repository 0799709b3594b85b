"""Drishti, as a reader of logs: it must work on a log with any module, and count the same files in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from observed import Observed

COMMAND = Path(sys.executable).with_name("drishti")
FILES = re.compile(r"FILES:\s+(\d+) files \((\d+) use STDIO, (\d+) use POSIX, (\d+) use MPI-IO\)")


def agrees(seen: Observed) -> None:
    """Drishti takes a file for one of POSIX when MPI-IO has none of it."""
    if not COMMAND.exists():
        pytest.skip("Drishti is not installed")
    done = subprocess.run(
        [COMMAND, seen.log], check=False, capture_output=True, text=True, cwd=seen.log.parent
    )
    assert done.returncode == 0, done.stderr
    found = FILES.search(done.stdout)
    assert found, done.stdout
    mpiio = seen.files("MPI-IO")
    wanted = (len(seen.files("STDIO")), len(seen.files("POSIX") - mpiio), len(mpiio))
    assert tuple(map(int, found.groups()[1:])) == wanted
