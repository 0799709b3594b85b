"""bench/endtoend: each cell is one program run both ways, and its line has the numbers of iolens overhead."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "endtoend" / "run.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCH, *options], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("h5pcc.mpich"), reason="no h5pcc.mpich")
def test_cells_are_the_papers_patterns_and_programs_of_every_day(tmp_path: Path) -> None:
    named = run("--list", "--folder", str(tmp_path)).stdout.split()
    assert len(named) == len(set(named)) == 25
    assert {"posix-own-4k", "collective-shared-512k", "hdf5-shared-128k", "mdtest", "gcc"} < set(named)


@pytest.mark.skipif(not shutil.which("h5pcc.mpich"), reason="no h5pcc.mpich")
def test_a_cell_is_measured_both_ways(tmp_path: Path) -> None:
    kept = tmp_path / "cells.json"
    options = "--only hdf5-shared-128k -n 2 --bytes 1048576 --passes 3 --json".split()
    done = run(*options, str(kept), "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (told,) = map(json.loads, kept.read_text().splitlines())
    assert (told["cell"], told["runs"], len(told["run_time"]["with"]["values"])) == ("hdf5-shared-128k", 2, 2)
    assert told["command"][4:9] == ["hdf5", "shared", "131072", "1048576", "3"]
    assert done.stdout.splitlines()[2].startswith("hdf5-shared-128k")
    assert told["verdict"] in done.stdout
    assert not [path for path in tmp_path.iterdir() if path != kept], "data is left"
