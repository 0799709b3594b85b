"""Logs of any shape."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_area import make_area
from made_log import Make


@pytest.fixture
def make_log(tmp_path: Path) -> Make:
    return Make(tmp_path)


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """See ``made_area``."""
    return make_area(tmp_path / "logs")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("no right to mount")
    yield place
    subprocess.run(["umount", place], check=True)
