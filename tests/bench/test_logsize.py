"""Logs of real MPI programs compared with what Darshan writes of the same operations."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import places
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "logsize"
sys.path.insert(0, str(BENCH))

import darshan_log  # noqa: E402

POINT, DURATION = 2.0**20, 2.0**24


def rows(*options: str | Path) -> dict[str, dict[str, Any]]:
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("no mpicc.openmpi")
    command = [sys.executable, BENCH / "run.py", "--build", places.BUILD, "--json", *options]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return {row["scene"]: row for row in json.loads(ended.stdout)}


def test_logs_of_real_programs_are_no_larger_than_darshans(iolens: Path) -> None:
    for scene, row in rows("--ranks", "16", "--scenes", "1024 shared", "256 own", "1 own").items():
        assert row["best"] < row["log"] < row["darshan"], scene


def test_stored_times_are_on_the_grid(iolens: Path, tmp_path: Path) -> None:
    rows("--ranks", "4", "--scenes", "256 own", "--keep", tmp_path)
    (path,) = tmp_path.glob("*.darshan")
    modules = json.loads((places.BUILD / "format" / "schema.json").read_text())["schema"]
    (posix,) = [module for module in modules if module["key"] == "posix"]
    points, durations, _ = darshan_log.times_of(posix)
    records = darshan_log.records_of(darshan_log.read(path).modules[posix["id"]], posix)
    assert len(records) == 4 * 256
    for record in records:
        words = struct.unpack(f"<{len(record) // 8}d", record)
        assert all((words[place] * POINT).is_integer() for place in points)
        assert all((words[place] * DURATION).is_integer() for place in durations)
        assert sum(words[place] > 0 for place in points) == 6
        assert sum(words[place] > 0 for place in durations) == 3
