"""Ways to install that fit CI's time: a wheel of this build, from nothing to a report. make install-tests has all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def packages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and what it needs, once for all ways."""
    if not (root / "build" / "build.ninja").exists():
        pytest.skip("no build directory: ./bootstrap build")
    folder = tmp_path_factory.mktemp("packages")
    options = ["-q", "--no-build-isolation", "-Cbuild-dir=build", "-Csetup-args=-Dtests=true"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", str(folder), "."]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # of Meson
    subprocess.run(command, cwd=root, env={**os.environ, "PATH": path}, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("way", ["venv", "moved", "user", "target"])
def test_a_way_to_install_leads_to_a_report(way: str, packages: Path, root: Path) -> None:
    (wheel,) = packages.glob("iolens-*.whl")
    own = sys._base_executable  # type: ignore[attr-defined]
    environment = {**os.environ, "PYTHON": own, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages)}
    command = [str(root / "tests" / "install" / "paths.sh"), str(wheel), way]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout[: len(way) + 1]) == (0, f"{way}:"), done.stderr
