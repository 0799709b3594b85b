"""Logs of any shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_log import Make


@pytest.fixture
def make_log(tmp_path: Path) -> Make:
    return Make(tmp_path)
