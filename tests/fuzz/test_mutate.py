"""Some thousand damaged logs; the script says how to run more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = os.environ.get("MUTATIONS", "2000")


@pytest.mark.parametrize("reader", [[], ["--python"]], ids=["commands", "python"])
def test_damaged_logs_are_read_or_refused(reader: list[str], root: Path, tmp_path: Path) -> None:
    script = root / "tests" / "fuzz" / "mutate.py"
    command = [sys.executable, script, "--count", COUNT, *reader]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert f"{COUNT} logs from " in done.stdout and ": 0 broke something" in done.stdout
