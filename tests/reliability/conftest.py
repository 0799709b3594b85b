"""Small programs that a test brings along."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def compile_program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compile C source; the path of the program."""

    def build(source: str) -> Path:
        folder = tmp_path_factory.mktemp("program")
        (folder / "program.c").write_text(source)
        command = ["cc", "-O1", "-D_GNU_SOURCE", "-o", "program", "program.c", "-pthread"]
        subprocess.run(command, cwd=folder, check=True)
        return folder / "program"

    return build
