"""bench/fleet on a small population: all steps run, and the lake finds what the generator made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "fleet" / "run.py"


def test_a_small_run(tmp_path: Path) -> None:
    options = "--logs 150 --days 10 --users 30 --files 5 --screened 40 --json"
    command = [sys.executable, BENCH, *options.split(), "--keep", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name in ("plain", "rules"):
        assert found[f"ingest_{name}"]["logs"] == found[f"unchanged_{name}"]["known"] == 150
        assert found[f"unchanged_{name}"]["logs"] == 0
    truth = found["truth"]["screened"]
    for name, one in found["screens"]["found"].items():
        assert (one["jobs"], one["users"]) == (truth[name]["jobs"], truth[name]["users"])
        assert one["jobs"] >= 5
        assert one["largest"] == pytest.approx(truth[name]["largest"], rel=1e-3)
    assert found["coverage"]["total"]["jobs"] == found["truth"]["accounted_jobs"]
    assert 0 < found["sizes"]["posix"] < sum(found["sizes"].values())
    assert all(one["memory"] > 10 for one in found["questions"].values())
