"""Some thousand damaged logs; the script says how to run more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

READERS = {"commands": ([], 2000), "python": (["--python"], 2000), "analysis": (["--analysis"], 28)}


@pytest.mark.parametrize("reader", READERS)
def test_damaged_logs_are_read_or_refused(reader: str, root: Path, tmp_path: Path) -> None:
    script = root / "tests" / "fuzz" / "mutate.py"
    options, usual = READERS[reader]
    count = os.environ.get("MUTATIONS", str(usual))
    command = [sys.executable, script, "--count", count, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert f"{count} logs from " in done.stdout and ": 0 broke something" in done.stdout
