"""The measurement of MPI_Finalize: every scene is measured, pieces add up, records take little room."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import places
import pytest

RUN = Path(__file__).resolve().parents[2] / "bench" / "shutdown" / "run.py"


def bench(*options: str | Path, code: int = 0) -> str:
    if not shutil.which("mpicc.mpich"):
        pytest.skip("no mpicc.mpich")
    command = [sys.executable, RUN, "--build", places.BUILD, *options]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == code, ended.stderr
    return ended.stdout


def rows(*options: str | Path, code: int = 0) -> dict[str, dict[str, Any]]:
    return {row["scene"]: row for row in json.loads(bench(*options, "--json", code=code))["rows"]}


def test_every_scene_is_measured_and_its_records_take_little_room(iolens: Path) -> None:
    found = rows("--ranks", "2", "--samples", "1")
    assert list(found) == ["1 shared", "1024 shared", "1 own", "1024 own"]
    for row in found.values():
        assert (row["samples"], row["failed"]) == (1, [])
        assert row["phases"]
        assert all(seconds >= 0 for box in row["phases"].values() for seconds in box)
        assert 0 < row["own"][2] < row["whole"][2]
        assert row["regions"] < row["log"]
    assert found["1024 own"]["log_per_file"] < 42
    assert found["1024 shared"]["log_per_file"] < 42


def test_the_log_of_128_ranks_is_as_small_as_promised(iolens: Path) -> None:
    """The whole file, with its header and the tables of the extension."""
    found = rows("--ranks", "128", "--scenes", "1 own", "1024 own", "--samples", "1")
    assert all(row["failed"] == [] for row in found.values())
    assert (
        found["1 own"]["log_per_file"] <= 64
    )  # 58, of which times are more or less, and what the job ran on
    assert found["1024 own"]["log_per_file"] <= 42


def test_a_measurement_in_pieces(iolens: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    one = ["--ranks", "1", "--scenes", "1 shared", "--results", results]
    assert "1 shared: 0 samples" in bench(*one, "--samples", "2", "--at-most", "0", code=4)
    bench(*one, "--samples", "2")
    first = json.loads(results.read_text())
    assert len(first["series"][0]["samples"]) == 2
    bench(*one, "--samples", "2")
    assert json.loads(results.read_text()) == first
    bench(*one, "--samples", "3")
    assert json.loads(results.read_text())["series"][0]["samples"][:2] == first["series"][0]["samples"]
    text = bench("--results", results, "--report")
    assert "1 ranks, 1 shared: 3 samples" in text
    assert "| one node | 1 | 1 shared |" in bench("--results", results, "--report", "--markdown")


@pytest.mark.parametrize("wrong", [["--messages"], ["--report"], ["--scenes", "2 shared"]])
def test_wrong_options_are_usage(iolens: Path, wrong: list[str]) -> None:
    bench(*wrong, code=2)
