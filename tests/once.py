"""What a run makes once: the processes of pytest-xdist share it, and no test changes it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def once(places: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name that `make` has filled: for the first process that needs it, the others wait."""
    base = places.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
    shared.mkdir(exist_ok=True)
    folder, made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
