"""A short run of the fuzzer, where clang is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def test_the_reader_survives_a_short_fuzzing(root: Path, tmp_path: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("no clang")
    done = subprocess.run(
        [root / "tests" / "fuzz" / "run", "5", tmp_path / "build"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        cwd=root,
    )
    assert done.returncode == 0, done.stdout[-4000:]
