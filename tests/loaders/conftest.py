"""What the tests of loops share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def slow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library behind iolens that makes calls slow: of SLOW, the module's text in C."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.c").write_text(request.module.SLOW)
    library = folder / "slow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "slow.c", "-ldl"], check=True)
    return library
