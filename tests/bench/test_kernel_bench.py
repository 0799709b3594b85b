"""bench/kernel: each way is run in each round, and its line has ns per call."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import places
import pytest


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: eBPF")
def test_each_way_has_its_line() -> None:
    if not (places.BUILD / "kernel/iolens-kernel").exists():
        pytest.skip("built without iolens-kernel")
    command = [sys.executable, places.ROOT / "bench/kernel/run.py", "--rounds", "1", "--reads", "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "eBPF" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    _, *lines = done.stdout.splitlines()
    ways = [re.sub(r"( +-?\d+){3}$", "", line) for line in lines]
    assert ways == [
        "bare",
        "iolens run --kernel",
        "observed by iolens-kernel --node",
        "not observed, while iolens-kernel --node runs",
    ]
    assert all(int(line.split()[-2]) > 0 for line in lines)
