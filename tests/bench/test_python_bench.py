"""bench/python: each row is measured, or says why it is not."""

from __future__ import annotations

import re
import subprocess
import sys

import places


def test_each_row_has_its_line() -> None:
    command = [sys.executable, places.ROOT / "bench/python/run.py", "--rounds", "1", "--only", "h5py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["ns", "a", "call", "bare", "observed", "added"]
    assert [" ".join(line.split()[:3]) for line in lines] == [
        f"h5py {place} {call}" for place in ("pip", "Debian") for call in ("write", "read")
    ]
    measured = r" +(\d+) +(\d+) +-?\d+ +-?\d+\.\d%$"
    assert all(re.search(measured, line) or "  not here: " in line for line in lines)
