"""A short run of the fuzzer, where clang is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build for all targets."""
    return tmp_path_factory.mktemp("fuzz") / "build"


@pytest.mark.parametrize(
    "target", ["reader", "trailer", "accesses", "recover", "config", "inflate", "layout"]
)
def test_it_survives_a_short_fuzzing(target: str, root: Path, build: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("no clang")
    done = subprocess.run(
        [root / "tests" / "fuzz" / "run", "5", build, target],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        cwd=root,
    )
    assert done.returncode == 0, done.stdout[-4000:]
