"""The command, and logs to export."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import pytest

Export = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def export(run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> Export:
    """export(form, log, ...): into tmp_path/out, whose files are its output."""

    def run(form: str, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
        done = run_iolens(["export", *arguments, "--to", tmp_path / "out", "--format", form])
        if done.returncode in (0, 4):
            written = sorted(done.stdout.splitlines())
            assert written == sorted(str(path) for path in (tmp_path / "out").iterdir())
        return done

    return run
